import { Any, type EntityManager } from 'typeorm';
import { ScimGroup } from '../../../../entities/scim-group.js';
import { within } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { recordEvents } from '../../events/record.js';

/** Deletes groups, each with its event. The roles that they gave are up to the caller. */
export async function forgetGroups(
  tx: EntityManager,
  scope: EnvironmentScope,
  groups: readonly ScimGroup[],
): Promise<void> {
  if (groups.length === 0) return;
  await tx.delete(ScimGroup, { ...within(scope), id: Any(groups.map(({ id }) => id)) });
  await recordEvents(
    tx,
    'scim_group.deleted',
    groups.map(({ id, displayName, organizationId }) => ({
      ...scope,
      resourceId: id,
      resourceLabel: displayName,
      metadata: { organization_id: organizationId },
    })),
  );
}
