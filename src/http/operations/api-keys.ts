import { Type } from 'typebox';
import type { ApiKey } from '../../../entities/api-key.js';
import { permissions } from '../../domain/access/roles/permissions.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { anyMember, errors, operation } from '../surfaces/operation.js';
import {
  Body,
  ById,
  Description,
  Id,
  instantOf,
  listOf,
  Name,
  Nullable,
  OneOf,
  Resource,
  single,
  Timestamp,
} from '../surfaces/schemas.js';
import { Overlap, overlapIn } from './secret-overlap.js';

const ApiKeyFields = {
  id: Id,
  client_id: Type.String({ example: '1WjuhgL40T367XpjP' }),
  name: Type.String(),
  description: Nullable(Type.String()),
  key_preview: Type.String({ description: 'The prefix and the last four characters.' }),
  access_mode: OneOf(['full', 'scoped']),
  scopes: Type.Array(Type.String()),
  is_active: Type.Boolean(),
  last_used_at: Nullable(Timestamp),
  expires_at: Nullable(Timestamp),
  created_at: Timestamp,
};
const ApiKeyView = Resource('ApiKey', ApiKeyFields);
const WithSecret = Resource('ApiKeyWithSecret', {
  ...ApiKeyFields,
  secret: Type.String({
    description: 'The complete key. Returned only once.',
    example: 'ghk_live_1WjuhgL40T367XpjP_exampleexampleexampleexampleexampleexample0123456',
  }),
});

const present = (key: ApiKey) => ({
  id: key.id,
  client_id: key.clientId,
  name: key.name,
  description: key.description,
  key_preview: key.keyPreview,
  access_mode: key.accessMode,
  scopes: key.scopes,
  is_active: key.isActive,
  last_used_at: key.lastUsedAt,
  expires_at: key.expiresAt,
  created_at: key.createdAt,
});

export const listApiKeys = operation({
  id: 'listApiKeys',
  method: 'GET',
  path: '/api-keys',
  summary: 'List API keys',
  description: '`q` searches the name.',
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.view',
  capability: anyMember, // specification, Portal API: "JWT only"
  query: listQuery(['created_at', 'name'], { client_id: Type.Optional(Type.String({ maxLength: 100 })) }),
  answers: { 200: listOf(ApiKeyView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, client_id: clientId, ...page } }) =>
    paginated(await services.apiKeyManagement.list(scope, { ...page, sortBy, clientId }), present),
});

export const createApiKey = operation({
  id: 'createApiKey',
  method: 'POST',
  path: '/api-keys',
  summary: 'Create an API key',
  description:
    'A `full` key may do everything in the environment; a `scoped` key only what its `scopes` name, which is at least ' +
    'one system permission. Callers can only grant permissions that they hold themselves. A key can also assign the ' +
    'permissions that the application has registered, and manage people who hold them: an end user who creates one with ' +
    '`rbac.assign_roles`, `rbac.manage_roles` or `identity.manage` needs all of these permissions, too.',
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.manage',
  capability: 'env_api_keys.manage',
  body: Body({
    name: Name,
    description: Type.Optional(Description),
    access_mode: OneOf(['full', 'scoped']),
    scopes: Type.Optional(Type.Array(OneOf(permissions), { uniqueItems: true })),
    expires_at: Type.Optional(Nullable(Timestamp)),
  }),
  events: ['api_key.created'],
  answers: { 201: single(WithSecret), ...errors('validation.failed', 'api_key.cannot_grant') },
  async handle({ services, scope, caller, body }) {
    const { apiKey, secret } = await services.apiKeyManagement.create(scope, caller, {
      name: body.name.trim(),
      description: body.description ?? null,
      accessMode: body.access_mode,
      scopes: body.scopes ?? [],
      expiresAt: body.expires_at ? instantOf(body.expires_at, 'expires_at') : null,
    });
    return { data: { ...present(apiKey), secret } };
  },
});

export const getApiKey = operation({
  id: 'getApiKey',
  method: 'GET',
  path: '/api-keys/:id',
  summary: 'Get an API key',
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.view',
  capability: 'env_api_keys.view',
  params: ById,
  answers: { 200: single(ApiKeyView), ...errors('api_key.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: present(await services.apiKeyManagement.get(scope, params.id)),
  }),
});

export const updateApiKey = operation({
  id: 'updateApiKey',
  method: 'PATCH',
  path: '/api-keys/:id',
  summary: 'Activate or deactivate an API key',
  description:
    'An inactive key stops authenticating from the next request; activating it lets it authenticate again. Callers can ' +
    'only activate a key whose permissions they hold themselves.',
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.manage',
  capability: 'env_api_keys.manage',
  params: ById,
  body: Body({ is_active: Type.Boolean() }),
  exists: ({ services, scope, params }) => services.apiKeyManagement.get(scope, params.id),
  events: ['api_key.updated'],
  answers: { 200: single(ApiKeyView), ...errors('api_key.not_found', 'api_key.cannot_grant') },
  handle: async ({ services, scope, caller, params, body }) => ({
    data: present(await services.apiKeyManagement.setActive(scope, caller, params.id, body.is_active)),
  }),
});

export const rotateApiKey = operation({
  id: 'rotateApiKey',
  method: 'POST',
  path: '/api-keys/:id/rotate',
  summary: 'Rotate the secret of an API key',
  description:
    'The previous secret keeps working for `overlap_seconds`, so that clients can switch over; without an overlap it ' +
    'stops immediately. At most two secrets work at a time: one that still works from an earlier rotation stops in any ' +
    'case. An expired key cannot be rotated.',
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.manage',
  capability: 'env_api_keys.manage',
  params: ById,
  body: Overlap,
  exists: ({ services, scope, params }) => services.apiKeyManagement.get(scope, params.id),
  events: ['api_key.rotated'],
  answers: {
    200: single(WithSecret),
    ...errors('api_key.not_found', 'api_key.cannot_grant', 'api_key.expired', 'validation.failed'),
  },
  async handle({ services, scope, caller, params, body }) {
    const { apiKey, secret } = await services.apiKeyManagement.rotate(scope, caller, params.id, overlapIn(body));
    return { data: { ...present(apiKey), secret } };
  },
});

export const deleteApiKey = operation({
  id: 'deleteApiKey',
  method: 'DELETE',
  path: '/api-keys/:id',
  summary: 'Delete an API key',
  description: 'The key stops authenticating from the next request. This cannot be undone.',
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.manage',
  capability: 'env_api_keys.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.apiKeyManagement.get(scope, params.id),
  events: ['api_key.deleted'],
  answers: { 204: Type.Null(), ...errors('api_key.not_found') },
  handle: ({ services, scope, params }) => services.apiKeyManagement.remove(scope, params.id),
});
