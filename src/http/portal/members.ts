import { Type } from 'typebox';
import type { Member } from '../../domain/accounts/members.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, ById, Id, listOf, OneOf, Resource, single, Timestamp } from '../surfaces/schemas.js';
import { adminCallerOf } from './admin-caller.js';
import { Limits, WantedLimits } from './role-limits.js';

const MemberView = Resource('Administrator', {
  id: Id,
  user_id: Id,
  email: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  roles: Type.Array(Resource('AdministratorRoleHeld', { role_id: Id, name: Type.String(), limits: Limits })),
  mfa_enrolled: Type.Boolean({ description: 'Whether the administrator has a second factor.' }),
  sso_available: Type.Boolean({
    description:
      'Whether an active SSO connection of the account is there for their email address. With `require_sso`, others get ' +
      'in only as Owners.',
  }),
  status: OneOf(['active'], { description: 'Somebody who has not accepted yet is an invite, not a member.' }),
  created_at: Timestamp,
});

const present = ({ id, user, roles, mfaEnrolled, ssoAvailable, createdAt }: Member) => ({
  id,
  user_id: user.id,
  email: user.email,
  first_name: user.firstName,
  last_name: user.lastName,
  roles: roles.map(({ roleId, name, limits }) => ({ role_id: roleId, name, limits })),
  mfa_enrolled: mfaEnrolled,
  sso_available: ssoAvailable,
  status: 'active' as const,
  created_at: createdAt,
});

const common = { tag: 'Members', level: 'account' } as const;

export const listMembers = operation({
  ...common,
  id: 'listMembers',
  method: 'GET',
  path: '/members',
  summary: 'List the administrators of the account',
  description: '`q` searches email and name.',
  capability: 'members.view',
  query: listQuery(['created_at', 'email', 'last_name'], { role_id: Type.Optional(Id) }),
  answers: { 200: listOf(MemberView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, role_id: roleId, ...page } }) =>
    paginated(await services.accountMembers.list(scope, { ...page, sortBy, ...(roleId && { roleId }) }), present),
});

export const getMember = operation({
  ...common,
  id: 'getMember',
  method: 'GET',
  path: '/members/:id',
  summary: 'Get an administrator of the account',
  capability: 'members.view',
  params: ById,
  answers: { 200: single(MemberView), ...errors('member.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: present(await services.accountMembers.get(scope, params.id)),
  }),
});

export const updateMember = operation({
  ...common,
  id: 'updateMember',
  method: 'PATCH',
  path: '/members/:id',
  summary: 'Replace the roles of an administrator',
  description:
    'Takes effect from the next request on. You can only grant rights that you hold yourself wherever the role is to ' +
    'apply; a role that the member already holds with the same limits is exempt. Only Owners can add, change or remove ' +
    'Owners, and an account must keep at least one member who holds the Owner role without limits.',
  capability: 'members.manage',
  retriedWithoutAccess: true,
  params: ById,
  body: Body({
    roles: Type.Array(Body({ role_id: Id, limits: Type.Optional(WantedLimits) }, 'AdministratorRoleToHold'), {
      minItems: 1,
      maxItems: 50,
    }),
  }),
  exists: ({ services, scope, params }) => services.accountMembers.get(scope, params.id),
  events: ['member.updated'],
  answers: {
    200: single(MemberView),
    ...errors(
      'administrator_role.cannot_grant',
      'member.owner_required',
      'member.not_found',
      'member.last_owner',
      'validation.failed',
    ),
  },
  async handle({ services, scope, caller, params, body }) {
    const { userId } = adminCallerOf(caller);
    const roles = body.roles.map(({ role_id: roleId, limits }) => ({ roleId, limits }));
    return { data: present(await services.accountMembers.update(scope, userId, params.id, roles)) };
  },
});

export const removeMember = operation({
  ...common,
  id: 'removeMember',
  method: 'DELETE',
  path: '/members/:id',
  summary: 'Remove an administrator from the account',
  description:
    'Ends their access to the account immediately; their sign-in and their other accounts are not affected. A pending ' +
    'invite to their email address is revoked. Only Owners can remove Owners, and the last one cannot be removed.',
  capability: 'members.manage',
  retriedWithoutAccess: true,
  params: ById,
  exists: ({ services, scope, params }) => services.accountMembers.get(scope, params.id),
  events: ['member.removed', 'administrator_invite.revoked'],
  answers: { 204: Type.Null(), ...errors('member.owner_required', 'member.not_found', 'member.last_owner') },
  handle: ({ services, scope, caller, params }) =>
    services.accountMembers.remove(scope, adminCallerOf(caller).userId, params.id),
});

export const resetMemberMfa = operation({
  ...common,
  id: 'resetMemberMfa',
  method: 'POST',
  path: '/members/:id/mfa/reset',
  summary: 'Reset the second factors of an administrator',
  description:
    'Removes their second factors and recovery codes, ends all their sessions, and notifies them by email; they sign in ' +
    'and enroll again. Only Owners can reset Owners, and nobody can reset themselves. Second factors belong to the ' +
    'person and not to the account: those of a person who also administers other accounts cannot be reset ' +
    '(`member.in_other_accounts`).',
  capability: 'members.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.accountMembers.get(scope, params.id),
  events: ['member.mfa_reset'],
  answers: {
    200: single(MemberView),
    ...errors('member.owner_required', 'mfa.own_factors', 'member.not_found', 'member.in_other_accounts'),
  },
  handle: async ({ services, scope, caller, params }) => ({
    data: present(await services.resetMemberMfa(scope, adminCallerOf(caller).userId, params.id)),
  }),
});
