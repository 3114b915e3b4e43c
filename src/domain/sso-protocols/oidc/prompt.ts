import type { ServerMetadata } from 'openid-client';
import { google } from './claims.js';

/**
 * Returns the `prompt` of a request (OpenID Connect Core §3.1.2.1). All providers know `login`, which also lets
 * somebody else sign in. Many refuse `select_account` (node-oidc-provider) or lack it (Keycloak), so it is sent only to
 * providers that list it (Initiating User Registration 1.0 §4.1), and to Google, which has no `login`.
 */
export function promptOf(
  server: Pick<ServerMetadata, 'issuer'> & { prompt_values_supported?: unknown },
  { forceAuthn = false, selectAccount = false }: { forceAuthn?: boolean; selectAccount?: boolean },
): 'login' | 'select_account' | null {
  if (forceAuthn) return 'login';
  if (!selectAccount) return null;
  const { prompt_values_supported: said } = server;
  const hasChoice = server.issuer === google || (Array.isArray(said) && said.includes('select_account'));
  return hasChoice ? 'select_account' : 'login';
}
