import { Any, type EntityManager } from 'typeorm';
import { Node } from '../../../entities/node.js';
import { within } from '../../platform/database/db.js';
import type { Left } from '../../platform/database/in-parts.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { assignmentMetadata } from '../access/assignments/assigning.js';
import { lockAssignments } from '../access/assignments/removing.js';
import { leaveNodes } from '../access/windows/rows.js';
import { forgetInLimits } from '../capabilities/forget-limits.js';
import { DomainError } from '../errors.js';
import { recordEvents } from '../events/record.js';
import { addToCounter } from '../lists/counters.js';
import { endBelongings, lockDirectories, lockSignIns } from '../node-endings/organization-belongings.js';
import { nodeMetadata } from './node-events.js';
import { findLocked } from './nodes.js';
import { isOrganization } from './organization-rows.js';
import { rootType } from './rules.js';
import { schemaFor } from './schema-row.js';
import { withinSubtreesSql } from './subtrees.js';
import { surplusRoles, takeSurplus } from './surplus-roles.js';

/** What is to be deleted, as the caller has seen it, and when. */
interface Removal {
  id: string;
  version: number;
  cascade: boolean;
  at: Date;
}

/**
 * Deletes a node, with `cascade` everything below it too, in the caller's transaction, which has locked the tree's
 * shape. Organizations, role assignments and everything else at these nodes is deleted with them, with an event for
 * each, the lowest first.
 * @throws DomainError nodes.node_not_found, version.conflict with the current node, nodes.root_fixed,
 *   nodes.has_children
 */
async function remove(
  tx: EntityManager,
  scope: EnvironmentScope,
  { id, version, cascade, at }: Removal,
): Promise<void> {
  await lockSignIns(tx, scope, [id]);
  await lockDirectories(tx, scope, [id]);
  await lockTop(tx, scope, { id, version });
  if (!cascade && (await tx.existsBy(Node, { ...within(scope), parentNodeId: id }))) {
    throw new DomainError('nodes.has_children');
  }
  await removeLocked(tx, scope, [id], at);
}

/** @throws DomainError nodes.node_not_found, version.conflict with the node as it is now, nodes.root_fixed */
async function lockTop(tx: EntityManager, scope: EnvironmentScope, { id, version }: { id: string; version: number }) {
  const top = await findLocked(tx, scope, id);
  if (top.version !== version) throw new DomainError('version.conflict', { current: top });
  if (top.nodeType === rootType) throw new DomainError('nodes.root_fixed');
}

/**
 * Deletes a node like `remove`, unless that is too much for one transaction: then first the lowest nodes, and before
 * any nodes the roles at them.
 * @returns whether there is more left
 * @throws DomainError as `remove`
 */
export async function removeSomeOf(
  tx: EntityManager,
  scope: EnvironmentScope,
  { id, version, cascade, atOnce, at }: Removal & { atOnce: number },
): Promise<Left> {
  await schemaFor(tx, scope, 'another shape');
  const below = await tx.query<{ id: string }[]>(
    `select id from nodes where account_id = $1 and environment_id = $2 and ${withinSubtreesSql('nodes')} and id <> all($3)
     order by cardinality(path) desc, id limit $4`,
    [scope.accountId, scope.environmentId, [id], atOnce + 1],
  );
  const isWhole = !cascade || below.length <= atOnce;
  // Each with everything below it, which comes before it.
  const ids = isWhole ? [id] : below.slice(0, atOnce).map((row) => row.id);
  const isRefused = !cascade && below.length > 0;
  const surplus = isRefused ? null : await surplusRoles(tx, scope, ids, atOnce);
  if (surplus) {
    await lockTop(tx, scope, { id, version });
    await takeSurplus(tx, scope, surplus, at);
    return 'more';
  }
  if (isWhole) {
    await remove(tx, scope, { id, version, cascade, at });
    return 'done';
  }
  await lockSignIns(tx, scope, ids);
  await lockDirectories(tx, scope, ids);
  await lockTop(tx, scope, { id, version });
  await removeLocked(tx, scope, ids, at, [id]);
  return 'more';
}

/**
 * Deletes nodes with everything below them. The caller has locked the tree's shape, so that it cannot change meanwhile.
 */
export async function removeSubtrees(
  tx: EntityManager,
  scope: EnvironmentScope,
  topIds: readonly string[],
  at: Date,
): Promise<void> {
  await lockSignIns(tx, scope, topIds);
  await lockDirectories(tx, scope, topIds);
  await removeLocked(tx, scope, topIds, at);
}

async function removeLocked(
  tx: EntityManager,
  scope: EnvironmentScope,
  topIds: readonly string[],
  at: Date,
  namedIds = topIds,
): Promise<void> {
  const { accountId, environmentId } = scope;
  const values = [accountId, environmentId, topIds];
  const rows = await tx.query<Removed[]>(
    `select id, name, node_type as "nodeType", parent_node_id as "parentNodeId", status, version, path from nodes
     where account_id = $1 and environment_id = $2 and ${withinSubtreesSql('nodes')} order by cardinality(path) desc, id for update`,
    values,
  );
  const nodeIds = rows.map((row) => row.id);
  // The locks of the nodes keep others from giving roles at them until the end.
  const assignments = await lockAssignments(tx, {
    ...within(scope),
    nodeId: Any(nodeIds), // not `In`: a statement has 65 535 parameters at most
  });
  const organizations = rows.filter(isOrganization);
  const organizationIds = organizations.map(({ id }) => id);
  await endBelongings(tx, scope, { organizationIds, nodeIds, at });
  await leaveNodes(tx, nodeIds);
  await tx.query(
    `delete from nodes where account_id = $1 and environment_id = $2 and ${withinSubtreesSql('nodes')}`,
    values,
  );
  await addToCounter(tx, scope, 'nodes', -rows.length);
  if (organizations.length > 0) await addToCounter(tx, scope, 'organizations', -organizations.length);
  await forgetInLimits(tx, scope, nodeIds);
  await recordEvents(
    tx,
    'role_assignment.deleted',
    assignments.map((one) => ({ ...scope, resourceId: one.id, metadata: assignmentMetadata(one) })),
  );
  const tops = new Set(namedIds);
  const details = (row: Removed) => ({
    ...scope,
    resourceId: row.id,
    resourceLabel: row.name,
    metadata: nodeMetadata(row, { top_node_id: row.path.find((id) => tops.has(id)) }),
  });
  await recordEvents(tx, 'node.deleted', rows.map(details));
  await recordEvents(tx, 'organization.deleted', organizations.map(details));
}

type Removed = Pick<Node, 'id' | 'name' | 'nodeType' | 'parentNodeId' | 'status' | 'version' | 'path'>;
