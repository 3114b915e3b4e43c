import { Any, type EntityManager } from 'typeorm';
import { Node } from '../../../entities/node.js';
import { within } from '../../platform/db.js';
import { metadataOf as metadataOfAssignment } from '../access/assigning.js';
import { lockAssignments } from '../access/taking.js';
import { leaveNodes } from '../access/window-rows.js';
import { forgetInLimits } from '../capabilities/limits.js';
import { addToCounter } from '../counters.js';
import { DomainError } from '../errors.js';
import { recordEvents } from '../events.js';
import { endBelongings, lockSignIns } from '../removals/organization-belongings.js';
import type { EnvironmentScope } from '../scope.js';
import { metadataOf } from './node-events.js';
import { findLocked } from './nodes.js';
import { isOrganization } from './organization-rows.js';
import { rootType } from './rules.js';
import { schemaFor } from './schema-row.js';
import { below } from './subtrees.js';

/**
 * Deletes a node, with `cascade` everything below it too, in the caller's transaction: organizations, role assignments and
 * whatever else stands at these nodes goes with them, and there is an event for each, the lowest first.
 * @throws DomainError nodes.node_not_found, version.conflict with the node as it is now, nodes.root_fixed,
 *   nodes.has_children
 */
export async function remove(
  tx: EntityManager,
  scope: EnvironmentScope,
  { id, version, cascade, at }: { id: string; version: number; cascade: boolean; at: Date },
): Promise<void> {
  await schemaFor(tx, scope, 'another shape');
  await lockSignIns(tx, scope, [id]);
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
 * Deletes the lowest nodes below one, if there are more than so many, in the caller's transaction.
 * @returns whether it has deleted any: what is left otherwise is for `remove`
 * @throws DomainError as `remove`
 */
export async function removeLowest(
  tx: EntityManager,
  scope: EnvironmentScope,
  { id, version, atOnce, at }: { id: string; version: number; atOnce: number; at: Date },
): Promise<boolean> {
  await schemaFor(tx, scope, 'another shape');
  const lowest = await tx.query<{ id: string }[]>(
    `select id from nodes where account_id = $1 and environment_id = $2 and ${below('nodes')} and id <> $4
     order by cardinality(path) desc, id limit $5`,
    [scope.accountId, scope.environmentId, [id], id, atOnce + 1],
  );
  if (lowest.length <= atOnce) return false;
  const ids = lowest.slice(0, atOnce).map((row) => row.id); // with each, all below it: that is lower
  await lockSignIns(tx, scope, ids);
  await lockTop(tx, scope, { id, version });
  await removeLocked(tx, scope, ids, at, [id]);
  return true;
}

/**
 * Deletes nodes with everything below them. Whoever calls it has the lock on the tree's shape, so that what is found here
 * stays so.
 */
export async function removeSubtrees(
  tx: EntityManager,
  scope: EnvironmentScope,
  topIds: readonly string[],
  at: Date,
): Promise<void> {
  await lockSignIns(tx, scope, topIds);
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
     where account_id = $1 and environment_id = $2 and ${below('nodes')} order by cardinality(path) desc, id for update`,
    values,
  );
  const nodeIds = rows.map((row) => row.id);
  // The locks of the nodes keep others from giving a role at one of them between this look and their end.
  const assignments = await lockAssignments(tx, {
    ...within(scope),
    nodeId: Any(nodeIds), // not `In`: a statement has 65 535 parameters at most
  });
  const organizations = rows.filter(isOrganization);
  const organizationIds = organizations.map(({ id }) => id);
  await endBelongings(tx, scope, { organizationIds, nodeIds, at });
  await leaveNodes(tx, nodeIds);
  await tx.query(`delete from nodes where account_id = $1 and environment_id = $2 and ${below('nodes')}`, values);
  await addToCounter(tx, scope, 'nodes', -rows.length);
  if (organizations.length > 0) await addToCounter(tx, scope, 'organizations', -organizations.length);
  await forgetInLimits(tx, scope, 'node_ids', nodeIds);
  await recordEvents(
    tx,
    'role_assignment.deleted',
    assignments.map((one) => ({ ...scope, resourceId: one.id, metadata: metadataOfAssignment(one) })),
  );
  const tops = new Set(namedIds);
  const details = (row: Removed) => ({
    ...scope,
    resourceId: row.id,
    resourceLabel: row.name,
    metadata: metadataOf(row, { top_node_id: row.path.find((id) => tops.has(id)) }),
  });
  await recordEvents(tx, 'node.deleted', rows.map(details));
  await recordEvents(tx, 'organization.deleted', organizations.map(details));
}

type Removed = Pick<Node, 'id' | 'name' | 'nodeType' | 'parentNodeId' | 'status' | 'version' | 'path'>;
