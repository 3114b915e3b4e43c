import { Type } from 'typebox';
import type { Caller } from '../../domain/caller.js';
import type { ShownNode, VisibleNode } from '../../domain/hierarchy/tree.js';
import type { Visibility } from '../../domain/hierarchy/visibility.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { Id, Metadata, Nullable, OneOf, Resource, Timestamp } from '../surfaces/schemas.js';

export const NodeStatuses = OneOf(['active', 'inactive']);
const NodeFields = {
  id: Id,
  application_id: Id,
  parent_node_id: Nullable(Id),
  node_type: Type.String(),
  name: Type.String(),
  description: Nullable(Type.String()),
  slug: Type.String(),
  status: NodeStatuses,
  metadata: Metadata,
  created_at: Timestamp,
  updated_at: Timestamp,
  version: Type.Integer(),
};
export const NodeView = Resource('Node', NodeFields);

/** A slug is unique below a parent: both together find one node. */
export const placeFilters = {
  slug: Type.Optional(Type.String({ maxLength: 63, description: 'Only those with exactly this slug, of any parent.' })),
  parent_node_id: Type.Optional(Type.String({ format: 'uuid', description: 'Only those directly below this node.' })),
};

export const VisibleNodeFields = {
  ...NodeFields,
  access_state: OneOf(['accessible', 'path_only'], {
    description:
      '`path_only`: included because it leads to a node that the caller may see; without its description and metadata.',
  }),
  can_access: Type.Boolean(),
  can_manage: Type.Boolean(),
};
export const VisibleNodeSchema = Resource('VisibleNode', VisibleNodeFields, {
  description: 'A node, and what the caller may do with it.',
});

export const presentNode = (node: ShownNode) => ({
  id: node.id,
  application_id: node.applicationId,
  parent_node_id: node.parentNodeId,
  node_type: node.nodeType,
  name: node.name,
  description: node.description,
  slug: node.slug,
  status: node.status,
  metadata: node.metadata,
  created_at: node.createdAt,
  updated_at: node.updatedAt,
  version: node.version,
});

export const presentVisibleNode = (node: VisibleNode) =>
  Object.assign(presentNode(node), !node.isVisible && { description: null, metadata: {} }, {
    access_state: node.isVisible ? 'accessible' : 'path_only',
    can_access: node.isVisible,
    can_manage: node.isManaged,
  } as const);

const viewing = { permissions: ['hierarchy.view'], capability: 'env_structure.view' } as const;
export const managing = { permissions: ['hierarchy.manage'], capability: 'env_structure.manage' } as const;

/** For callers whose right at the node was checked already. */
export const everything: Visibility = { view: null, manage: null, activeOnly: false };

/** Returns which part of the tree the caller sees. */
export async function visibilityOf({
  services,
  scope,
  caller,
}: {
  services: Pick<Services, 'rights'>;
  scope: EnvironmentScope;
  caller: Caller;
}): Promise<Visibility> {
  const [view, manage] = await Promise.all([
    services.rights.reach(scope, caller, viewing),
    services.rights.reach(scope, caller, managing),
  ]);
  return { view, manage, activeOnly: caller.type === 'identity' };
}
