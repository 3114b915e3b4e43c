import { Any, type EntityManager, type FindOptionsWhere, IsNull } from 'typeorm';
import { RoleAssignment } from '../../../entities/role-assignment.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvents } from '../events/record.js';
import { metadataOf } from './assigning.js';
import { closeWindows } from './window-rows.js';

/**
 * Locks assignments that nobody has taken away yet, one after the other in the order that is everybody's. Before they are
 * deleted with their node, role or Identity, too: a cascade takes them as it finds them, and whoever takes them away meanwhile
 * would wait for it while it waits for them.
 */
export const lockAssignments = (tx: EntityManager, of: FindOptionsWhere<RoleAssignment>): Promise<RoleAssignment[]> =>
  tx.find(RoleAssignment, {
    where: { ...of, removedAt: IsNull() },
    order: { id: 'asc' },
    lock: { mode: 'for_no_key_update' },
  });

/**
 * Takes assignments away, in the caller's transaction; rights have been decided. Those that are taken already stay as they
 * are. Nothing more is told of their windows.
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
    taken.map((row) => ({ ...scope, resourceId: row.id, metadata: metadataOf(row) })),
  );
}
