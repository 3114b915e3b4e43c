import { Type } from 'typebox';
import type { ApiKey } from '../../../entities/api-key.js';
import { permissions } from '../../domain/access/permissions.js';
import { listQuery, paginated } from '../lists.js';
import { anyMember, errors, operation } from '../operation.js';
import { Body, Id, instantOf, listOf, Name, Nullable, OneOf, Resource, single, Timestamp } from '../schemas.js';

const ApiKeyFields = {
  id: Id,
  client_id: Type.String(),
  name: Type.String(),
  description: Nullable(Type.String()),
  key_preview: Type.String({ description: 'Prefix and last four characters.' }),
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
  secret: Type.String({ description: 'The whole key; shown this once.' }),
});
const ById = Type.Object({ id: Id });

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
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.view',
  capability: anyMember, // specification, Portal API: "JWT only"
  query: listQuery(['created_at', 'name']),
  answers: { 200: listOf(ApiKeyView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, ...page } }) =>
    paginated(await services.apiKeyManagement.list(scope, { ...page, sortBy }), present),
});

export const createApiKey = operation({
  id: 'createApiKey',
  method: 'POST',
  path: '/api-keys',
  summary: 'Create an API key',
  description:
    'A `full` key may do everything in the environment; a `scoped` one what its `scopes` name, at least one permission of the ' +
    'system. Callers can only give what they hold themselves.',
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.manage',
  capability: 'env_api_keys.manage',
  body: Body({
    name: Name,
    description: Type.Optional(Nullable(Type.String({ maxLength: 1000 }))),
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
  summary: 'Read an API key',
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
  summary: 'Switch an API key off or on',
  description:
    'A key that is switched off stops authenticating from the next request; switching it on brings it back. Callers can only ' +
    'switch on what they hold themselves.',
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
  summary: 'Give an API key a new secret',
  description:
    'The old one works for `overlap_seconds` more, so that those who use it can change over; without them it stops at once. One that ' +
    'still works from the rotation before stops in any case: two secrets work at most. One that has expired is not rotated.',
  tag: 'API keys',
  level: 'environment',
  permission: 'api_key.manage',
  capability: 'env_api_keys.manage',
  params: ById,
  body: Nullable(Body({ overlap_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 604_800, default: 0 })) })),
  exists: ({ services, scope, params }) => services.apiKeyManagement.get(scope, params.id),
  events: ['api_key.rotated'],
  answers: {
    200: single(WithSecret),
    ...errors('api_key.not_found', 'api_key.cannot_grant', 'api_key.expired', 'validation.failed'),
  },
  async handle({ services, scope, caller, params, body }) {
    const overlapSeconds = body?.overlap_seconds ?? 0;
    const { apiKey, secret } = await services.apiKeyManagement.rotate(scope, caller, params.id, overlapSeconds);
    return { data: { ...present(apiKey), secret } };
  },
});

export const deleteApiKey = operation({
  id: 'deleteApiKey',
  method: 'DELETE',
  path: '/api-keys/:id',
  summary: 'Delete an API key',
  description: 'It stops authenticating from the next request, for good.',
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
