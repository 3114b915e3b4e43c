import { type EntityManager, IsNull } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Node, type NodeStatus } from '../../../entities/node.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { addToCounter } from '../lists/counters.js';
import { underFreeSlug } from '../slugs.js';
import { assertInAccessModel } from './access-model.js';
import { assertNodeMetadata } from './metadata.js';
import { recordNodeEvent } from './node-events.js';
import { addOrganization, isOrganization } from './organization-rows.js';
import { assertPlaceable, typeOf } from './rules.js';
import { schemaFor } from './schema-row.js';

export interface NewNode {
  /** Null: directly under the root. */
  parentId: string | null;
  nodeType: string;
  name: string;
  description: string | null;
  /** Without one, it is made from the name, with a random ending if a sibling has that. */
  slug?: string | undefined;
  status: NodeStatus;
  metadata: Record<string, unknown>;
}

/** Returns a node of the Environment. @throws DomainError nodes.node_not_found */
export async function findNode(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<Node> {
  const node = await tx.findOneBy(Node, { ...within(scope), id });
  if (!node) throw new DomainError('nodes.node_not_found');
  return node;
}

/**
 * Returns a node, locked until the end of the transaction.
 * @throws DomainError nodes.node_not_found
 */
export async function findLocked(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<Node> {
  const node = await tx.findOne(Node, { where: { ...within(scope), id }, lock: { mode: 'pessimistic_write' } });
  if (!node) throw new DomainError('nodes.node_not_found');
  return node;
}

/** The root, which every Environment has. @throws DomainError environment.not_found if it was deleted meanwhile */
export async function rootOf(tx: EntityManager, scope: EnvironmentScope): Promise<Node> {
  const root = await tx.findOneBy(Node, { ...within(scope), parentNodeId: IsNull() });
  if (!root) throw new DomainError('environment.not_found');
  return root;
}

/**
 * Adds a node, in the caller's transaction; one of type `organization` becomes an organization. Until the end of the
 * transaction, the tree's shape only changes by other new nodes.
 * @throws DomainError nodes.not_in_access_model; nodes.node_not_found for the parent; nodes.type_unknown,
 *   nodes.type_not_allowed, nodes.too_deep, nodes.slug_taken, validation.failed
 */
export async function createNode(tx: EntityManager, scope: EnvironmentScope, input: NewNode, at: Date): Promise<Node> {
  const schema = await schemaFor(tx, scope, 'new nodes');
  const parent = input.parentId === null ? await rootOf(tx, scope) : await findNode(tx, scope, input.parentId);
  assertPlaceable(schema, input.nodeType, parent);
  await assertInAccessModel(tx, scope, input.nodeType);
  assertNodeMetadata(typeOf(schema, input.nodeType), input.metadata);
  const id = uuidv7();
  const { accountId, applicationId, environmentId } = scope;
  const node = await underFreeSlug(input, {
    fallback: 'node',
    taken: 'nodes.slug_taken',
    async insert(slug) {
      const row: Node = {
        id,
        accountId,
        applicationId,
        environmentId,
        parentNodeId: parent.id,
        nodeType: input.nodeType,
        name: input.name,
        description: input.description,
        slug,
        status: input.status,
        metadata: input.metadata,
        path: [...parent.path, id],
        version: 1,
        createdAt: at,
        updatedAt: at,
      };
      const inserting = tx.createQueryBuilder().insert().into(Node).values(row).orIgnore().returning('id');
      return (await inserting.execute()).raw.length > 0 && row;
    },
  });
  if (isOrganization(node)) await addOrganization(tx, scope, node);
  await addToCounter(tx, scope, 'nodes', 1);
  await recordNodeEvent(tx, scope, 'created', node);
  return node;
}
