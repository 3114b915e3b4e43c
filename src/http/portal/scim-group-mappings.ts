import { Type } from 'typebox';
import type { ScimGroupMapping } from '../../../entities/scim-group-mapping.js';
import { listQuery, paginated } from '../lists.js';
import { errors, operation } from '../operation.js';
import { Body, Id, listOf, Name, Nullable, Resource, single, Timestamp } from '../schemas.js';

const common = { tag: 'SCIM', level: 'account' } as const;
const ById = Type.Object({ id: Id });

const ScimGroupMappingView = Resource('ScimGroupMapping', {
  id: Id,
  environment_id: Id,
  organization_id: Nullable(Id),
  scim_group: Type.String({ description: 'Id of the group, or what groups are called that are meant.' }),
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
const changes = ['role_assignment.created', 'role_assignment.deleted'] as const;

export const listScimGroupMappings = operation({
  ...common,
  id: 'listScimGroupMappings',
  method: 'GET',
  path: '/scim/group-mappings',
  summary: 'List what SCIM groups are mapped to',
  description: 'In all environments, or in the one of `environment_id`.',
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
    'Whoever is in the group holds the role at the node and below it, from now on and for as long as they are in it. ' +
    '`scim_group` is the id of a group or what it is called, whatever the case; a group of that name may come later. With ' +
    '`organization_id`, groups of that organization’s directory are meant, and the node is inside the organization. Without ' +
    '`node_id`, it is the root, or the organization. Callers can only give what they may give by an assignment.',
  capability: 'scim.manage',
  body: Body({
    environment_id: Id,
    organization_id: Type.Optional(Nullable(Id)),
    scim_group: Name,
    role_id: Id,
    node_id: Type.Optional(Nullable(Id)),
  }),
  events: ['scim_group_mapping.created', ...changes],
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
  summary: 'Read the mapping of a SCIM group',
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
  summary: 'Map a SCIM group to another role or node',
  description: 'Those in the group hold what it says from now on, and no longer what it said before.',
  capability: 'scim.manage',
  params: ById,
  body: Body({ role_id: Type.Optional(Id), node_id: Type.Optional(Id) }),
  exists: ({ services, scope, params }) => services.scimGroupMappings.get(scope, params.id),
  events: ['scim_group_mapping.updated', ...changes],
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
  summary: 'Delete the mapping of a SCIM group',
  description: 'Those in the group lose what only this mapping gave them; what they were given by hand stays.',
  capability: 'scim.manage',
  params: ById,
  events: ['scim_group_mapping.deleted', 'role_assignment.deleted'],
  answers: { 204: Type.Null(), ...errors('scim_group_mapping.not_found') },
  handle: ({ services, scope, params }) => services.scimGroupMappings.remove(scope, params.id),
});
