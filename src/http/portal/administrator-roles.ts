import { Type } from 'typebox';
import type { ShownRole } from '../../domain/accounts/roles.js';
import { capabilities } from '../../domain/capabilities/administrator-roles.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { listQuery, paginated } from '../surfaces/lists.js';
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
import { adminCallerOf } from './admin-caller.js';

const ordered = { description: 'A set: returned in an order of its own, not in that in which it was sent.' };
const Capabilities = Type.Array(OneOf(capabilities, { title: 'Capability' }), {
  uniqueItems: true,
  maxItems: capabilities.length,
  ...ordered,
});
const RoleView = Resource('AdministratorRole', {
  id: Id,
  name: Type.String(),
  description: Nullable(Type.String()),
  capabilities: Type.Array(Type.String(), ordered),
  is_system_role: Type.Boolean({ description: 'Built in: the same in every account, and read-only.' }),
  system_key: Nullable(OneOf(['owner', 'admin', 'developer', 'support', 'viewer'])),
  created_at: Timestamp,
  updated_at: Timestamp,
});

const present = (role: ShownRole) => ({
  id: role.id,
  name: role.name,
  description: role.description,
  capabilities: role.capabilities,
  is_system_role: role.systemKey !== null,
  system_key: role.systemKey,
  created_at: role.createdAt,
  updated_at: role.updatedAt,
});

const common = { tag: 'Administrator roles', level: 'account' } as const;

export const listAdministratorRoles = operation({
  ...common,
  id: 'listAdministratorRoles',
  method: 'GET',
  path: '/administrator-roles',
  summary: 'List administrator roles',
  description:
    'Includes the built-in roles (Owner, Admin, Developer, Support, Viewer) and those of the account. `q` searches the name.',
  capability: 'members.view',
  query: listQuery(['created_at', 'name']),
  answers: { 200: listOf(RoleView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, ...page } }) =>
    paginated(await services.administratorRoles.list(scope, { ...page, sortBy }), present),
});

export const createAdministratorRole = operation({
  ...common,
  id: 'createAdministratorRole',
  method: 'POST',
  path: '/administrator-roles',
  summary: 'Create an administrator role',
  description: 'Only with capabilities that you hold in the whole account. Names must differ in more than case.',
  capability: 'members.manage',
  body: Body({ name: Name, description: Type.Optional(Description), capabilities: Capabilities }),
  events: ['administrator_role.created'],
  answers: {
    201: single(RoleView),
    ...errors('administrator_role.cannot_grant', 'administrator_role.name_taken', 'validation.failed'),
  },
  async handle({ services, scope, caller, body }) {
    const input = { ...body, name: body.name.trim(), description: body.description ?? null };
    return { data: present(await services.administratorRoles.create(scope, adminCallerOf(caller).userId, input)) };
  },
});

export const getAdministratorRole = operation({
  ...common,
  id: 'getAdministratorRole',
  method: 'GET',
  path: '/administrator-roles/:id',
  summary: 'Get an administrator role',
  capability: 'members.view',
  params: ById,
  answers: { 200: single(RoleView), ...errors('administrator_role.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: present(await services.administratorRoles.get(scope, params.id)),
  }),
});

export const updateAdministratorRole = operation({
  ...common,
  id: 'updateAdministratorRole',
  method: 'PATCH',
  path: '/administrator-roles/:id',
  summary: 'Update an administrator role',
  description:
    'Takes effect for everyone who holds it from their next request. You can only add capabilities that you hold in the ' +
    'whole account. Built-in roles are read-only.',
  capability: 'members.manage',
  retriedWithoutAccess: true,
  params: ById,
  body: Body({
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    capabilities: Type.Optional(Capabilities),
  }),
  exists: ({ services, scope, params }) => services.administratorRoles.get(scope, params.id),
  events: ['administrator_role.updated'],
  answers: {
    200: single(RoleView),
    ...errors(
      'administrator_role.cannot_grant',
      'administrator_role.not_found',
      'administrator_role.built_in',
      'administrator_role.name_taken',
      'validation.failed',
    ),
  },
  async handle({ services, scope, caller, params, body }) {
    const changes = definedOnly({
      name: body.name?.trim(),
      description: body.description,
      capabilities: body.capabilities,
    });
    const { userId } = adminCallerOf(caller);
    return { data: present(await services.administratorRoles.update(scope, userId, params.id, changes)) };
  },
});

export const deleteAdministratorRole = operation({
  ...common,
  id: 'deleteAdministratorRole',
  method: 'DELETE',
  path: '/administrator-roles/:id',
  summary: 'Delete an administrator role',
  description: 'Refused while a member holds it or a pending invite offers it. Built-in roles cannot be deleted.',
  capability: 'members.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.administratorRoles.get(scope, params.id),
  events: ['administrator_role.deleted'],
  answers: {
    204: Type.Null(),
    ...errors('administrator_role.not_found', 'administrator_role.built_in', 'administrator_role.in_use'),
  },
  handle: ({ services, scope, caller, params }) =>
    services.administratorRoles.remove(scope, adminCallerOf(caller).userId, params.id),
});
