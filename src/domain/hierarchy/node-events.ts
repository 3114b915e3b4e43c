import type { EntityManager } from 'typeorm';
import type { Node } from '../../../entities/node.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';
import { isOrganization } from './organization-rows.js';

export type NodeVerb = 'created' | 'updated' | 'moved' | 'deleted';

/**
 * Records what happened to a node, by ids and names of fields. An organization is a node with the same id, and has
 * events of its own as well.
 */
export async function recordNodeEvent(
  tx: EntityManager,
  scope: EnvironmentScope,
  verb: NodeVerb,
  node: Node,
  more: Record<string, unknown> = {},
): Promise<void> {
  const details = { ...scope, resourceId: node.id, resourceLabel: node.name, metadata: nodeMetadata(node, more) };
  await recordEvent(tx, `node.${verb}`, details);
  if (isOrganization(node)) await recordEvent(tx, `organization.${verb === 'moved' ? 'updated' : verb}`, details);
}

export const nodeMetadata = (
  { nodeType, parentNodeId, status, version }: Pick<Node, 'nodeType' | 'parentNodeId' | 'status' | 'version'>,
  more: Record<string, unknown> = {},
) => ({
  node_type: nodeType,
  parent_node_id: parentNodeId,
  status,
  version,
  ...more,
});
