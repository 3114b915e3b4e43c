import type { EntityManager } from 'typeorm';
import { Node, type NodeStatus } from '../../../entities/node.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { isSame } from '../changed-fields.js';
import { DomainError } from '../errors.js';
import { endMappingsOutside, lockMappedDirectories } from '../node-endings/moved-mappings.js';
import { assertNodeMetadata } from './metadata.js';
import { moveSubtree } from './moves.js';
import { recordNodeEvent } from './node-events.js';
import { findLocked } from './nodes.js';
import { rootType, typeOf } from './rules.js';
import { schemaFor } from './schema-row.js';

export interface NodeChanges {
  name?: string;
  description?: string | null;
  slug?: string;
  status?: NodeStatus;
  metadata?: Record<string, unknown>;
  parentId?: string;
}

/**
 * Changes a node, and its place in the tree, in the caller's transaction. Values that are the same are no change.
 * @param version as the caller read it
 * @throws DomainError nodes.node_not_found for it or its new parent; version.conflict with the current node;
 *   nodes.root_fixed, nodes.type_unknown, nodes.type_not_allowed, nodes.too_deep, nodes.would_cycle, validation.failed.
 *   A slug that a sibling has violates `nodes_slug`
 */
export async function changeNode(
  tx: EntityManager,
  scope: EnvironmentScope,
  { id, version, changes, at }: { id: string; version: number; changes: NodeChanges; at: Date },
): Promise<Node> {
  // The schema is locked before the node, in this order everywhere, so that nobody waits in a circle.
  const use = changes.parentId ? 'another shape' : changes.metadata ? 'metadata' : null;
  const schema = use && (await schemaFor(tx, scope, use));
  if (changes.parentId) await lockMappedDirectories(tx, scope, id);
  const current = await findLocked(tx, scope, id);
  if (current.version !== version) throw new DomainError('version.conflict', { current });
  const { parentId: parentNodeId, ...fields } = changes;
  const wanted: Partial<Node> = { ...fields, ...(parentNodeId && { parentNodeId }) };
  const changed = (Object.keys(wanted) as (keyof Node)[]).filter((field) => !isSame(current[field], wanted[field]));
  if (changed.length === 0) return current;
  const isMoved = changed.includes('parentNodeId');
  if (current.nodeType === rootType && (isMoved || changed.includes('status')))
    throw new DomainError('nodes.root_fixed');
  if (schema && changed.includes('metadata') && current.nodeType !== rootType) {
    assertNodeMetadata(typeOf(schema, current.nodeType), wanted.metadata as object);
  } else if (wanted.metadata) assertNodeMetadata({ metadata_schema: null }, wanted.metadata);
  const path = schema && isMoved ? await moveSubtree(tx, scope, schema, current, parentNodeId as string) : current.path;
  const updated: Node = { ...current, ...wanted, path, version: version + 1, updatedAt: at };
  const { id: _, ...columns } = updated;
  await tx.update(Node, { ...within(scope), id }, columns);
  if (isMoved) await endMappingsOutside(tx, scope, id, at);
  await recordNodeEvent(tx, scope, isMoved ? 'moved' : 'updated', updated, {
    changed: changed.map((field) => (field === 'parentNodeId' ? 'parent_node_id' : field)),
    ...(isMoved && { from_parent_node_id: current.parentNodeId }),
  });
  return updated;
}
