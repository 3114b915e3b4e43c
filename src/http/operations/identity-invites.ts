import { Type } from 'typebox';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { always, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, ById, Id, listOf, Name, Nullable, noneIsNull, OneOf, single } from '../surfaces/schemas.js';
import { Address, changing, viewing } from './identities-views.js';
import {
  IdentityInvitesQuery,
  IdentityInvitesSummaryView,
  IdentityInviteView,
  presentIdentityInvite,
  presentSummary,
  resendingInvite,
  revokingInvite,
} from './identity-invite-views.js';

const common = { tag: 'Identity invites', level: 'environment' } as const;
const ofOne = {
  ...common,
  params: ById,
  exists: ({ services, scope, params }: { services: Services; scope: EnvironmentScope; params: { id: string } }) =>
    services.identityInvites.get(scope, params.id),
} as const;

export const listIdentityInvites = operation({
  ...common,
  ...viewing,
  id: 'listIdentityInvites',
  method: 'GET',
  path: '/identity-invites',
  summary: 'List identity invites',
  description:
    'Invites created in this environment, whether they lead into it or only into the directory of the account. `q` ' +
    'searches name and email. Invitations to organizations have lists of their own. An invite is kept for 90 days after ' +
    'it ends.',
  query: IdentityInvitesQuery,
  answers: { 200: listOf(IdentityInviteView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, environment_id, ...page } }) =>
    paginated(
      await services.identityInvites.list(scope, { ...page, sortBy }, noneIsNull(environment_id)),
      presentIdentityInvite(services),
    ),
});

export const getIdentityInvitesSummary = operation({
  ...common,
  ...viewing,
  id: 'getIdentityInvitesSummary',
  method: 'GET',
  path: '/identity-invites/summary',
  summary: 'Count identity invites',
  description: 'By current status, over all invites created in this environment.',
  answers: { 200: single(IdentityInvitesSummaryView) },
  isBroad: always,
  handle: async ({ services, scope }) => ({ data: presentSummary(await services.identityInvites.summary(scope)) }),
});

export const createIdentityInvite = operation({
  ...common,
  ...changing,
  id: 'createIdentityInvite',
  method: 'POST',
  path: '/identity-invites',
  summary: 'Invite an end user',
  description:
    'Emails a link, valid for seven days unless configured otherwise. With the intent `activate` it leads into this ' +
    'environment; with `directory`, only into the directory of the account, without a membership. `role_id` is assigned ' +
    'on acceptance, at `node_id` or at the root without one; this requires `rbac.assign_roles` and every permission of ' +
    'the role there. Only one invite per email address can be pending. Whoever is in the environment (or the directory) ' +
    'already, active or not, cannot be invited.',
  body: Body({
    intent: Type.Optional(OneOf(['activate', 'directory'], { default: 'activate' })),
    email: Address,
    first_name: Type.Optional(Nullable(Name)),
    last_name: Type.Optional(Nullable(Name)),
    role_id: Type.Optional(Nullable(Id)),
    node_id: Type.Optional(Nullable(Type.String({ format: 'uuid', description: 'Only with `role_id`.' }))),
    locale: Type.Optional(
      OneOf(['en', 'de'], { description: "The language of the emails; without one, the environment's." }),
    ),
  }),
  events: ['identity_invite.created', 'identity_invite.expired'],
  answers: {
    201: single(IdentityInviteView),
    ...errors(
      'identity_invite.already_member',
      'identity_invite.already_pending',
      'role.cannot_grant',
      'role.not_found',
      'nodes.node_not_found',
      'validation.failed',
    ),
  },
  handle: async ({ services, scope, caller, body }) => ({
    data: presentIdentityInvite(services)(
      await services.identityInvites.create(scope, caller, {
        intent: body.intent ?? 'activate',
        email: body.email,
        firstName: body.first_name?.trim() ?? null,
        lastName: body.last_name?.trim() ?? null,
        roleId: body.role_id ?? null,
        nodeId: body.node_id ?? null,
        locale: body.locale,
      }),
    ),
  }),
});

export const getIdentityInvite = operation({
  ...ofOne,
  ...viewing,
  id: 'getIdentityInvite',
  method: 'GET',
  path: '/identity-invites/:id',
  summary: 'Get an identity invite',
  answers: { 200: single(IdentityInviteView), ...errors('identity_invite.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presentIdentityInvite(services)(await services.identityInvites.get(scope, params.id)),
  }),
});

export const resendIdentityInvite = operation({
  ...ofOne,
  ...changing,
  ...resendingInvite,
  id: 'resendIdentityInvite',
  summary: 'Resend an identity invite',
  handle: async ({ services, scope, caller, params }) => ({
    data: presentIdentityInvite(services)(await services.identityInvites.resend(scope, caller, params.id)),
  }),
});

export const revokeIdentityInvite = operation({
  ...ofOne,
  ...changing,
  ...revokingInvite,
  id: 'revokeIdentityInvite',
  summary: 'Revoke a pending identity invite',
  handle: async ({ services, scope, params }) => ({
    data: presentIdentityInvite(services)(await services.identityInvites.revoke(scope, params.id)),
  }),
});
