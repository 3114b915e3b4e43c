import { Type } from 'typebox';
import type { ScimGroupMapping } from '../../../entities/scim-group-mapping.js';
import { roleEvents } from '../event-lists/scim.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, ById, Id, listOf, Name, Nullable, Resource, single, Timestamp } from '../surfaces/schemas.js';

const common = { tag: 'SCIM', level: 'account' } as const;

const ScimGroupMappingView = Resource('ScimGroupMapping', {
  id: Id,
  environment_id: Id,
  organization_id: Nullable(Id),
  scim_group: Type.String({ description: 'The ID of a group, or the name of the groups.' }),
  role_id: Id,
  node_id: Id,
  created_at: Timestamp,
});

const present = (mapping: ScimGroupMapping) => ({
  id: mapping.id,
  environment_id: mapping.environmentId,
  organization_id: mapping.organizationId,
  scim_group: mapping.groupId ?? mapping.groupName,
  role_id: mapping.roleId,
  node_id: mapping.nodeId,
  created_at: mapping.createdAt,
});

const refusals = [
  'validation.failed',
  'role.not_found',
  'nodes.node_not_found',
  'role.cannot_grant',
  'scim_group_mapping.exists',
] as const;
export const listScimGroupMappings = operation({
  ...common,
  id: 'listScimGroupMappings',
  method: 'GET',
  path: '/scim/group-mappings',
  summary: 'List SCIM group mappings',
  description: 'Of all environments, or only of `environment_id`. `q` searches the name of the group.',
  capability: 'scim.view',
  query: listQuery(['created_at'], { environment_id: Type.Optional(Id) }),
  answers: { 200: listOf(ScimGroupMappingView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, environment_id: environmentId, ...page } }) =>
    paginated(await services.scimGroupMappings.list(scope, { ...page, sortBy, environmentId }), present),
});

export const createScimGroupMapping = operation({
  ...common,
  id: 'createScimGroupMapping',
  method: 'POST',
  path: '/scim/group-mappings',
  summary: 'Map a SCIM group to a role at a node',
  description:
    'Members of the group hold the role at the node and below it, from now on and as long as they are in the group. ' +
    '`scim_group` is the ID of a group or its name, regardless of case; a group with that name may be created later. ' +
    "With `organization_id`, it refers to groups of that organization's directory, and the node is inside the " +
    'organization. Without `node_id`, the role is held at the root, or at the organization. Callers can only map roles ' +
    'that they could assign.',
  capability: 'scim.manage',
  body: Body({
    environment_id: Id,
    organization_id: Type.Optional(Nullable(Id)),
    scim_group: Name,
    role_id: Id,
    node_id: Type.Optional(Nullable(Id)),
  }),
  events: ['scim_group_mapping.created', ...roleEvents],
  answers: {
    201: single(ScimGroupMappingView),
    ...errors(...refusals, 'environment.not_found', 'organization.not_found'),
  },
  handle: async ({ services, scope, caller, body }) => ({
    data: present(
      await services.scimGroupMappings.create(scope, caller, {
        environmentId: body.environment_id,
        organizationId: body.organization_id ?? null,
        scimGroup: body.scim_group.trim(),
        roleId: body.role_id,
        nodeId: body.node_id ?? null,
      }),
    ),
  }),
});

export const getScimGroupMapping = operation({
  ...common,
  id: 'getScimGroupMapping',
  method: 'GET',
  path: '/scim/group-mappings/:id',
  summary: 'Get a SCIM group mapping',
  capability: 'scim.view',
  params: ById,
  answers: { 200: single(ScimGroupMappingView), ...errors('scim_group_mapping.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: present(await services.scimGroupMappings.get(scope, params.id)),
  }),
});

export const updateScimGroupMapping = operation({
  ...common,
  id: 'updateScimGroupMapping',
  method: 'PATCH',
  path: '/scim/group-mappings/:id',
  summary: 'Update a SCIM group mapping',
  description: 'From now on, members of the group hold what the mapping says, and no longer what it said before.',
  capability: 'scim.manage',
  params: ById,
  body: Body({ role_id: Type.Optional(Id), node_id: Type.Optional(Id) }),
  exists: ({ services, scope, params }) => services.scimGroupMappings.get(scope, params.id),
  events: ['scim_group_mapping.updated', ...roleEvents],
  answers: { 200: single(ScimGroupMappingView), ...errors(...refusals, 'scim_group_mapping.not_found') },
  handle: async ({ services, scope, caller, params, body }) => ({
    data: present(
      await services.scimGroupMappings.update(scope, caller, params.id, { roleId: body.role_id, nodeId: body.node_id }),
    ),
  }),
});

export const deleteScimGroupMapping = operation({
  ...common,
  id: 'deleteScimGroupMapping',
  method: 'DELETE',
  path: '/scim/group-mappings/:id',
  summary: 'Delete a SCIM group mapping',
  description: 'Members of the group lose what only this mapping gave them; roles assigned by hand stay.',
  capability: 'scim.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.scimGroupMappings.get(scope, params.id),
  events: ['scim_group_mapping.deleted', 'role_assignment.deleted'],
  answers: { 204: Type.Null(), ...errors('scim_group_mapping.not_found') },
  handle: ({ services, scope, params }) => services.scimGroupMappings.remove(scope, params.id),
});
