import { Type } from 'typebox';
import type { CountedRole } from '../../domain/access/roles/lists.js';
import type { Caller } from '../../domain/caller.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { always, listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import {
  Body,
  ById,
  Description,
  Id,
  listOf,
  Name,
  Nullable,
  OneOf,
  Resource,
  single,
  Timestamp,
} from '../surfaces/schemas.js';
import { conflictAs } from '../surfaces/version-conflict.js';
import { PermissionKey } from './permissions.js';

export const PermissionKeys = Type.Array(PermissionKey, { maxItems: 1000, uniqueItems: true });

export const RoleView = Resource('Role', {
  id: Id,
  application_id: Id,
  name: Type.String(),
  description: Nullable(Type.String()),
  is_system_role: Type.Boolean(),
  system_key: Nullable(Type.String()),
  is_active: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: Type.Integer(),
  permission_count: Type.Integer(),
  member_count: Type.Integer({
    description:
      'Identities that hold the role anywhere, now or in the future. Callers who can see only a part of the tree get the ' +
      'number in that part.',
  }),
});

export const presentRole = (role: CountedRole) => ({
  id: role.id,
  application_id: role.applicationId,
  name: role.name,
  description: role.description,
  is_system_role: role.systemKey !== null,
  system_key: role.systemKey,
  is_active: role.isActive,
  created_at: role.createdAt,
  updated_at: role.updatedAt,
  version: role.version,
  permission_count: role.permissionCount,
  member_count: role.memberCount,
});

const common = { tag: 'Roles', level: 'environment' } as const;
/** Administrators of a part see roles too, since they assign them there. */
export const viewed = {
  ...common,
  permission: 'rbac.view_roles',
  capability: 'env_roles.view',
  inPart: true,
} as const;
export const managed = { ...common, permission: 'rbac.manage_roles', capability: 'env_roles.manage' } as const;

const partOf = ({ services, scope, caller }: { services: Services; scope: EnvironmentScope; caller: Caller }) =>
  services.rights.partOf(scope, caller, { permissions: [], capability: viewed.capability });

export const listRoles = operation({
  ...viewed,
  id: 'listRoles',
  method: 'GET',
  path: '/roles',
  summary: 'List roles',
  description: '`q` searches the name.',
  query: listQuery(['created_at', 'name', 'updated_at'], {
    name: Type.Optional(
      Type.String({ maxLength: 200, description: 'Only the role with this name, regardless of case.' }),
    ),
    status: Type.Optional(OneOf(['active', 'inactive'])),
    source: Type.Optional(OneOf(['system', 'custom'])),
  }),
  answers: { 200: listOf(RoleView) },
  isBroad: always,
  async handle({ query: { sort_by: sortBy, status, source, ...page }, ...context }) {
    const isActive = status && status === 'active';
    const isSystemRole = source && source === 'system';
    const { services, scope } = context;
    const meant = { ...page, sortBy, isActive, isSystemRole };
    return paginated(await services.roles.list(scope, meant, partOf(context)), presentRole);
  },
});

export const createRole = operation({
  ...managed,
  id: 'createRole',
  method: 'POST',
  path: '/roles',
  summary: 'Create a role',
  description: 'Callers can only include permissions that they hold themselves.',
  body: Body({
    name: Name,
    description: Type.Optional(Description),
    is_active: Type.Optional(Type.Boolean({ default: true })),
    permission_keys: Type.Optional(PermissionKeys),
  }),
  events: ['role.created'],
  answers: { 201: single(RoleView), ...errors('role.name_taken', 'role.cannot_grant', 'validation.failed') },
  handle: async ({ services, scope, caller, body }) => ({
    data: presentRole(
      await services.roles.create(scope, caller, {
        name: body.name.trim(),
        description: body.description ?? null,
        isActive: body.is_active ?? true,
        permissionKeys: body.permission_keys ?? [],
      }),
    ),
  }),
});

export const getRole = operation({
  ...viewed,
  id: 'getRole',
  method: 'GET',
  path: '/roles/:id',
  summary: 'Get a role',
  params: ById,
  answers: { 200: single(RoleView), ...errors('role.not_found') },
  handle: async ({ params, ...context }) => ({
    data: presentRole(await context.services.roles.get(context.scope, params.id, partOf(context))),
  }),
});

export const updateRole = operation({
  ...managed,
  id: 'updateRole',
  method: 'PATCH',
  path: '/roles/:id',
  summary: 'Update a role',
  description:
    'An inactive role grants nothing; callers can only activate a role whose permissions they hold themselves. System ' +
    'roles are read-only.',
  retriedWithoutAccess: true,
  params: ById,
  ifMatch: 'required',
  body: Body({
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    is_active: Type.Optional(Type.Boolean()),
  }),
  events: ['role.updated'],
  answers: {
    200: single(RoleView),
    ...errors('role.not_found', 'role.system', 'role.name_taken', 'role.cannot_grant', 'version.conflict'),
  },
  exists: ({ services, scope, params }) => services.roles.get(scope, params.id),
  async handle({ services, scope, caller, params, version, body }) {
    const changes = definedOnly({
      name: body.name?.trim(),
      description: body.description,
      isActive: body.is_active,
    });
    const updated = await services.roles
      .update(scope, caller, { id: params.id, version, changes })
      .catch(conflictAs(presentRole));
    return { data: presentRole(updated) };
  },
});

export const deleteRole = operation({
  ...managed,
  id: 'deleteRole',
  method: 'DELETE',
  path: '/roles/:id',
  summary: 'Delete a role',
  description:
    'Refused while an identity holds the role, or an SSO connection or a SCIM group mapping assigns it. System roles ' +
    'cannot be deleted.',
  params: ById,
  ifMatch: 'required',
  events: ['role.deleted', 'role_assignment.deleted'],
  answers: { 204: Type.Null(), ...errors('role.not_found', 'role.system', 'role.in_use', 'version.conflict') },
  exists: ({ services, scope, params }) => services.roles.get(scope, params.id),
  handle: ({ services, scope, params, version }) =>
    services.roles.remove(scope, params.id, version).catch(conflictAs(presentRole)),
});
