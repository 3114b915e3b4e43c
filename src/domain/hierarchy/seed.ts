import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Node } from '../../../entities/node.js';
import { type NodeType, NodeTypeSchema } from '../../../entities/node-type-schema.js';
import type { EnvironmentScope } from '../../platform/scope.js';

const nodeType = (key: string, name: string, allowed_parents: string[]): NodeType => ({
  key,
  name,
  description: null,
  allowed_parents,
  can_be_root: true,
  metadata_schema: null,
  icon: null,
});

/** The node types of a new Environment's tree (contract §10). */
const defaultNodeTypes: readonly NodeType[] = [
  nodeType('organization', 'Organization', ['organization']),
  nodeType('unit', 'Unit', ['organization', 'unit']),
];
const defaultMaxDepth = 20;

/** The root node and the schema of a new Environment, in the caller's transaction. */
export async function seedHierarchy(
  tx: EntityManager,
  scope: EnvironmentScope,
  { name, now }: { name: string; now: Date },
): Promise<void> {
  const { accountId, applicationId, environmentId } = scope;
  await tx.insert(NodeTypeSchema, {
    environmentId,
    accountId,
    version: 1,
    maxDepth: defaultMaxDepth,
    nodeTypes: [...defaultNodeTypes],
    updatedAt: now,
  });
  const id = uuidv7();
  await tx.insert(Node, {
    id,
    accountId,
    applicationId,
    environmentId,
    parentNodeId: null,
    nodeType: 'root',
    name,
    description: null,
    slug: 'root',
    status: 'active',
    metadata: {},
    path: [id],
    version: 1,
    createdAt: now,
    updatedAt: now,
  });
}
