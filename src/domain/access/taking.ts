import { Any, type EntityManager, IsNull } from 'typeorm';
import { RoleAssignment } from '../../../entities/role-assignment.js';
import { within } from '../../platform/db.js';
import { recordEvents } from '../events.js';
import type { EnvironmentScope } from '../scope.js';
import { metadataOf } from './assigning.js';
import { closeWindows } from './window-rows.js';

/**
 * Takes assignments away, in the caller's transaction; rights have been decided. Those that are taken already stay as they
 * are. Nothing more is told of their windows.
 */
export async function takeAway(
  tx: EntityManager,
  scope: EnvironmentScope,
  ids: readonly string[],
  at: Date,
): Promise<void> {
  if (ids.length === 0) return;
  const where = { ...within(scope), id: Any([...ids]), removedAt: IsNull() };
  const taken = await tx.find(RoleAssignment, { where, order: { id: 'asc' }, lock: { mode: 'for_no_key_update' } });
  const takenIds = taken.map(({ id }) => id);
  await tx.update(RoleAssignment, { ...within(scope), id: Any(takenIds) }, { removedAt: at });
  await closeWindows(tx, takenIds, at);
  await recordEvents(
    tx,
    'role_assignment.deleted',
    taken.map((row) => ({ ...scope, resourceId: row.id, metadata: metadataOf(row) })),
  );
}
