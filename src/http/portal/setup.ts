import { Type } from 'typebox';
import { PermissionKeys } from '../operations/roles.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Id, single } from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';

const segment = '[a-z0-9][a-z0-9_-]*';
const Resource = Body(
  {
    name: Type.String({
      pattern: worded(`^[a-z][a-z0-9_:-]*(\\.${segment})*$`, 'must be like invoice or billing.invoice, in lower case'),
      maxLength: 100,
      example: 'invoice',
    }),
    actions: Type.Array(
      Type.String({
        pattern: worded(`^${segment}$`, 'must be like view, in lower case'),
        maxLength: 49,
        example: 'view',
      }),
      { maxItems: 1000 },
    ),
  },
  'ResourceActions',
);
const RolePermissions = Body({ role_id: Id, permission_keys: PermissionKeys }, 'RolePermissionsToAdd');

export const addResourcePermissions = operation({
  id: 'addResourcePermissions',
  method: 'POST',
  path: '/setup/resource-permissions',
  summary: "Register the permissions of an application's resources",
  description:
    'Registers `name.action` for each action of each resource, at most 1000, and adds permissions to roles, new or ' +
    'existing. What exists already is skipped, so the request can be repeated. System roles are read-only.',
  tag: 'Permissions',
  level: 'environment',
  capability: 'env_permissions.manage',
  body: Body({
    resources: Type.Array(Resource, { maxItems: 1000 }),
    role_permissions: Type.Array(RolePermissions, { maxItems: 100 }),
  }),
  events: ['resource_permissions.added', 'permission.created', 'role.updated'],
  answers: {
    201: single(
      Type.Object({
        permissions_created: Type.Integer(),
        skipped_permissions: Type.Integer({ description: 'Permissions in `resources` that existed already.' }),
        roles_updated: Type.Integer({ description: 'Existing roles that were given permissions.' }),
      }),
    ),
    ...errors('role.not_found', 'role.system', 'validation.failed'),
  },
  async handle({ services, scope, body }) {
    const outcome = await services.accessSetup.add(scope, {
      resources: body.resources,
      grants: body.role_permissions.map(({ role_id, permission_keys }) => ({
        roleId: role_id,
        permissionKeys: permission_keys,
      })),
    });
    return {
      data: {
        permissions_created: outcome.permissionsCreated,
        skipped_permissions: outcome.skippedPermissions,
        roles_updated: outcome.rolesUpdated,
      },
    };
  },
});
