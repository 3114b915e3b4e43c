import { type TProperties, type TSchema, Type } from 'typebox';
import { maxClaimed, maxClaimedBytes } from '../../../domain/organizations/claim.js';
import { exampleToken } from '../../openapi/example-texts.js';
import { OneOf } from '../../surfaces/schemas.js';
import { accountDocumentation } from './account.js';
import { discoveryDocumentation } from './discovery.js';
import { OAuthError } from './json.js';
import { loginDocumentation } from './login.js';
import { mfaDocumentation } from './mfa.js';
import { type Documentation, InJson, text } from './page.js';
import { samlDocumentation } from './saml.js';
import { signUpDocumentation } from './sign-up.js';
import { ssoDocumentation } from './sso.js';
import { webauthnDocumentation } from './webauthn.js';

const Tokens = Type.Object({
  access_token: Type.String({ description: 'A JWT (RFC 9068)' }),
  token_type: Type.String(),
  expires_in: Type.Integer({ description: 'Seconds' }),
  refresh_token: Type.String(),
  scope: Type.String(),
  id_token: Type.Optional(Type.String({ description: 'With the scope `openid`' })),
});
/** Without the format, generators use 32 bits, which end in 2038. */
const SecondsSince1970 = Type.Integer({ format: 'int64', description: 'Seconds since 1970' });
const Claims = Type.Object({
  sub: Type.String(),
  name: text('With the scope `profile`, like the following claims; unknown values are left out'),
  given_name: Type.Optional(Type.String()),
  family_name: Type.Optional(Type.String()),
  picture: Type.Optional(Type.String()),
  updated_at: Type.Optional(SecondsSince1970),
  email: text('With the scope `email`, like the following claim'),
  email_verified: Type.Optional(Type.Boolean()),
  organizations: Type.Optional(
    Type.Array(Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String() }), {
      maxItems: maxClaimed,
      description:
        'With the scope `org`: the active organizations of the person, by slug. Tokens have the same claim, up to ' +
        `${maxClaimedBytes / 1024} KiB of it`,
    }),
  ),
  organizations_truncated: Type.Optional(Type.Boolean({ description: 'True if there are more' })),
});
/** The claims of an active token; an access token has more of them than a refresh token. */
const Introspection = Type.Object(
  {
    active: Type.Boolean(),
    token_type: Type.Optional(OneOf(['refresh_token', 'Bearer'])),
    iss: Type.Optional(Type.String()),
    sub: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String()),
    scope: Type.Optional(Type.String()),
    sid: Type.Optional(Type.String()),
    iat: Type.Optional(SecondsSince1970),
    exp: Type.Optional(SecondsSince1970),
  },
  { additionalProperties: true, description: 'RFC 7662 §2.2: `active` and, if it is true, the claims of the token' },
);
const refused = InJson('RFC 6749 §5.2', OAuthError);
/** RFC 6750 §3.1: a request without a token gets the scheme, and no error. */
const challenged = InJson('RFC 6750 §3; without a body if no token was sent', {
  ...OAuthError,
  'x-body-optional': true,
} as TSchema);

const clientAuthentication = {
  client_id: text('Required if the client does not use Basic authentication'),
  client_secret: text('`client_secret_post`'),
  client_assertion: text(
    '`private_key_jwt`, RFC 7523: `aud` is the issuer, or the token, introspection or revocation endpoint',
  ),
  client_assertion_type: text('`urn:ietf:params:oauth:client-assertion-type:jwt-bearer`'),
};
const endpoint = (
  operationId: string,
  summary: string,
  description: string,
  body: TProperties | null,
  answers: Record<number, unknown>,
) => ({
  operationId,
  summary,
  description,
  tags: ['OAuth 2.0'],
  ...(body && { consumes: ['application/x-www-form-urlencoded'], body: Type.Object(body) as TSchema }),
  response: answers,
});
/**
 * The OpenAPI documentation of the provider's routes. The routes check their parameters themselves, because they refuse
 * with pages and RFC 6749's errors; so these schemas describe, and validate nothing.
 */
export const oauthDocumentation: Documentation = {
  ...discoveryDocumentation,
  ...accountDocumentation,
  ...loginDocumentation,
  ...mfaDocumentation,
  ...signUpDocumentation,
  ...samlDocumentation,
  ...ssoDocumentation,
  ...webauthnDocumentation,
  'POST /oauth/token': endpoint(
    'issueTokens',
    'Exchange a code, or refresh tokens (RFC 6749 §4.1.3, §6)',
    'A code works once; using it again revokes what it granted. If refresh tokens rotate, each works once too: a used ' +
      'one that is presented again later revokes the whole grant.',
    {
      ...clientAuthentication,
      grant_type: Type.String({ description: '`authorization_code` or `refresh_token`' }),
      code: text('With `authorization_code`', exampleToken),
      redirect_uri: text('With `authorization_code`: the same as at `/oauth/authorize`'),
      code_verifier: text('RFC 7636'),
      refresh_token: text('With `refresh_token`'),
      scope: text('With `refresh_token`: a subset of what was granted'),
    },
    { 200: Tokens, 400: refused, 401: refused },
  ),
  'GET /oauth/userinfo': endpoint(
    'getUserinfo',
    'Get claims about the signed-in person (OpenID Connect Core §5.3)',
    'Requires an access token with the scope `openid`, as a bearer token. The claims of the other scopes are read at the ' +
      'time of the request.',
    null,
    { 200: Claims, 400: refused, 401: challenged, 403: refused },
  ),
  'POST /oauth/userinfo': endpoint(
    'postUserinfo',
    'Get claims about the signed-in person by form',
    'Like the GET, for clients that send the token in a form rather than in a header.',
    { access_token: text('RFC 6750 §2.2, instead of the header') },
    { 200: Claims, 400: refused, 401: challenged, 403: refused },
  ),
  'POST /oauth/revoke': endpoint(
    'revokeToken',
    'Revoke a token (RFC 7009)',
    'A refresh token is revoked with its whole grant, an access token alone. An unknown token counts as revoked. A token ' +
      'of another client is left as it is, with `invalid_grant`.',
    { ...clientAuthentication, token: Type.String(), token_type_hint: text('`access_token` or `refresh_token`') },
    {
      200: Type.Object({}, { additionalProperties: false, description: 'Revoked, or there was nothing to revoke' }),
      400: refused,
      401: refused,
    },
  ),
  'POST /oauth/introspect': endpoint(
    'introspectToken',
    'Introspect a token (RFC 7662)',
    'For confidential clients. Only tokens of the same environment are recognized; for any other value, the response is ' +
      '`{ active: false }`. A token is active as long as its session and its person are.',
    { ...clientAuthentication, token: Type.String(), token_type_hint: text('`access_token` or `refresh_token`') },
    { 200: Introspection, 400: refused, 401: refused },
  ),
};
