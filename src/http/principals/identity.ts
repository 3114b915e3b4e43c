import type { Authorized } from '../surface.js';

/** What the provider knows of a presented access token; see `domain/oidc`. */
export interface IdentityTokens {
  /** @throws DomainError principal.wrong_type for a platform admin's token; null for anything that is not alive. */
  prove(token: string): Promise<{
    identityId: string;
    accountId: string;
    applicationId: string;
    environmentId: string;
    sessionId: string;
  } | null>;
}

/** An end user's access token as the caller of the Public API. */
export async function proveIdentityToken(tokens: IdentityTokens, token: string): Promise<Authorized | null> {
  const proved = await tokens.prove(token);
  if (!proved) return null;
  const { identityId, sessionId, accountId, applicationId, environmentId } = proved;
  return {
    caller: { type: 'identity', identityId, sessionId },
    scope: { accountId, applicationId, environmentId },
    credential: `identity/${identityId}`,
  };
}
