import type { EntityManager } from 'typeorm';
import { NodeTypeSchema } from '../../../entities/node-type-schema.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';

/**
 * Reads the schema of an Environment's tree, whose row is also the lock on the tree's shape (docs/decisions/0016). New
 * nodes share the lock, and so do checks of metadata against the schema, and everything that depends on where a node
 * is; moves, deletions and changes of the schema take it exclusively.
 */
export function schemaFor(
  tx: EntityManager,
  scope: EnvironmentScope,
  use: 'new nodes' | 'metadata' | 'places' | 'another shape',
): Promise<NodeTypeSchema> {
  const mode = use === 'another shape' ? 'pessimistic_write' : 'pessimistic_read';
  return tx.findOneOrFail(NodeTypeSchema, { where: within(scope), lock: { mode } });
}
