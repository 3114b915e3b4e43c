import { type EntityManager, Not } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { Caller } from '../caller.js';
import { isOwner } from '../capabilities/owners.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import { DomainError } from '../errors.js';

const requiring = `select exists (select from memberships m where m.account_id = a.id and m.user_id = $2 and ${isOwner('m')}) as "byOwner"
from accounts a where a.id = $1 and a.require_sso`;

/**
 * Checks that an Account that requires its own provider keeps one: its last connection for administrators is never
 * deleted, and disabled by an Owner alone, who gets in without it. Connections that have never been active do not count.
 * @param tx has locked the connection, and locks the Account, so that of two that end the second finds the first ended
 * @throws DomainError sso_connection.required
 */
export async function assertMayEnd(
  tx: EntityManager,
  { id, accountId, scope, status }: SsoConnection,
  { caller, as }: { caller: Caller; as: 'disabled' | 'deleted' },
): Promise<void> {
  if (scope !== 'admin' || status === 'configuring') return;
  await lockAdministration(tx, { accountId });
  const userId = caller.type === 'platform_admin' ? caller.userId : null;
  const [required] = await tx.query<{ byOwner: boolean }[]>(requiring, [accountId, userId]);
  if (!required || (as === 'disabled' && required.byOwner)) return;
  const isAnother = await tx.existsBy(SsoConnection, { accountId, scope, status: 'active', id: Not(id) });
  if (!isAnother) throw new DomainError('sso_connection.required');
}
