import { DomainError } from '../../domain/errors.js';
import { environmentScopeOf } from '../../platform/scope.js';
import type { Authorized } from '../surfaces/surface.js';

/** What the provider knows about a presented access token; see `domain/oidc`. */
export interface IdentityTokens {
  /** Null for anything that is not alive. @throws DomainError principal.wrong_type for a platform admin's token */
  prove(token: string): Promise<{
    identityId: string;
    accountId: string;
    applicationId: string;
    environmentId: string;
    sessionId: string;
    isThirdParty: boolean;
    claims: Record<string, unknown>;
  } | null>;
}

/**
 * Names an end user's credential, for limits and idempotency keys. A person is the same in all Environments of an
 * Account, but a token is only valid in its own: an answer in one Environment is not an answer in another.
 */
export const identityCredential = ({ environmentId, identityId }: { environmentId: string; identityId: string }) =>
  `identity/${environmentId}/${identityId}`;

/**
 * The key by which general limits count a token. An application of others is counted by itself: the person cannot see
 * how much it asks for, and would otherwise be refused in all their other applications.
 */
export const countedAsOf = (proven: {
  environmentId: string;
  identityId: string;
  clientId: string;
  isThirdParty: boolean;
}) => (proven.isThirdParty ? `${identityCredential(proven)}/${proven.clientId}` : identityCredential(proven));

/** When the sign-in of an access token took place. */
export const signedInAt = ({ claims }: { claims: Record<string, unknown> }): Date =>
  new Date(Number(claims.auth_time) * 1000);

/**
 * Authenticates an end user's access token as the caller of the Public API. The token of an application of others shows
 * what the person has allowed it, which never is to act with all of that person's rights (docs/decisions/0063).
 * @throws DomainError principal.wrong_type
 */
export async function proveIdentityToken(tokens: IdentityTokens, token: string): Promise<Authorized | null> {
  const proved = await tokens.prove(token);
  if (!proved) return null;
  if (proved.isThirdParty) throw new DomainError('principal.wrong_type');
  const { identityId, sessionId } = proved;
  return {
    caller: { type: 'identity', identityId, sessionId, authenticatedAt: signedInAt(proved) },
    scope: environmentScopeOf(proved),
    credential: identityCredential(proved),
  };
}
