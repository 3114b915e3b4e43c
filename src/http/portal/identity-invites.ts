import { Type } from 'typebox';
import type { AccountScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import {
  IdentityInvitesQuery,
  IdentityInvitesSummaryView,
  IdentityInviteView,
  leadingInto,
  presentIdentityInvite,
  presentSummary,
  resendingInvite,
  revokingInvite,
} from '../operations/identity-invite-views.js';
import { always, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, ById, Email, Id, listOf, Name, Nullable, noneIsNull, OneOf, single } from '../surfaces/schemas.js';

const common = { tag: 'Identity invites', level: 'account', capability: 'identities.view' } as const;

export const listAccountIdentityInvites = operation({
  ...common,
  id: 'listAccountIdentityInvites',
  method: 'GET',
  path: '/identity-invites',
  summary: 'List the identity invites of an account',
  description: 'Covers all environments. `q` searches name and email.',
  query: IdentityInvitesQuery,
  answers: { 200: listOf(IdentityInviteView) },
  handle: async ({ services, scope: { accountId }, query: { sort_by: sortBy, environment_id, ...page } }) =>
    paginated(
      await services.identityInvites.list({ accountId }, { ...page, sortBy }, noneIsNull(environment_id)),
      presentIdentityInvite(services),
    ),
});

export const getAccountIdentityInvitesSummary = operation({
  ...common,
  id: 'getAccountIdentityInvitesSummary',
  method: 'GET',
  path: '/identity-invites/summary',
  summary: 'Count the identity invites of an account',
  description: 'By current status, over the invites in the list with the same `environment_id`.',
  query: Type.Object(leadingInto, { additionalProperties: false }),
  answers: { 200: single(IdentityInvitesSummaryView) },
  isBroad: always,
  handle: async ({ services, scope: { accountId }, query: { environment_id } }) => ({
    data: presentSummary(await services.identityInvites.summary({ accountId }, noneIsNull(environment_id))),
  }),
});

const changing = { ...common, capability: 'identities.manage' } as const;
const ofOne = {
  params: ById,
  exists: ({ services, scope, params }: { services: Services; scope: AccountScope; params: { id: string } }) =>
    services.accountIdentityInvites.get(scope, params.id),
} as const;

export const createAccountIdentityInvite = operation({
  ...changing,
  id: 'createAccountIdentityInvite',
  method: 'POST',
  path: '/identity-invites',
  summary: 'Invite an end user to the directory of an account',
  description:
    'Emails a link, valid for seven days unless configured otherwise, that leads only into the directory, without a ' +
    'membership. The email and the page have the branding, and passwords must meet the rules, of the environment in ' +
    '`environment_id`; without one, of the oldest production environment, or else of the oldest environment. To invite ' +
    'somebody to an environment, create the invite there.',
  body: Body({
    email: Email,
    first_name: Type.Optional(Nullable(Name)),
    last_name: Type.Optional(Nullable(Name)),
    locale: Type.Optional(
      OneOf(['en', 'de'], { description: "The language of the emails; without one, the environment's." }),
    ),
    environment_id: Type.Optional(Id),
  }),
  events: ['identity_invite.created', 'identity_invite.expired'],
  answers: {
    201: single(IdentityInviteView),
    ...errors(
      'identity_invite.already_member',
      'identity_invite.already_pending',
      'environment.not_found',
      'validation.failed',
    ),
  },
  handle: async ({ services, scope, caller, body }) => ({
    data: presentIdentityInvite(services)(
      await services.accountIdentityInvites.create(scope, caller, {
        email: body.email,
        firstName: body.first_name?.trim() ?? null,
        lastName: body.last_name?.trim() ?? null,
        locale: body.locale,
        environmentId: body.environment_id,
      }),
    ),
  }),
});

export const getAccountIdentityInvite = operation({
  ...common,
  ...ofOne,
  id: 'getAccountIdentityInvite',
  method: 'GET',
  path: '/identity-invites/:id',
  summary: 'Get an identity invite of an account',
  description: 'Returns an invite of any environment. Invitations to organizations are read in the organization.',
  answers: { 200: single(IdentityInviteView), ...errors('identity_invite.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presentIdentityInvite(services)(await services.accountIdentityInvites.get(scope, params.id)),
  }),
});

export const resendAccountIdentityInvite = operation({
  ...changing,
  ...ofOne,
  ...resendingInvite,
  id: 'resendAccountIdentityInvite',
  summary: 'Resend an identity invite of an account',
  handle: async ({ services, scope, caller, params }) => ({
    data: presentIdentityInvite(services)(await services.accountIdentityInvites.resend(scope, caller, params.id)),
  }),
});

export const revokeAccountIdentityInvite = operation({
  ...changing,
  ...ofOne,
  ...revokingInvite,
  id: 'revokeAccountIdentityInvite',
  summary: 'Revoke a pending identity invite of an account',
  handle: async ({ services, scope, params }) => ({
    data: presentIdentityInvite(services)(await services.accountIdentityInvites.revoke(scope, params.id)),
  }),
});
