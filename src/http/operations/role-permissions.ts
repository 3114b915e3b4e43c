import { Type } from 'typebox';
import type { Permission } from '../../../entities/permission.js';
import type { Role } from '../../../entities/role.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, ById, Id, Resource, single } from '../surfaces/schemas.js';
import { conflictAs } from '../surfaces/version-conflict.js';
import { PermissionView, presentPermission } from './permissions.js';
import { managed, PermissionKeys, viewed } from './roles.js';

const Held = Resource('RolePermissions', {
  role_id: Id,
  version: Type.Integer({ description: 'The version of the role, which its permissions share.' }),
  permission_keys: Type.Array(Type.String()),
  permissions: Type.Array(PermissionView),
});

const present = ({ role, permissions }: { role: Role; permissions: Permission[] }) => ({
  data: {
    role_id: role.id,
    version: role.version,
    permission_keys: permissions.map(({ key }) => key),
    permissions: permissions.map(presentPermission),
  },
});

export const getRolePermissions = operation({
  ...viewed,
  id: 'getRolePermissions',
  method: 'GET',
  path: '/roles/:id/permissions',
  summary: 'Get the permissions of a role',
  params: ById,
  answers: { 200: single(Held), ...errors('role.not_found') },
  handle: async ({ services, scope, params }) => present(await services.roles.permissions(scope, params.id)),
});

export const setRolePermissions = operation({
  ...managed,
  id: 'setRolePermissions',
  method: 'PUT',
  path: '/roles/:id/permissions',
  summary: 'Replace the permissions of a role',
  description: 'Callers can only add permissions that they hold themselves. System roles are read-only.',
  retriedWithoutAccess: true,
  params: ById,
  ifMatch: 'required',
  body: Body({ permission_keys: PermissionKeys }),
  events: ['role.updated'],
  answers: {
    200: single(Held),
    ...errors('role.not_found', 'role.system', 'role.cannot_grant', 'version.conflict', 'validation.failed'),
  },
  exists: ({ services, scope, params }) => services.roles.get(scope, params.id),
  handle: async ({ services, scope, caller, params, version, body }) =>
    present(
      await services.roles
        .setPermissions(scope, caller, { id: params.id, version, permissionKeys: body.permission_keys })
        .catch(conflictAs((current: Parameters<typeof present>[0]) => present(current).data)),
    ),
});
