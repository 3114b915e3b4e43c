import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';

/** Who is signed in, and in which session. */
export interface SignedInPerson extends EnvironmentScope {
  identityId: string;
  sessionId: string;
}

/** What a session tells of its sign-in at this moment. */
export interface HeldSession {
  amr: string[];
  acr: string;
  ssoConnectionId: string | null;
  ownFactorAt: Date | null;
}

// A session whose own time is over may live on its refresh tokens; the caller knows that it lives, and only an end is news here.
const statement = `
select amr, acr, sso_connection_id as "ssoConnectionId", own_factor_at as "ownFactorAt" from sessions
where account_id = $1 and environment_id = $2 and identity_id = $3 and id = $4 and revoked_at is null for share`;

/**
 * Keeps a person and their session as they are until the end of a transaction of the Account: nobody adds or removes a factor, changes the
 * password or ends the session meanwhile. The person comes first, as with whoever ends sessions of somebody, and by a statement of its own:
 * what one sees that has waited for a lock is in all other tables as it was before.
 * @throws DomainError auth.invalid_credentials for a session that has ended, or is none of theirs
 */
export async function holdSession(
  tx: EntityManager,
  { accountId, environmentId, identityId, sessionId }: SignedInPerson,
): Promise<HeldSession> {
  await tx.query('select from identities where account_id = $1 and id = $2 for update', [accountId, identityId]);
  const [session] = await tx.query<HeldSession[]>(statement, [accountId, environmentId, identityId, sessionId]);
  if (!session) throw new DomainError('auth.invalid_credentials');
  return session;
}
