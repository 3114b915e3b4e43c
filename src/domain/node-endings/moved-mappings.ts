import { Any, type EntityManager } from 'typeorm';
import { ScimGroupMapping } from '../../../entities/scim-group-mapping.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { withinSubtreesSql } from '../hierarchy/subtrees.js';
import { forgetMappings } from '../scim/groups/mappings.js';
import { directoryOf, lockDirectory } from '../scim-roles/directories.js';
import { settleRoles } from '../scim-roles/granting.js';

const ofOrganizations = `from scim_group_mappings p join nodes on nodes.id = p.node_id
  where p.account_id = $1 and p.environment_id = $2 and p.organization_id is not null and ${withinSubtreesSql('nodes')}`;

/**
 * Locks the directories of organizations that grant roles at or below a node that is about to be moved, so that nobody
 * changes what they grant there. Call it before locking the node: a change of a directory locks the directory first,
 * and then the nodes at which it grants roles.
 */
export async function lockMappedDirectories(tx: EntityManager, scope: EnvironmentScope, topId: string): Promise<void> {
  const rows = await tx.query<{ id: string }[]>(`select distinct p.directory_id as id ${ofOrganizations} order by 1`, [
    scope.accountId,
    scope.environmentId,
    [topId],
  ]);
  for (const { id } of rows) await lockDirectory(tx, id);
}

/**
 * Ends the mappings at or below a node that has been moved out of their organization, each with its event, and removes
 * the roles that they granted: a directory grants roles only inside its organization.
 */
export async function endMappingsOutside(
  tx: EntityManager,
  scope: EnvironmentScope,
  topId: string,
  at: Date,
): Promise<void> {
  const outside = await tx.query<{ id: string }[]>(
    `select p.id ${ofOrganizations} and not p.organization_id = any(nodes.path)`,
    [scope.accountId, scope.environmentId, [topId]],
  );
  if (outside.length === 0) return;
  const where = { ...within(scope), id: Any(outside.map(({ id }) => id)) };
  const mappings = await tx.find(ScimGroupMapping, {
    where,
    order: { id: 'ASC' },
    lock: { mode: 'pessimistic_write' },
  });
  await forgetMappings(tx, mappings);
  for (const organizationId of new Set(mappings.map((one) => one.organizationId))) {
    const people = await tx.query<{ id: string }[]>(
      `select distinct a.identity_id as id from scim_assignments s join role_assignments a on a.id = s.assignment_id
       where s.account_id = $1 and s.environment_id = $2 and s.directory_id = $3 and a.node_id = any($4) and a.removed_at is null
       order by 1`,
      [scope.accountId, scope.environmentId, organizationId, mappings.map(({ nodeId }) => nodeId)],
    );
    const ids = people.map(({ id }) => id);
    await settleRoles(tx, directoryOf(scope, organizationId), ids, at);
  }
}
