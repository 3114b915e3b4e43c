import type { EntityManager } from 'typeorm';
import type { AdministratorInvite } from '../../../entities/administrator-invite.js';
import type { AccountScope } from '../../platform/scope.js';
import { recordEvents } from '../events/record.js';

const kinds = ['application_ids', 'environment_ids', 'node_ids'];
/** Its parameters are the Account's id (`$1`) and the ids to remove (`$2`). */
const forgetIn = (table: string) => `
update ${table} set limits = jsonb_build_object(${kinds.map((kind) => `'${kind}', (limits->'${kind}') - $2::text[]`)})
where account_id = $1 and (${kinds.map((kind) => `limits->'${kind}' ?| $2::text[]`).join(' or ')})`;

/**
 * Removes ids that are being deleted from the limits of roles and invites, so that clients can read limits, change them
 * and send them back. Limits without any id left reach nothing. Events report the changes to customers who keep a copy.
 */
export async function forgetInLimits(
  tx: EntityManager,
  { accountId }: AccountScope,
  ids: readonly string[],
): Promise<void> {
  const values = [accountId, ids];
  // Before the roles: the update waits for an invite that is being accepted, which is a role afterwards.
  const [offered] = await tx.query<[Pick<AdministratorInvite, 'id' | 'limits' | 'status'>[], number]>(
    `${forgetIn('administrator_invites')} returning id, limits, status`,
    values,
  );
  const [held] = await tx.query<[{ id: string }[], number]>(
    `${forgetIn('membership_roles')} returning membership_id as id`,
    values,
  );
  if (held.length > 0) await recordUpdatedMembers(tx, accountId, new Set(held.map(({ id }) => id)));
  const pending = offered.filter(({ status }) => status === 'pending');
  await recordEvents(
    tx,
    'administrator_invite.updated',
    pending.map(({ id, limits }) => ({ accountId, resourceId: id, metadata: { limits } })),
  );
}

async function recordUpdatedMembers(tx: EntityManager, accountId: string, ids: ReadonlySet<string>): Promise<void> {
  const members = await tx.query<{ id: string; userId: string; roles: object[] }[]>(
    `select m.id, m.user_id as "userId",
       jsonb_agg(jsonb_build_object('role_id', r.role_id, 'limits', r.limits) order by r.role_id) as roles
     from memberships m join membership_roles r on r.membership_id = m.id
     where m.account_id = $1 and m.id = any($2::uuid[]) group by m.id order by m.id`,
    [accountId, [...ids]],
  );
  await recordEvents(
    tx,
    'member.updated',
    members.map(({ id, userId, roles }) => ({ accountId, resourceId: id, metadata: { user_id: userId, roles } })),
  );
}
