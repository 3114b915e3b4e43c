import { type ClientAuth, ClientSecretPost, None, type ServerMetadata } from 'openid-client';
import { SsoRefused } from '../assertion.js';

/**
 * How we prove at a provider who we are, as it says that it takes it (OpenID Connect Core §9).
 * @param secret null: we are a public client there
 * @throws SsoRefused `configuration_incomplete` where it takes no secret
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
 * RFC 6749 §2.3.1. The library escapes everything but letters and digits, which is right, and means another secret to providers that do
 * not undo it (LemonLDAP::NG). What needs no escaping is left as it is, so that most secrets are the same to both.
 */
const secretInHeader =
  (secret: string): ClientAuth =>
  (_server, { client_id }, _body, headers) => {
    const credentials = [client_id, secret].map((text) => encodeURIComponent(text).replaceAll('%20', '+')).join(':');
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
