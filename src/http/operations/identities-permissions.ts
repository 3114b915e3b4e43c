import { Type } from 'typebox';
import { errors, operation } from '../surfaces/operation.js';
import { Id, Resource, single } from '../surfaces/schemas.js';
import { ofOne } from './identities-views.js';

const viewingRoles = { ...ofOne, permission: 'rbac.view_roles', capability: 'env_roles.view' } as const;

export const getEffectivePermissions = operation({
  ...viewingRoles,
  id: 'getEffectivePermissions',
  method: 'GET',
  path: '/identities/:id/effective-permissions',
  summary: 'List the effective permissions of an identity',
  description:
    'Permissions held now at the node, through assignments there and above; without `node_id`, at the root. Decided in ' +
    'the same way as by `evaluate`.',
  query: Type.Object({ node_id: Type.Optional(Id) }, { additionalProperties: false }),
  answers: {
    200: single(
      Resource('EffectivePermissions', { identity_id: Id, node_id: Id, permissions: Type.Array(Type.String()) }),
    ),
    ...errors('identity.not_found', 'nodes.node_not_found'),
  },
  async handle({ services, scope, params, query }) {
    const nodeId = await services.identityAdministration.resolveNode(scope, params.id, query.node_id ?? null);
    const everything = { after: null, limit: 100_000 };
    const { ids } = await services.accessSearch.actions(
      scope.environmentId,
      { identityId: params.id, nodeId },
      everything,
    );
    return { data: { identity_id: params.id, node_id: nodeId, permissions: ids } };
  },
});

export const getPermissionLocations = operation({
  ...viewingRoles,
  id: 'getPermissionLocations',
  method: 'GET',
  path: '/identities/:id/permission-locations',
  summary: 'List where an identity holds a permission',
  description:
    'Returns the topmost nodes at which it is held now, with the IDs from the root to each; it is also held at every ' +
    'active node below them.',
  query: Type.Object({ permission: Type.String({ minLength: 1, maxLength: 200 }) }, { additionalProperties: false }),
  answers: {
    200: single(
      Resource('PermissionLocations', {
        identity_id: Id,
        permission: Type.String(),
        locations: Type.Array(
          Resource('PermissionLocation', {
            node_id: Id,
            node_name: Type.String(),
            node_type: Type.String(),
            path: Type.Array(Id),
          }),
        ),
      }),
    ),
    ...errors('identity.not_found', 'permission.not_found'),
  },
  async handle({ services, scope, params, query: { permission } }) {
    const found = await services.identityAdministration.locations(scope, params.id, permission);
    const locations = found.map(({ nodeId, nodeName, nodeType, path }) => ({
      node_id: nodeId,
      node_name: nodeName,
      node_type: nodeType,
      path,
    }));
    return { data: { identity_id: params.id, permission, locations } };
  },
});
