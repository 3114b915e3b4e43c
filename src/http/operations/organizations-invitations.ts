import { Type } from 'typebox';
import type { ListedInvite } from '../../domain/identity-invites/rows.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Id, listOf, Name, Nullable, OneOf, Resource, single } from '../surfaces/schemas.js';
import { Address } from './identities-views.js';
import { InviteFields, presentInvite, resendRefusals, sorts } from './identity-invite-views.js';
import { InviteState } from './invite-state.js';
import { managed, ofOne, viewing } from './organization-views.js';
import type { Presenting } from './process-of-resource.js';

const InvitationView = Resource('OrganizationInvitation', {
  ...InviteFields,
  organization_id: Nullable(Id),
  role_ids: Type.Array(Id, { description: "Assigned on acceptance, at the organization's node." }),
});

const present = (services: Presenting) => (invitation: ListedInvite) =>
  Object.assign(presentInvite(services, invitation), {
    organization_id: invitation.organizationId,
    role_ids: invitation.roleIds,
  });

interface Exists {
  services: Services;
  scope: EnvironmentScope;
  params: { id: string; invitation_id: string };
}
const which = ({ id: organizationId, invitation_id: id }: Exists['params']) => ({ organizationId, id });
const ofInvitation = {
  ...ofOne,
  ...managed,
  params: Type.Object({ id: Id, invitation_id: Id }),
  exists: ({ services, scope, params }: Exists) => services.organizationInvitations.get(scope, which(params)),
} as const;

const rule =
  "Assigning roles requires `rbac.assign_roles` and every permission of the roles at the organization's node.";

export const listOrganizationInvitations = operation({
  ...ofOne,
  ...managed,
  capability: viewing.capability,
  id: 'listOrganizationInvitations',
  method: 'GET',
  path: '/organizations/:id/invitations',
  summary: 'List the invitations of an organization',
  description: '`q` searches name and email. An invitation is kept for 90 days after it ends.',
  query: listQuery(sorts, { status: Type.Optional(InviteState) }),
  answers: { 200: listOf(InvitationView), ...errors('organization.not_found') },
  handle: async ({ services, scope, params, query: { sort_by: sortBy, ...page } }) =>
    paginated(await services.organizationInvitations.list(scope, params.id, { ...page, sortBy }), present(services)),
});

export const createOrganizationInvitation = operation({
  ...ofOne,
  ...managed,
  id: 'createOrganizationInvitation',
  method: 'POST',
  path: '/organizations/:id/invitations',
  summary: 'Invite a person to an organization',
  description:
    'Emails a link, valid for seven days unless configured otherwise. Whoever accepts it becomes a member of the ' +
    'organization with these roles, and a member of the environment if they are not one yet. Only one invitation per ' +
    'email address and organization can be pending. A person who is deactivated in the environment is sent no email, and ' +
    'no link lets them in: resend the invitation once they are active. ' +
    rule,
  body: Body({
    email: Address,
    first_name: Type.Optional(Nullable(Name)),
    last_name: Type.Optional(Nullable(Name)),
    role_ids: Type.Optional(Type.Array(Id, { maxItems: 100, uniqueItems: true })),
    locale: Type.Optional(
      OneOf(['en', 'de'], { description: "The language of the emails; without one, the environment's." }),
    ),
  }),
  events: ['organization.invitation_created', 'organization.invitation_expired'],
  answers: {
    201: single(InvitationView),
    ...errors(
      'organization.not_found',
      'identity_invite.already_member',
      'identity_invite.already_pending',
      'role.cannot_grant',
      'role.not_found',
      'validation.failed',
    ),
  },
  handle: async ({ services, scope, caller, params, body }) => ({
    data: present(services)(
      await services.organizationInvitations.create(scope, caller, params.id, {
        email: body.email,
        firstName: body.first_name?.trim() ?? null,
        lastName: body.last_name?.trim() ?? null,
        roleIds: body.role_ids ?? [],
        locale: body.locale,
      }),
    ),
  }),
});

export const getOrganizationInvitation = operation({
  ...ofInvitation,
  capability: viewing.capability,
  id: 'getOrganizationInvitation',
  method: 'GET',
  path: '/organizations/:id/invitations/:invitation_id',
  summary: 'Get an invitation to an organization',
  answers: { 200: single(InvitationView), ...errors('organization.not_found', 'identity_invite.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: present(services)(await services.organizationInvitations.get(scope, which(params))),
  }),
});

export const resendOrganizationInvitation = operation({
  ...ofInvitation,
  id: 'resendOrganizationInvitation',
  method: 'POST',
  path: '/organizations/:id/invitations/:invitation_id/resend',
  summary: 'Resend an invitation to an organization',
  description:
    'Emails a new link with the full lifetime; the previous link stops working immediately. An expired invitation becomes ' +
    `pending again. The offer of roles is renewed. ${rule}`,
  events: ['organization.invitation_resent', 'organization.invitation_expired'],
  answers: {
    200: single(InvitationView),
    ...errors('organization.not_found', ...resendRefusals),
  },
  handle: async ({ services, scope, caller, params }) => ({
    data: present(services)(await services.organizationInvitations.resend(scope, caller, which(params))),
  }),
});

export const revokeOrganizationInvitation = operation({
  ...ofInvitation,
  id: 'revokeOrganizationInvitation',
  method: 'DELETE',
  path: '/organizations/:id/invitations/:invitation_id',
  summary: 'Revoke an invitation to an organization',
  description:
    'Its link stops working immediately. It stays in the list, as revoked. If it has already been accepted or revoked or ' +
    'has expired, nothing changes: a person who has accepted stays a member.',
  events: ['organization.invitation_revoked'],
  answers: {
    204: Type.Null(),
    ...errors('organization.not_found', 'identity_invite.not_found'),
  },
  handle: ({ services, scope, params }) => services.organizationInvitations.revoke(scope, which(params)),
});
