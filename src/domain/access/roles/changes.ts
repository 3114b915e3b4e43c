import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { recordEvents } from '../../events/record.js';

/** A role, and the keys of the permissions that it gains and loses. */
export interface RolePermissionChange {
  id: string;
  name: string;
  added: readonly string[];
  removed: readonly string[];
}

/**
 * Raises the version of each role whose permissions change, and records its event. In the caller's transaction, which
 * has locked the roles and writes the permissions itself.
 */
export async function recordPermissionChanges(
  tx: EntityManager,
  scope: EnvironmentScope,
  changes: readonly RolePermissionChange[],
  at: Date,
): Promise<void> {
  await tx.query('update roles set version = version + 1, updated_at = $3 where environment_id = $1 and id = any($2)', [
    scope.environmentId,
    changes.map(({ id }) => id),
    at,
  ]);
  await recordEvents(
    tx,
    'role.updated',
    changes.map(({ id, name, added, removed }) => ({
      ...scope,
      resourceId: id,
      resourceLabel: name,
      metadata: { added, removed },
    })),
  );
}
