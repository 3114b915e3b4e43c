import { Type } from 'typebox';
import type { ScimToken } from '../../../entities/scim-token.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, ById, Id, instantOf, listOf, Name, Nullable, Resource, single, Timestamp } from '../surfaces/schemas.js';

const common = { tag: 'SCIM', level: 'account' } as const;

const ScimTokenFields = {
  id: Id,
  name: Type.String(),
  environment_id: Id,
  organization_id: Nullable(Id),
  token_preview: Type.String({ description: 'The prefix and the last four characters.' }),
  last_used_at: Nullable(Timestamp),
  expires_at: Nullable(Timestamp),
  created_at: Timestamp,
};
const ScimTokenView = Resource('ScimToken', ScimTokenFields);
const WithToken = Resource('ScimTokenWithToken', {
  ...ScimTokenFields,
  token: Type.String({ description: 'The complete token. Returned only once.' }),
});

const present = (token: ScimToken) => ({
  id: token.id,
  name: token.name,
  environment_id: token.environmentId,
  organization_id: token.organizationId,
  token_preview: token.tokenPreview,
  last_used_at: token.lastUsedAt,
  expires_at: token.expiresAt,
  created_at: token.createdAt,
});

export const listScimTokens = operation({
  ...common,
  id: 'listScimTokens',
  method: 'GET',
  path: '/scim/tokens',
  summary: 'List the SCIM tokens of the account',
  description: 'Of all environments, or only of `environment_id`. `q` searches the name.',
  capability: 'scim.view',
  query: listQuery(['created_at', 'name'], { environment_id: Type.Optional(Id) }),
  answers: { 200: listOf(ScimTokenView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, environment_id: environmentId, ...page } }) =>
    paginated(await services.scimTokens.list(scope, { ...page, sortBy, environmentId }), present),
});

export const createScimToken = operation({
  ...common,
  id: 'createScimToken',
  method: 'POST',
  path: '/scim/tokens',
  summary: 'Create a SCIM token',
  description:
    'With the token, a directory provisions users and groups at `/scim/v2`: those of the environment, or only those of ' +
    'the organization in `organization_id`. The token is returned only in this response.',
  capability: 'scim.manage',
  body: Body({
    name: Name,
    environment_id: Id,
    organization_id: Type.Optional(Nullable(Id)),
    expires_at: Type.Optional(Nullable(Timestamp)),
  }),
  events: ['scim_token.created'],
  answers: {
    201: single(WithToken),
    ...errors('validation.failed', 'environment.not_found', 'organization.not_found'),
  },
  async handle({ services, scope, body }) {
    const { token, secret } = await services.scimTokens.create(scope, {
      name: body.name.trim(),
      environmentId: body.environment_id,
      organizationId: body.organization_id ?? null,
      expiresAt: body.expires_at ? instantOf(body.expires_at, 'expires_at') : null,
    });
    return { data: { ...present(token), token: secret } };
  },
});

export const getScimToken = operation({
  ...common,
  id: 'getScimToken',
  method: 'GET',
  path: '/scim/tokens/:id',
  summary: 'Get a SCIM token',
  capability: 'scim.view',
  params: ById,
  answers: { 200: single(ScimTokenView), ...errors('scim_token.not_found') },
  handle: async ({ services, scope, params }) => ({ data: present(await services.scimTokens.get(scope, params.id)) }),
});

export const revokeScimToken = operation({
  ...common,
  id: 'revokeScimToken',
  method: 'DELETE',
  path: '/scim/tokens/:id',
  summary: 'Revoke a SCIM token',
  description: 'The token is refused from the next request on. What was provisioned with it stays.',
  capability: 'scim.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.scimTokens.assertThere(scope, params.id),
  events: ['scim_token.revoked'],
  answers: { 204: Type.Null(), ...errors('scim_token.not_found') },
  handle: ({ services, scope, params }) => services.scimTokens.revoke(scope, params.id),
});
