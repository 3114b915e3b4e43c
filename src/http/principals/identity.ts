import { DomainError } from '../../domain/errors.js';
import { environmentScopeOf } from '../../platform/scope.js';
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
    isThirdParty: boolean;
    claims: Record<string, unknown>;
  } | null>;
}

/**
 * Names an end user's credential, for limits and idempotency keys. A person is the same in all Environments of an Account, and the
 * tokens of each are good in that one alone: what one of them was answered is no answer in another.
 */
export const identityCredential = ({ environmentId, identityId }: { environmentId: string; identityId: string }) =>
  `identity/${environmentId}/${identityId}`;

/**
 * What general limits count a token by. An application of others counts by itself: the person cannot see to how much it asks, and would
 * be refused at all others.
 */
export const countedAsOf = (proven: {
  environmentId: string;
  identityId: string;
  clientId: string;
  isThirdParty: boolean;
}) => (proven.isThirdParty ? `${identityCredential(proven)}/${proven.clientId}` : identityCredential(proven));

/** When the sign-in of an access token was. */
export const signedInAt = ({ claims }: { claims: Record<string, unknown> }): Date =>
  new Date(Number(claims.auth_time) * 1000);

/**
 * An end user's access token as the caller of the Public API. What others' applications hold says what a person has allowed them,
 * which never is to act with all of that person's rights (docs/decisions/0063).
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
