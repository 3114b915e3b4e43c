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
