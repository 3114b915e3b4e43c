import type { EntityManager } from 'typeorm';
import type { AccountScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { ownersOf } from './leave.js';
import type { DecidingAdmin } from './required-mfa.js';

const through = `select from user_sessions s join sso_connections c on c.id = s.sso_connection_id
where s.id = $1 and s.user_id = $2 and s.revoked_at is null and c.account_id = $3 and c.scope = 'admin' and c.status = 'active'
for share of c`;

/**
 * Whether the caller's session began through an active connection of the Account, which stays active until the end of
 * the transaction. Call it before the Account is locked: whatever ends a connection locks the connection first.
 * @param tx has the scope `system`
 */
export const lockOwnProvider = async (
  tx: EntityManager,
  { accountId }: AccountScope,
  { sessionId, userId }: DecidingAdmin,
): Promise<boolean> => (await tx.query<unknown[]>(through, [sessionId, userId, accountId])).length > 0;

/**
 * Checks that the caller may change whether administrators have to sign in through the Account's identity provider:
 * only an Owner may, and to require it they must have come that way themselves, which shows that it works.
 * @param tx has the scope `system` and has locked the Account, so that an Owner stays an Owner until it ends
 * @param cameThroughIt as `lockOwnProvider` found
 * @throws DomainError account.owner_required, account.sso_unavailable, account.sso_required
 */
export async function assertMayRequireSso(
  tx: EntityManager,
  { accountId }: AccountScope,
  by: DecidingAdmin,
  { isToBeRequired, cameThroughIt }: { isToBeRequired: boolean; cameThroughIt: boolean },
): Promise<void> {
  const owners = await ownersOf(tx, { accountId });
  if (!owners.some(({ userId }) => userId === by.userId)) throw new DomainError('account.owner_required');
  if (!isToBeRequired || cameThroughIt) return;
  const active = `select from sso_connections where account_id = $1 and scope = 'admin' and status = 'active' limit 1`;
  const isThere = (await tx.query<unknown[]>(active, [accountId])).length > 0;
  throw new DomainError(isThere ? 'account.sso_required' : 'account.sso_unavailable');
}
