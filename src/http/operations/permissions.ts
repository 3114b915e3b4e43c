import { Type } from 'typebox';
import type { Permission } from '../../../entities/permission.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import {
  Body,
  ById,
  Description,
  Id,
  line,
  listOf,
  Name,
  Nullable,
  OneOf,
  Resource,
  single,
  Timestamp,
} from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';
import { conflictAs } from '../surfaces/version-conflict.js';

/** `resource.action`; the resource may contain a colon, as in `billing:invoice.read`. */
export const PermissionKey = Type.String({
  pattern: worded('^[a-z][a-z0-9_:-]*(\\.[a-z0-9][a-z0-9_-]*)+$', 'must be like invoice.view, in lower case'),
  minLength: 3,
  maxLength: 150,
  description: 'Has the form `resource.action`.',
});

/** Trimmed like a name. */
const Category = Nullable(line(100, 'Null: what stands before the first dot of the key, as where none is sent.'));

export const PermissionView = Resource('Permission', {
  id: Id,
  application_id: Id,
  key: Type.String(),
  name: Type.String(),
  description: Nullable(Type.String()),
  category: Type.String(),
  source: OneOf(['system', 'custom']),
  created_at: Timestamp,
  version: Type.Integer(),
});

export const presentPermission = (permission: Permission) => ({
  id: permission.id,
  application_id: permission.applicationId,
  key: permission.key,
  name: permission.name,
  description: permission.description,
  category: permission.category,
  source: permission.source,
  created_at: permission.createdAt,
  version: permission.version,
});

const common = { tag: 'Permissions', level: 'environment' } as const;
const viewed = { ...common, permission: 'rbac.view_roles', capability: 'env_permissions.view' } as const;
const managed = { ...common, permission: 'rbac.manage_roles', capability: 'env_permissions.manage' } as const;

export const listPermissions = operation({
  ...viewed,
  id: 'listPermissions',
  method: 'GET',
  path: '/permissions',
  summary: 'List permissions',
  description:
    'Returns the permissions of the service (`system`) and those registered by applications. `q` searches key and name.',
  query: listQuery(['created_at', 'key', 'name'], {
    key: Type.Optional(Type.String({ maxLength: 150 })),
    category: Type.Optional(Type.String({ maxLength: 100 })),
    source: Type.Optional(OneOf(['system', 'custom'])),
  }),
  answers: { 200: listOf(PermissionView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, ...page } }) =>
    paginated(await services.permissionCatalog.list(scope, { ...page, sortBy }), presentPermission),
});

export const registerPermission = operation({
  ...managed,
  id: 'registerPermission',
  method: 'POST',
  path: '/permissions',
  summary: 'Register a permission',
  body: Body({
    key: PermissionKey,
    name: Name,
    description: Type.Optional(Description),
    category: Type.Optional(Category),
  }),
  events: ['permission.created'],
  answers: { 201: single(PermissionView), ...errors('permission.key_taken', 'validation.failed') },
  handle: async ({ services, scope, body: { key, name, description, category } }) => ({
    data: presentPermission(
      await services.permissionCatalog.create(scope, {
        key,
        name: name.trim(),
        description: description ?? null,
        category: category?.trim() ?? null,
      }),
    ),
  }),
});

export const getPermission = operation({
  ...viewed,
  id: 'getPermission',
  method: 'GET',
  path: '/permissions/:id',
  summary: 'Get a permission',
  params: ById,
  answers: { 200: single(PermissionView), ...errors('permission.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presentPermission(await services.permissionCatalog.get(scope, params.id)),
  }),
});

export const updatePermission = operation({
  ...managed,
  id: 'updatePermission',
  method: 'PATCH',
  path: '/permissions/:id',
  summary: 'Update a registered permission',
  description: 'The key cannot be changed, because applications refer to it. System permissions are read-only.',
  params: ById,
  ifMatch: 'required',
  body: Body({
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    category: Type.Optional(Category),
  }),
  events: ['permission.updated'],
  answers: { 200: single(PermissionView), ...errors('permission.not_found', 'permission.system', 'version.conflict') },
  exists: ({ services, scope, params }) => services.permissionCatalog.get(scope, params.id),
  async handle({ services, scope, params, version, body: { name, category, ...rest } }) {
    const changes = definedOnly({ name: name?.trim(), category: category === null ? null : category?.trim(), ...rest });
    const updated = await services.permissionCatalog
      .update(scope, params.id, version, changes)
      .catch(conflictAs(presentPermission));
    return { data: presentPermission(updated) };
  },
});

export const removePermission = operation({
  ...managed,
  id: 'removePermission',
  method: 'DELETE',
  path: '/permissions/:id',
  summary: 'Delete a registered permission',
  description: 'It is removed from every role that holds it; `usage` lists them.',
  params: ById,
  ifMatch: 'required',
  events: ['permission.deleted', 'role.updated'],
  answers: { 204: Type.Null(), ...errors('permission.not_found', 'permission.system', 'version.conflict') },
  exists: ({ services, scope, params }) => services.permissionCatalog.get(scope, params.id),
  handle: ({ services, scope, params, version }) =>
    services.permissionCatalog.remove(scope, params.id, version).catch(conflictAs(presentPermission)),
});

export const getPermissionUsage = operation({
  ...viewed,
  id: 'getPermissionUsage',
  method: 'GET',
  path: '/permissions/:id/usage',
  summary: 'List the roles that hold a permission',
  params: ById,
  answers: {
    200: Type.Object({
      items: Type.Array(
        Resource('PermissionUse', {
          id: Id,
          name: Type.String(),
          is_system_role: Type.Boolean(),
          assignment_count: Type.Integer({ description: 'Assignments of the role, now or in the future.' }),
        }),
      ),
    }),
    ...errors('permission.not_found'),
  },
  handle: async ({ services, scope, params }) => ({
    items: (await services.permissionCatalog.usage(scope, params.id)).map((use) => ({
      id: use.id,
      name: use.name,
      is_system_role: use.isSystemRole,
      assignment_count: use.assignmentCount,
    })),
  }),
});
