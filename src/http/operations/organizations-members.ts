import { Type } from 'typebox';
import type { Member } from '../../domain/organizations/memberships.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { goesFar, listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Id, listOf, Resource, single } from '../surfaces/schemas.js';
import { AssignedRoleView, PersonFields, personSorts, presentAssignedRole, presentPerson } from './identity-rows.js';
import { managed, ofOne, viewing } from './organization-views.js';

const MemberView = Resource('OrganizationMember', {
  identity_id: Id,
  ...PersonFields,
  is_active: Type.Boolean({ description: 'Whether the identity is active in the environment.' }),
  role_ids: Type.Array(Id, { description: 'The IDs of `roles`, each once.' }),
  roles: Type.Array(AssignedRoleView, { description: "Held at the organization's node, now or in the future." }),
  created_at: Type.String({ format: 'date-time', description: 'When the identity became a member.' }),
});

const presentMember = ({ identity, membership, roles, joinedAt }: Member) => ({
  identity_id: identity.id,
  ...presentPerson(identity),
  is_active: membership.isActive,
  role_ids: [...new Set(roles.map(({ roleId }) => roleId))],
  roles: roles.map(presentAssignedRole),
  created_at: joinedAt,
});

const RoleIds = Type.Array(Id, { maxItems: 100, uniqueItems: true });
const ofMember = {
  ...ofOne,
  ...managed,
  params: Type.Object({ id: Id, identity_id: Id }),
  exists: ({ services, scope, params }: Exists) => services.memberships.get(scope, idsOf(params)),
} as const;
interface Exists {
  services: Services;
  scope: EnvironmentScope;
  params: { id: string; identity_id: string };
}
const idsOf = (params: Exists['params']) => ({ organizationId: params.id, identityId: params.identity_id });

const rule =
  "Assigning roles requires `rbac.assign_roles` and every permission of the roles at the organization's node; removing " +
  'them requires `rbac.assign_roles` there (administrators: `env_roles.manage`).';
const refusals = ['organization.not_found', 'role.not_found', 'role.cannot_grant'] as const;

export const listOrganizationMembers = operation({
  ...ofOne,
  ...managed,
  capability: viewing.capability,
  id: 'listOrganizationMembers',
  method: 'GET',
  path: '/organizations/:id/members',
  summary: 'List the members of an organization',
  description: '`q` searches first name, last name and email.',
  query: listQuery(personSorts),
  answers: { 200: listOf(MemberView), ...errors('organization.not_found') },
  isBroad: goesFar,
  async handle({ services, scope, params, query: { sort_by: sortBy, ...page } }) {
    return paginated(await services.memberships.list(scope, params.id, { ...page, sortBy }), presentMember);
  },
});

export const addOrganizationMember = operation({
  ...ofOne,
  ...managed,
  id: 'addOrganizationMember',
  method: 'POST',
  path: '/organizations/:id/members',
  summary: 'Add a member to an organization',
  description:
    "Adds an identity of the environment, with these roles at the organization's node. Callers who manage only a part of " +
    `the tree, and may not read all identities, can add members of organizations in that part, and invite others. ${rule}`,
  body: Body({ identity_id: Id, role_ids: Type.Optional(RoleIds) }),
  events: ['organization.member_added', 'role_assignment.created'],
  answers: {
    201: single(MemberView),
    ...errors(...refusals, 'identity.not_found', 'organization.already_member'),
  },
  async handle({ services, scope, caller, params, body }) {
    await services.assertNoStranger(scope, caller, body.identity_id);
    const member = { organizationId: params.id, identityId: body.identity_id, roleIds: body.role_ids ?? [] };
    return { data: presentMember(await services.memberships.add(scope, caller, member)) };
  },
});

export const getOrganizationMember = operation({
  ...ofMember,
  capability: viewing.capability,
  id: 'getOrganizationMember',
  method: 'GET',
  path: '/organizations/:id/members/:identity_id',
  summary: 'Get a member of an organization',
  answers: { 200: single(MemberView), ...errors('organization.not_found', 'organization.member_not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presentMember(await services.memberships.get(scope, idsOf(params))),
  }),
});

export const updateOrganizationMember = operation({
  ...ofMember,
  id: 'updateOrganizationMember',
  method: 'PATCH',
  path: '/organizations/:id/members/:identity_id',
  summary: 'Update the roles of a member',
  description:
    "Replaces the roles held at the organization's node. Roles that the member already holds keep their time window; all " +
    `others are removed, and new ones have no time limit. Roles at other nodes are not changed. ${rule}`,
  retriedWithoutAccess: true,
  body: Body({ role_ids: RoleIds }),
  events: ['organization.member_updated', 'role_assignment.created', 'role_assignment.deleted'],
  answers: { 200: single(MemberView), ...errors(...refusals, 'organization.member_not_found') },
  async handle({ services, scope, caller, params, body }) {
    const member = { ...idsOf(params), roleIds: body.role_ids };
    return { data: presentMember(await services.memberships.setRoles(scope, caller, member)) };
  },
});

export const removeOrganizationMember = operation({
  ...ofMember,
  id: 'removeOrganizationMember',
  method: 'DELETE',
  path: '/organizations/:id/members/:identity_id',
  summary: 'Remove a member from an organization',
  description:
    "Their roles at the organization's node and below it are removed too, except in an organization further down of " +
    'which they are also a member. A pending invitation of the organization to their email address is revoked. They stay ' +
    'in the environment, with their roles elsewhere and above.',
  retriedWithoutAccess: true,
  events: [
    'organization.member_removed',
    'organization.invitation_expired',
    'organization.invitation_revoked',
    'role_assignment.deleted',
  ],
  answers: { 204: Type.Null(), ...errors('organization.not_found', 'organization.member_not_found') },
  handle: ({ services, scope, params }) => services.memberships.remove(scope, idsOf(params)),
});
