import type { EntityManager } from 'typeorm';
import { DomainError } from '../errors.js';
import type { SignedInPerson } from './signed-in-person.js';

/** What a session says of its sign-in at this moment. */
export interface LockedSession {
  amr: string[];
  acr: string;
  ssoConnectionId: string | null;
  ownFactorAt: Date | null;
}

// A session whose time is over may stay alive by its refresh tokens. The caller knows that it is alive, so only an
// explicit end matters here.
const statement = `
select amr, acr, sso_connection_id as "ssoConnectionId", own_factor_at as "ownFactorAt" from sessions
where account_id = $1 and environment_id = $2 and identity_id = $3 and id = $4 and revoked_at is null for share`;

/**
 * Locks a person and their session until the end of a transaction of the Account: meanwhile nobody adds or removes a
 * factor, changes the password or ends the session. The person is locked first, as by everything that ends a person's
 * sessions, and by a statement of its own: a statement that has waited for a lock sees all other tables as before.
 * @throws DomainError auth.invalid_credentials for a session that has ended, or is somebody else's
 */
export async function lockSession(
  tx: EntityManager,
  { accountId, environmentId, identityId, sessionId }: SignedInPerson,
): Promise<LockedSession> {
  await tx.query('select from identities where account_id = $1 and id = $2 for update', [accountId, identityId]);
  const [session] = await tx.query<LockedSession[]>(statement, [accountId, environmentId, identityId, sessionId]);
  if (!session) throw new DomainError('auth.invalid_credentials');
  return session;
}
