import { type ClientAuth, ClientSecretPost, None, type ServerMetadata } from 'openid-client';
import { SsoRefused } from '../assertion.js';

/**
 * Returns how we authenticate to a provider, by a method that its metadata lists (OpenID Connect Core §9).
 * @param secret null: we are a public client there
 * @throws SsoRefused `configuration_incomplete` if it accepts no secret
 */
export function authenticationBy(
  secret: string | null,
  { token_endpoint_auth_methods_supported: taken = [] }: Pick<ServerMetadata, 'token_endpoint_auth_methods_supported'>,
): ClientAuth {
  if (!secret) return None();
  if (taken.includes('client_secret_basic')) return secretInHeader(secret);
  if (taken.includes('client_secret_post')) return ClientSecretPost(secret);
  throw new SsoRefused('configuration_incomplete', 'The provider does not accept client secrets');
}

/**
 * RFC 6749 §2.3.1. The library escapes everything except letters and digits, which is correct, but providers that do
 * not decode it (LemonLDAP::NG) read another secret. Here only what needs it is escaped, so that most secrets work at
 * both.
 */
const secretInHeader =
  (secret: string): ClientAuth =>
  (_server, { client_id }, _body, headers) => {
    const credentials = [client_id, secret].map((text) => encodeURIComponent(text).replaceAll('%20', '+')).join(':');
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
