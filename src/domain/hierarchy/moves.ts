import type { EntityManager } from 'typeorm';
import type { Node } from '../../../entities/node.js';
import type { NodeTypeSchema } from '../../../entities/node-type-schema.js';
import { partsOf } from '../../platform/parts.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { findNode } from './nodes.js';
import { assertPlaceable } from './rules.js';
import { withinSubtreesSql } from './subtrees.js';

/**
 * How many nodes' paths one statement rewrites: statements have a time limit, and this takes a tenth of a millisecond
 * for each.
 */
const atOnce = 20_000;

/**
 * Rewrites the paths of a node and everything below it for a new parent. The caller has locked the tree's shape, so
 * that it cannot change meanwhile.
 * @returns the node's own new path
 * @throws DomainError nodes.node_not_found for the parent; nodes.would_cycle, nodes.type_unknown,
 *   nodes.type_not_allowed, nodes.too_deep
 */
export async function moveSubtree(
  tx: EntityManager,
  scope: EnvironmentScope,
  schema: NodeTypeSchema,
  node: Node,
  parentId: string,
): Promise<string[]> {
  const parent = await findNode(tx, scope, parentId);
  if (parent.path.includes(node.id)) throw new DomainError('nodes.would_cycle');
  const moved = await tx.query<{ id: string; length: number }[]>(
    `select id, cardinality(path) as length from nodes where account_id = $1 and environment_id = $2 and ${withinSubtreesSql('nodes')}`,
    [scope.accountId, scope.environmentId, [node.id]],
  );
  const deepest = moved.reduce((max, { length }) => Math.max(max, length), node.path.length);
  assertPlaceable(schema, node.nodeType, parent, deepest - node.path.length);
  for (const ids of partsOf(
    moved.map(({ id }) => id),
    atOnce,
  )) {
    await tx.query(
      'update nodes set path = $4::uuid[] || path[$5:] where account_id = $1 and environment_id = $2 and id = any($3)',
      [scope.accountId, scope.environmentId, ids, parent.path, node.path.length],
    );
  }
  return [...parent.path, node.id];
}
