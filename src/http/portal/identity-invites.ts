import { Type } from 'typebox';
import { paginated } from '../lists.js';
import { operation } from '../operation.js';
import {
  IdentityInvitesQuery,
  IdentityInvitesSummaryView,
  IdentityInviteView,
  leadsTo,
  presentIdentityInvite,
  presentSummary,
} from '../operations/identity-invite-views.js';
import { Id, listOf, single } from '../schemas.js';

const common = { tag: 'Identity invites', level: 'account', capability: 'identities.view' } as const;

export const listAccountIdentityInvites = operation({
  ...common,
  id: 'listAccountIdentityInvites',
  method: 'GET',
  path: '/identity-invites',
  summary: 'List the invites of end users of an account',
  description: 'Of all environments. `q` searches name and email.',
  query: IdentityInvitesQuery,
  answers: { 200: listOf(IdentityInviteView) },
  handle: async ({ services, scope: { accountId }, query: { sort_by: sortBy, environment_id, ...page } }) =>
    paginated(
      await services.identityInvites.list({ accountId }, { ...page, sortBy }, leadsTo(environment_id)),
      presentIdentityInvite,
    ),
});

export const getAccountIdentityInvitesSummary = operation({
  ...common,
  id: 'getAccountIdentityInvitesSummary',
  method: 'GET',
  path: '/identity-invites/summary',
  summary: 'Count the invites of end users of an account',
  description: 'By status as of now; over all environments, or over what was made in the one of `environment_id`.',
  query: Type.Object({ environment_id: Type.Optional(Id) }, { additionalProperties: false }),
  answers: { 200: single(IdentityInvitesSummaryView) },
  handle: async ({ services, scope: { accountId }, query: { environment_id } }) => ({
    data: presentSummary(await services.identityInvites.summary({ accountId }, environment_id)),
  }),
});
