import type { EntityManager } from 'typeorm';
import { DomainError } from '../errors.js';
import type { SignedInAdmin } from './signed-in-admin.js';

/**
 * SQL: whether an administrator's session, a row of `user_sessions`, gives no access to an Account, because it began at
 * the identity provider of another Account, which vouches for that Account alone. An Account that the administrator
 * created in such a session is open to it, too (docs/decisions/0039).
 */
export const needsOtherSignIn = (
  session: string,
  accountId: string,
): string => `${session}.sso_connection_id is not null
  and ${session}.account_id is distinct from ${accountId}
  and not exists (select from sso_connections c where c.id = ${session}.sso_connection_id and c.account_id = ${accountId})`;

/** SQL: whether a session gives no access to one of its user's Accounts. It must not change what applies to all. */
export const leavesAccountsOut = (session: string): string => `exists (
  select from memberships m where m.user_id = ${session}.user_id and ${needsOtherSignIn(session, 'm.account_id')})`;

const text = `select from user_sessions s where s.id = $1 and s.user_id = $2 and ${needsOtherSignIn('s', '$3::uuid')}`;

const leavesText = `select from user_sessions s where s.id = $1 and s.user_id = $2 and ${leavesAccountsOut('s')}`;

/**
 * Checks that the session is good for all of the user's Accounts. In a transaction of the system.
 * @throws DomainError account.other_sign_in_required
 */
export async function assertSpeaksForAll(tx: EntityManager, { sessionId, userId }: SignedInAdmin): Promise<void> {
  const refused = await tx.query<unknown[]>(leavesText, [sessionId, userId]);
  if (refused.length > 0) throw new DomainError('account.other_sign_in_required');
}

/**
 * Checks that the session is good for one of the Accounts, for operations outside the Portal's Account routes. In a
 * transaction of the system.
 * @throws DomainError account.other_sign_in_required
 */
export async function assertSpeaksFor(
  tx: EntityManager,
  { sessionId, userId }: SignedInAdmin,
  accountId: string,
): Promise<void> {
  const refused = await tx.query<unknown[]>(text, [sessionId, userId, accountId]);
  if (refused.length > 0) throw new DomainError('account.other_sign_in_required');
}
