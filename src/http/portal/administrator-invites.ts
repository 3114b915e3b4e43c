import { Type } from 'typebox';
import type { ShownInvite } from '../../domain/administrator-invites/administrator-invites.js';
import { notAcceptedInTime } from '../../domain/invites/times.js';
import { processOfInvite } from '../../domain/processes/any-invite.js';
import type { Services } from '../../services.js';
import { InviteState } from '../operations/invite-state.js';
import { ProcessOfResource, presentProcess } from '../operations/process-of-resource.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import {
  Body,
  ById,
  Email,
  Growing,
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
import { Limits, WantedLimits } from './role-limits.js';

const InviteView = Resource('AdministratorInvite', {
  id: Id,
  email: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  role_id: Nullable(Id),
  role_name: Nullable(Type.String()),
  limits: Limits,
  locale: OneOf(['en', 'de']),
  status: InviteState,
  ended_reason: Nullable(
    Growing(
      [notAcceptedInTime, 'revoked_by_administrator', 'cancelled_by_operator', 'member_removed'],
      'Why the invite has expired or was revoked.',
    ),
  ),
  expires_at: Timestamp,
  ended_at: Nullable(Timestamp),
  invited_by: Nullable(Type.String({ format: 'uuid', description: 'The user who created the invite.' })),
  member_id: Nullable(Type.String({ format: 'uuid', description: 'The member that was created by accepting it.' })),
  created_at: Timestamp,
  process: ProcessOfResource,
});

const presenter =
  ({ accountProcesses }: Pick<Services, 'accountProcesses'>) =>
  (invite: ShownInvite) => ({
    id: invite.id,
    email: invite.email,
    first_name: invite.firstName,
    last_name: invite.lastName,
    role_id: invite.roleId,
    role_name: invite.roleName,
    limits: invite.limits,
    locale: invite.locale,
    status: invite.status,
    ended_reason: reasonOf(invite),
    expires_at: invite.expiresAt,
    ended_at: invite.endedAt ?? (invite.status === 'expired' ? invite.expiresAt : null),
    invited_by: invite.invitedBy,
    member_id: invite.membershipId,
    created_at: invite.createdAt,
    process: presentProcess(accountProcesses.of(processOfInvite('invite', invite))),
  });

/** Returns why an invite ended; for an expired one also before a worker has stored that. */
const reasonOf = ({ status, endedReason }: ShownInvite) =>
  endedReason ?? (status === 'expired' ? notAcceptedInTime : null);

const common = { tag: 'Administrator invites', level: 'account' } as const;

export const listAdministratorInvites = operation({
  ...common,
  id: 'listAdministratorInvites',
  method: 'GET',
  path: '/administrator-invites',
  summary: 'List administrator invites',
  description: '`q` searches email and name.',
  capability: 'members.view',
  query: listQuery(['created_at', 'expires_at', 'email'], { status: Type.Optional(InviteState) }),
  answers: { 200: listOf(InviteView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, status, ...page } }) =>
    paginated(
      await services.administratorInvites.list(scope, { ...page, sortBy, ...(status && { status }) }),
      presenter(services),
    ),
});

export const createAdministratorInvite = operation({
  ...common,
  id: 'createAdministratorInvite',
  method: 'POST',
  path: '/administrator-invites',
  summary: 'Invite an administrator to the account',
  description:
    'Emails a link, valid for seven days unless configured otherwise, in the language of `locale`. You can only grant ' +
    'rights that you hold yourself wherever the role is to apply, and only Owners can invite Owners. Only one invite per ' +
    'email address can be pending.',
  capability: 'members.manage',
  body: Body({
    email: Email,
    first_name: Name,
    last_name: Name,
    role_id: Id,
    limits: Type.Optional(WantedLimits),
    locale: Type.Optional(OneOf(['en', 'de'], { default: 'en' })),
  }),
  events: ['administrator_invite.created', 'administrator_invite.expired'],
  answers: {
    201: single(InviteView),
    ...errors(
      'administrator_role.cannot_grant',
      'member.owner_required',
      'administrator_invite.already_pending',
      'member.already_member',
      'validation.failed',
    ),
  },
  async handle({ services, scope, caller, body }) {
    const { first_name: firstName, last_name: lastName, role_id: roleId, email, limits, locale = 'en' } = body;
    const person = { email, firstName: firstName.trim(), lastName: lastName.trim() };
    const wanted = { ...person, roleId, limits, locale };
    const { userId } = adminCallerOf(caller);
    return { data: presenter(services)(await services.administratorInvites.create(scope, userId, wanted)) };
  },
});

export const getAdministratorInvite = operation({
  ...common,
  id: 'getAdministratorInvite',
  method: 'GET',
  path: '/administrator-invites/:id',
  summary: 'Get an administrator invite',
  capability: 'members.view',
  params: ById,
  answers: { 200: single(InviteView), ...errors('administrator_invite.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presenter(services)(await services.administratorInvites.get(scope, params.id)),
  }),
});

export const resendAdministratorInvite = operation({
  ...common,
  id: 'resendAdministratorInvite',
  method: 'POST',
  path: '/administrator-invites/:id/resend',
  summary: 'Resend an administrator invite',
  description:
    'Emails a new link with the full lifetime; the previous link stops working immediately. An expired invite becomes ' +
    'pending again. The caller must hold the rights that the invite grants.',
  capability: 'members.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.administratorInvites.get(scope, params.id),
  events: ['administrator_invite.resent', 'administrator_invite.expired'],
  answers: {
    200: single(InviteView),
    ...errors(
      'administrator_role.cannot_grant',
      'member.owner_required',
      'administrator_invite.not_found',
      'administrator_invite.not_pending',
      'administrator_invite.role_deleted',
      'administrator_invite.already_pending',
      'member.already_member',
    ),
  },
  async handle({ services, scope, caller, params }) {
    const { userId } = adminCallerOf(caller);
    return { data: presenter(services)(await services.administratorInvites.resend(scope, userId, params.id)) };
  },
});

export const revokeAdministratorInvite = operation({
  ...common,
  id: 'revokeAdministratorInvite',
  method: 'POST',
  path: '/administrator-invites/:id/revoke',
  summary: 'Revoke a pending administrator invite',
  description: 'Its link stops working immediately.',
  capability: 'members.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.administratorInvites.get(scope, params.id),
  events: ['administrator_invite.revoked'],
  answers: {
    200: single(InviteView),
    ...errors('administrator_invite.not_found', 'administrator_invite.not_pending'),
  },
  async handle({ services, scope, caller, params }) {
    const { userId } = adminCallerOf(caller);
    return { data: presenter(services)(await services.administratorInvites.revoke(scope, userId, params.id)) };
  },
});
