import type { Client } from '../../../domain/oidc/clients/clients.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import type { Provider } from '../../../domain/oidc/provider.js';
import type { Parameters } from '../../../domain/oidc/requests/parameters.js';
import type { TokenAnswer } from '../../../domain/oidc/tokens/tokens.js';

/** Exchanges a refresh token (RFC 6749 §6, OpenID Connect Core 12): no nonce, and the first sign-in's `auth_time`. */
export async function refresh({ grants, tokens }: Provider, client: Client, values: Parameters): Promise<TokenAnswer> {
  const token = values.get('refresh_token');
  if (token === undefined) throw new OAuthError('invalid_request', 'refresh_token is missing');
  return tokens.answer({ client, ...(await grants.refresh(client, token, values.get('scope'))), nonce: null });
}
