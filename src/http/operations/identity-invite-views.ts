import { Type } from 'typebox';
import { fullNameOf } from '../../domain/full-name.js';
import type { IdentityInvitesSummary, ListedInvite } from '../../domain/identity-invites/rows.js';
import { notAcceptedInTime } from '../../domain/invites/times.js';
import { processOfInvite } from '../../domain/processes/any-invite.js';
import { listQuery } from '../surfaces/lists.js';
import { errors } from '../surfaces/operation.js';
import { Id, idOrNone, Nullable, OneOf, Resource, single, Timestamp } from '../surfaces/schemas.js';
import { InviteState } from './invite-state.js';
import { type Presenting, ProcessOfResource, presentProcess } from './process-of-resource.js';

export const sorts = ['created_at', 'expires_at', 'email'] as const;

/** The fields that every kind of end user's invite has. */
export const InviteFields = {
  id: Id,
  email: Type.String(),
  first_name: Nullable(Type.String()),
  last_name: Nullable(Type.String()),
  name: Nullable(Type.String()),
  locale: OneOf(['en', 'de'], { description: 'The language of its emails.' }),
  status: InviteState,
  ended_reason: Nullable(
    Type.String({ description: 'Why the invite has expired or was revoked, for example `not_accepted_in_time`.' }),
  ),
  expires_at: Timestamp,
  ended_at: Nullable(Timestamp),
  invited_by: Type.String({
    format: 'uuid',
    description: 'The ID of the user, the identity or the API key that created it.',
  }),
  invited_by_type: OneOf(['platform_admin', 'identity', 'api_key']),
  identity_id: Nullable(Type.String({ format: 'uuid', description: 'The identity that accepted it.' })),
  created_at: Timestamp,
  process: ProcessOfResource,
};

export const presentInvite = ({ accountProcesses }: Presenting, invite: ListedInvite) => ({
  id: invite.id,
  email: invite.email,
  first_name: invite.firstName,
  last_name: invite.lastName,
  name: fullNameOf(invite),
  locale: invite.locale,
  status: invite.status,
  ended_reason: invite.endedReason ?? (invite.status === 'expired' ? notAcceptedInTime : null),
  expires_at: invite.expiresAt,
  ended_at: invite.endedAt ?? (invite.status === 'expired' ? invite.expiresAt : null),
  invited_by: invite.invitedBy,
  invited_by_type: invite.invitedByType,
  identity_id: invite.identityId,
  created_at: invite.createdAt,
  process: presentProcess(accountProcesses.of(processOfInvite('identity_invite', invite))),
});

export const IdentityInviteView = Resource('IdentityInvite', {
  ...InviteFields,
  intent: OneOf(['activate', 'directory']),
  role_id: Nullable(Type.String({ format: 'uuid', description: 'Assigned on acceptance.' })),
  node_id: Nullable(Type.String({ format: 'uuid', description: 'The node at which the role is assigned.' })),
  environment_id: Nullable(
    Type.String({ format: 'uuid', description: 'Null if the invite leads only into the directory of the account.' }),
  ),
  environment_name: Nullable(Type.String()),
  has_initial_assignment: Type.Boolean(),
});

/** The codes with which sending an invite again is refused, for both kinds. */
export const resendRefusals = [
  'identity_invite.not_found',
  'identity_invite.not_pending',
  'identity_invite.already_member',
  'identity_invite.already_pending',
  'identity_invite.role_deleted',
  'role.cannot_grant',
] as const;

/** Sending an invite again, and revoking one: what the operations of an Environment and of an Account share. */
export const resendingInvite = {
  method: 'POST',
  path: '/identity-invites/:id/resend',
  description:
    'Emails a new link with the full lifetime; the previous link stops working immediately. An expired invite becomes ' +
    'pending again. The offer of a role is renewed, which requires the same rights as assigning the role.',
  events: ['identity_invite.resent', 'identity_invite.expired'],
  answers: { 200: single(IdentityInviteView), ...errors(...resendRefusals) },
} as const;
export const revokingInvite = {
  method: 'POST',
  path: '/identity-invites/:id/revoke',
  description: 'Its link stops working immediately.',
  events: ['identity_invite.revoked'],
  answers: {
    200: single(IdentityInviteView),
    ...errors('identity_invite.not_found', 'identity_invite.not_pending'),
  },
} as const;

export const presentIdentityInvite = (services: Presenting) => (invite: ListedInvite) => {
  const leadsIn = invite.intent === 'activate';
  // No spread: in a literal that begins with one, V8 spends a microsecond on each member that follows.
  return Object.assign(presentInvite(services, invite), {
    intent: invite.intent,
    role_id: invite.roleIds[0] ?? null,
    node_id: invite.nodeId,
    environment_id: leadsIn ? invite.environmentId : null,
    environment_name: leadsIn ? invite.environmentName : null,
    has_initial_assignment: invite.roleIds.length > 0,
  });
};

export const leadingInto = {
  environment_id: Type.Optional(
    idOrNone('The environment that they lead into; `none`: only into the directory of the account.'),
  ),
};
export const IdentityInvitesQuery = listQuery(sorts, { status: Type.Optional(InviteState), ...leadingInto });

export const IdentityInvitesSummaryView = Resource('IdentityInvitesSummary', {
  total_invites: Type.Integer(),
  pending_count: Type.Integer(),
  pending_with_role_count: Type.Integer({ description: 'Pending invites with an initial role.' }),
  accepted_count: Type.Integer(),
  expired_count: Type.Integer(),
  revoked_count: Type.Integer(),
});

export const presentSummary = (summary: IdentityInvitesSummary) => ({
  total_invites: summary.total,
  pending_count: summary.pending,
  pending_with_role_count: summary.pendingWithRole,
  accepted_count: summary.accepted,
  expired_count: summary.expired,
  revoked_count: summary.revoked,
});
