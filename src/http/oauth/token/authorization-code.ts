import type { Client } from '../../../domain/oidc/clients/clients.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import type { Provider } from '../../../domain/oidc/provider.js';
import type { Parameters } from '../../../domain/oidc/requests/parameters.js';
import type { TokenAnswer } from '../../../domain/oidc/tokens/tokens.js';

/** Exchanges an authorization code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5). */
export async function redeemCode(
  { codes, tokens }: Provider,
  client: Client,
  values: Parameters,
): Promise<TokenAnswer> {
  const code = values.get('code');
  if (code === undefined) throw new OAuthError('invalid_request', 'code is missing');
  const redeemed = await codes.redeem(client, {
    code,
    redirectUri: values.get('redirect_uri') ?? null,
    verifier: values.get('code_verifier') ?? null,
  });
  return tokens.answer({ client, scope: redeemed.granted.scope, ...redeemed });
}
