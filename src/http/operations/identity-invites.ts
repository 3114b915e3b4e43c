import { Type } from 'typebox';
import type { EnvironmentScope } from '../../domain/scope.js';
import type { Services } from '../../services.js';
import { always, paginated } from '../lists.js';
import { errors, operation } from '../operation.js';
import { Body, Id, listOf, Name, Nullable, noneIsNull, OneOf, single } from '../schemas.js';
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
  params: Type.Object({ id: Id }),
  exists: ({ services, scope, params }: { services: Services; scope: EnvironmentScope; params: { id: string } }) =>
    services.identityInvites.get(scope, params.id),
} as const;

export const listIdentityInvites = operation({
  ...common,
  ...viewing,
  id: 'listIdentityInvites',
  method: 'GET',
  path: '/identity-invites',
  summary: 'List invites',
  description:
    'Those that were made in this environment, whether they lead into it or into the directory of the account only. `q` ' +
    'searches name and email. Invitations into organizations are lists of their own. An invite is kept for 90 days after ' +
    'its end.',
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
  summary: 'Count invites',
  description: 'By status as of now; over all invites that were made in this environment.',
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
  summary: 'Invite somebody',
  description:
    'Mails a link, valid for seven days unless configured otherwise. With the intent `activate` it leads into this environment, with `directory` into ' +
    "the account's directory only, without a membership. `role_id` is given at acceptance, at `node_id` or at the root: for " +
    'that the caller needs `rbac.assign_roles` and every permission of the role there. One invite per address can be ' +
    'pending. Who is there already is not invited, whether active or not.',
  body: Body({
    intent: Type.Optional(OneOf(['activate', 'directory'], { default: 'activate' })),
    email: Address,
    first_name: Type.Optional(Nullable(Name)),
    last_name: Type.Optional(Nullable(Name)),
    role_id: Type.Optional(Nullable(Id)),
    node_id: Type.Optional(Nullable(Type.String({ format: 'uuid', description: 'Only with `role_id`.' }))),
    locale: Type.Optional(OneOf(['en', 'de'], { description: "Of the mails; without one, the environment's." })),
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
  summary: 'Read an invite',
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
  summary: 'Send an invite again',
  handle: async ({ services, scope, caller, params }) => ({
    data: presentIdentityInvite(services)(await services.identityInvites.resend(scope, caller, params.id)),
  }),
});

export const revokeIdentityInvite = operation({
  ...ofOne,
  ...changing,
  ...revokingInvite,
  id: 'revokeIdentityInvite',
  summary: 'Revoke a pending invite',
  handle: async ({ services, scope, params }) => ({
    data: presentIdentityInvite(services)(await services.identityInvites.revoke(scope, params.id)),
  }),
});
