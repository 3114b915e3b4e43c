import { Any, type EntityManager, type FindOptionsWhere, IsNull } from 'typeorm';
import { RoleAssignment } from '../../../../entities/role-assignment.js';
import { within } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { recordEvents } from '../../events/record.js';
import { closeWindows } from '../windows/rows.js';
import { assignmentMetadata } from './assigning.js';

/**
 * Locks assignments that were not removed yet, by id, as everybody does. Also for callers that delete their node, role
 * or Identity: the cascade would lock them in any order, and could deadlock with somebody who is removing them.
 * @param max how many of them at most
 */
export const lockAssignments = (
  tx: EntityManager,
  of: FindOptionsWhere<RoleAssignment>,
  max?: number,
): Promise<RoleAssignment[]> =>
  tx.find(RoleAssignment, {
    where: { ...of, removedAt: IsNull() },
    order: { id: 'asc' },
    ...(max !== undefined && { take: max }),
    lock: { mode: 'for_no_key_update' },
  });

/**
 * Removes assignments, in the caller's transaction, which has checked the rights. Those that were removed before stay
 * as they are. Their windows cause no more events.
 */
export async function removeAssignments(
  tx: EntityManager,
  scope: EnvironmentScope,
  ids: readonly string[],
  at: Date,
): Promise<void> {
  if (ids.length === 0) return;
  const taken = await lockAssignments(tx, { ...within(scope), id: Any([...ids]) });
  const takenIds = taken.map(({ id }) => id);
  await tx.update(RoleAssignment, { ...within(scope), id: Any(takenIds) }, { removedAt: at });
  await closeWindows(tx, takenIds, at);
  await recordEvents(
    tx,
    'role_assignment.deleted',
    taken.map((row) => ({ ...scope, resourceId: row.id, metadata: assignmentMetadata(row) })),
  );
}

/**
 * Deletes removed assignments of a role that is about to be deleted: the foreign key would delete all of them with one
 * statement, which has a time limit.
 * @returns how many; fewer than `max` if none is left
 */
export async function deleteRemoved(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  roleId: string,
  max: number,
): Promise<number> {
  const [, count] = await tx.query<[unknown[], number]>(
    `delete from role_assignments where id in (
       select id from role_assignments
       where account_id = $1 and environment_id = $2 and role_id = $3 and removed_at is not null limit $4)`,
    [accountId, environmentId, roleId, max],
  );
  return count;
}
