import { Type } from 'typebox';
import type { OAuthClient } from '../../../entities/oauth-client.js';
import { inDeclaredOrder } from '../../domain/lists/declared-order.js';
import { scopes } from '../../domain/oidc/scopes.js';
import { camelCased } from '../../platform/database/naming.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import {
  ById,
  Id,
  LogoUrl,
  listOf,
  Name,
  Nullable,
  OneOf,
  Resource,
  single,
  Timestamp,
  Url,
} from '../surfaces/schemas.js';
import { Overlap, overlapIn } from './secret-overlap.js';

const methods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
const Jwks = Type.Object(
  {
    keys: Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true }), {
      minItems: 1,
      maxItems: 20,
    }),
  },
  {
    description:
      'Public keys, of which at least one is for RS256, PS256 (RSA of 2048 bits or more) or ES256. Several of one type need a `kid` each, which assertions name.',
  },
);
const RedirectUris = Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), { maxItems: 100, uniqueItems: true });
const ClientType = OneOf(['public', 'confidential'], {
  description: '`confidential` if the application runs on a server that can keep a secret. Cannot be changed.',
});

/** The settings of a client, at creation and later; the fields have their names from RFC 7591 §2. */
const Settings = {
  redirect_uris: {
    ...RedirectUris,
    description:
      'Compared exactly, without wildcards; only the port of a loopback IP address may differ. Each uses `https`, `http` ' +
      'for a loopback address, or a private-use scheme with a dot, such as `com.example.app:/callback`.',
  },
  post_logout_redirect_uris: { ...RedirectUris, description: 'Compared as `redirect_uris` are.' },
  token_endpoint_auth_method: OneOf(methods, {
    description:
      '`none` for public clients, and only for them; by default `client_secret_basic` for confidential ones. A client secret ' +
      'is accepted both in the header and in the body, whichever of the two is registered. `private_key_jwt` needs `jwks` or ' +
      '`jwks_uri`.',
  }),
  require_pkce: Type.Boolean({
    description:
      'May be false only for confidential clients, and only if the environment does not have `require_pkce`, which applies ' +
      'to all.',
  }),
  rotate_refresh_tokens: Type.Boolean({
    description: 'May be false only for confidential clients; refresh tokens of public clients are always rotated.',
  }),
  scopes: Type.Array(OneOf(scopes, { title: 'OAuthScope' }), {
    minItems: 1,
    uniqueItems: true,
    description:
      'Scopes that the client may be granted; any other scope that it requests is left out of its tokens, also at the next ' +
      'refresh. All scopes by default. Without `openid`, the client uses plain OAuth 2.0: no ID token, and no `userinfo`.',
  }),
  consent_required: Type.Boolean({
    description:
      'For third-party applications: each person is asked for consent before the client is granted anything of theirs, and ' +
      'can withdraw it. Its tokens are for `userinfo` and for APIs of its own; neither this API nor the end-user API ' +
      'accepts them.',
  }),
  jwks: Nullable(Jwks),
  jwks_uri: Nullable(Url),
  logo_url: Nullable(LogoUrl),
  initiate_login_uri: Nullable({
    ...Url,
    description:
      'Where the application starts a sign-in when it is asked to (OpenID Connect Core 1.0 §4), with `iss` and usually ' +
      '`login_hint`. If it is set, emailed links for passwords and sign-ups lead there, and so does a sign-in that an ' +
      'identity provider has started: the application then sends an authorization request from the browser that is in use.',
  }),
  backchannel_logout_uri: Nullable({
    ...Url,
    description:
      'Receives a signed logout token, as `logout_token` of a POST, for each session of a person that ends and in which the ' +
      'client was granted something (OpenID Connect Back-Channel Logout 1.0).',
  }),
  backchannel_logout_session_required: Type.Boolean({
    description:
      'Whether logout tokens name the session alone, by `sid`. Otherwise they have `sub` as well, for which some libraries end ' +
      'all sessions of the person.',
  }),
};
const ClientFields = {
  id: Id,
  client_id: Type.String(),
  name: Type.String(),
  client_type: ClientType,
  ...Settings,
  has_client_secret: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
};
const ClientView = Resource('OAuthClient', ClientFields);
const WithSecret = Resource('OAuthClientWithSecret', {
  ...ClientFields,
  client_secret: Nullable(Type.String({ description: 'Returned only once; null for a client without a secret.' })),
});

const present = (client: OAuthClient) => ({
  id: client.id,
  client_id: client.clientId,
  name: client.name,
  client_type: client.clientType,
  redirect_uris: client.redirectUris,
  post_logout_redirect_uris: client.postLogoutRedirectUris,
  token_endpoint_auth_method: client.tokenEndpointAuthMethod,
  require_pkce: client.requirePkce,
  rotate_refresh_tokens: client.rotateRefreshTokens,
  scopes: inDeclaredOrder(scopes, client.scopes),
  consent_required: client.consentRequired,
  jwks: client.jwks,
  jwks_uri: client.jwksUri,
  logo_url: client.logoUrl,
  initiate_login_uri: client.initiateLoginUri,
  backchannel_logout_uri: client.backchannelLogoutUri,
  backchannel_logout_session_required: client.backchannelLogoutSessionRequired,
  has_client_secret: client.secretHash !== null,
  created_at: client.createdAt,
  updated_at: client.updatedAt,
});

const common = { tag: 'OAuth clients', level: 'environment' } as const;

export const listOAuthClients = operation({
  ...common,
  id: 'listOAuthClients',
  method: 'GET',
  path: '/oauth-clients',
  summary: 'List OAuth clients',
  description: '`q` searches the name.',
  capability: 'oauth_clients.view',
  query: listQuery(['created_at', 'name'], { client_id: Type.Optional(Type.String({ maxLength: 100 })) }),
  answers: { 200: listOf(ClientView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, client_id: clientId, ...page } }) =>
    paginated(await services.clientManagement.list(scope, { ...page, sortBy, clientId }), present),
});

export const createOAuthClient = operation({
  ...common,
  id: 'createOAuthClient',
  method: 'POST',
  path: '/oauth-clients',
  summary: 'Create an OAuth client',
  description:
    'The `client_secret` is returned only in this response; public clients and those with `private_key_jwt` have none.',
  capability: 'oauth_clients.manage',
  body: Type.Object(
    {
      ...Type.Partial(Type.Object(Settings)).properties,
      name: Name,
      client_type: ClientType,
      redirect_uris: Settings.redirect_uris,
    },
    { additionalProperties: false },
  ),
  events: ['oauth_client.created'],
  answers: { 201: single(WithSecret), ...errors('validation.failed') },
  async handle({ services, scope, body }) {
    const isPublic = body.client_type === 'public';
    const { client, secret } = await services.clientManagement.create(scope, {
      name: body.name.trim(),
      clientType: body.client_type,
      redirectUris: body.redirect_uris,
      postLogoutRedirectUris: body.post_logout_redirect_uris ?? [],
      tokenEndpointAuthMethod: body.token_endpoint_auth_method ?? (isPublic ? 'none' : 'client_secret_basic'),
      requirePkce: body.require_pkce ?? true,
      rotateRefreshTokens: body.rotate_refresh_tokens ?? isPublic,
      scopes: body.scopes,
      consentRequired: body.consent_required,
      jwks: body.jwks ?? null,
      jwksUri: body.jwks_uri ?? null,
      logoUrl: body.logo_url ?? null,
      initiateLoginUri: body.initiate_login_uri,
      backchannelLogoutUri: body.backchannel_logout_uri,
      backchannelLogoutSessionRequired: body.backchannel_logout_session_required,
    });
    return { data: { ...present(client), client_secret: secret } };
  },
});

export const getOAuthClient = operation({
  ...common,
  id: 'getOAuthClient',
  method: 'GET',
  path: '/oauth-clients/:id',
  summary: 'Get an OAuth client',
  capability: 'oauth_clients.view',
  params: ById,
  answers: { 200: single(ClientView), ...errors('oauth_client.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: present(await services.clientManagement.get(scope, params.id)),
  }),
});

export const updateOAuthClient = operation({
  ...common,
  id: 'updateOAuthClient',
  method: 'PATCH',
  path: '/oauth-clients/:id',
  summary: 'Update an OAuth client',
  description:
    'Takes effect within a second. A client that changes from `private_key_jwt` to a secret has none until one is made with ' +
    '`rotate-secret`; one that changes to `private_key_jwt` loses its secret.',
  capability: 'oauth_clients.manage',
  params: ById,
  body: Type.Partial(Type.Object({ ...Settings, name: Name }), { additionalProperties: false }),
  exists: ({ services, scope, params }) => services.clientManagement.get(scope, params.id),
  events: ['oauth_client.updated'],
  answers: { 200: single(ClientView), ...errors('oauth_client.not_found', 'validation.failed') },
  async handle({ services, scope, params, body }) {
    const changes = camelCased({ ...body, ...(body.name && { name: body.name.trim() }) });
    return { data: present(await services.clientManagement.update(scope, params.id, changes)) };
  },
});

export const rotateOAuthClientSecret = operation({
  ...common,
  id: 'rotateOAuthClientSecret',
  method: 'POST',
  path: '/oauth-clients/:id/rotate-secret',
  summary: 'Rotate the secret of an OAuth client',
  description:
    'The new secret works immediately. The previous one keeps working for `overlap_seconds`, so that the client can switch ' +
    'over; without an overlap it stops within a second. At most two secrets work at a time.',
  capability: 'oauth_clients.manage',
  params: ById,
  body: Overlap,
  exists: ({ services, scope, params }) => services.clientManagement.get(scope, params.id),
  events: ['oauth_client.secret_rotated'],
  answers: {
    200: single(WithSecret),
    ...errors('oauth_client.not_found', 'oauth_client.has_no_secret', 'validation.failed'),
  },
  async handle({ services, scope, params, body }) {
    const { client, secret } = await services.clientManagement.rotateSecret(scope, params.id, overlapIn(body));
    return { data: { ...present(client), client_secret: secret } };
  },
});

export const deleteOAuthClient = operation({
  ...common,
  id: 'deleteOAuthClient',
  method: 'DELETE',
  path: '/oauth-clients/:id',
  summary: 'Delete an OAuth client',
  description: 'Its grants and tokens are revoked with it.',
  capability: 'oauth_clients.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.clientManagement.get(scope, params.id),
  events: ['oauth_client.deleted'],
  answers: { 204: Type.Null(), ...errors('oauth_client.not_found') },
  handle: ({ services, scope, params }) => services.clientManagement.remove(scope, params.id),
});
