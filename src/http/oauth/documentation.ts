import { type TProperties, type TSchema, Type } from 'typebox';

/**
 * What the OpenAPI document says of the provider's routes. They check their parameters themselves, because their refusals
 * are pages and RFC 6749's errors; so this describes, and validates nothing.
 */
export type Documentation = Record<
  string,
  { operationId: string; summary: string; tags: string[]; [more: string]: unknown }
>;

const text = (description: string) => Type.Optional(Type.String({ description }));
const Page = (description: string) => ({ description, content: { 'text/html': { schema: Type.String() } } });
const Redirect = { description: 'Back to the client, with `code`, `state` and `iss`, or with an error', type: 'null' };
const OAuthError = Type.Object(
  { error: Type.String(), error_description: Type.Optional(Type.String()) },
  { description: 'RFC 6749 §5.2' },
);
const Tokens = Type.Object({
  access_token: Type.String({ description: 'JWT of RFC 9068' }),
  token_type: Type.String(),
  expires_in: Type.Integer({ description: 'Seconds' }),
  refresh_token: Type.String(),
  scope: Type.String(),
  id_token: Type.Optional(Type.String({ description: 'With the scope `openid`' })),
});
const Claims = Type.Object({ sub: Type.String() }, { additionalProperties: true });
const NoContent = (description: string) => ({ description, type: 'null' });

const authorizeParameters = {
  client_id: Type.String(),
  redirect_uri: Type.String({ description: 'Exactly as registered; a loopback address may vary its port' }),
  response_type: Type.String({ description: 'Only `code`' }),
  scope: text('`openid profile email org permissions`; unknown ones are left out'),
  state: text('Comes back unchanged'),
  nonce: text('Comes back in the ID token'),
  code_challenge: text('RFC 7636; required of public clients, and of confidential ones unless they are exempt'),
  code_challenge_method: text('Only `S256`'),
  prompt: text('`none`, `login`, `consent`, `select_account`'),
  max_age: text('Seconds since the sign-in after which it has to be repeated'),
  id_token_hint: text('Who is expected'),
  login_hint: text('The address to begin with'),
  ui_locales: text('`en`, `de`'),
};
const clientAuthentication = {
  client_id: text('Where the client does not use Basic authentication'),
  client_secret: text('`client_secret_post`'),
  client_assertion: text('`private_key_jwt`, RFC 7523'),
  client_assertion_type: text('`urn:ietf:params:oauth:client-assertion-type:jwt-bearer`'),
};
const logoutParameters = {
  id_token_hint: text('Of the session to end'),
  client_id: text('Where there is no hint'),
  post_logout_redirect_uri: text('Exactly as registered'),
  state: text('Comes back unchanged'),
  ui_locales: text('`en`, `de`'),
};

const page = (operationId: string, summary: string, more: object) => ({
  operationId,
  summary,
  tags: ['Hosted login'],
  ...more,
});
const endpoint = (
  operationId: string,
  summary: string,
  body: TProperties | null,
  answers: Record<number, unknown>,
) => ({
  operationId,
  summary,
  tags: ['OAuth 2.0'],
  ...(body && { consumes: ['application/x-www-form-urlencoded'], body: Type.Object(body) as TSchema }),
  response: answers,
});
const document = (operationId: string, summary: string) => ({
  operationId,
  summary,
  tags: ['Discovery'],
  response: { 200: Type.Object({}, { additionalProperties: true, description: summary }) },
});

export const oauthDocumentation: Documentation = {
  'GET /.well-known/openid-configuration': document(
    'getOpenIdConfiguration',
    'Provider metadata (OpenID Connect Discovery)',
  ),
  'GET /.well-known/oauth-authorization-server': document(
    'getAuthorizationServerMetadata',
    'Provider metadata (RFC 8414)',
  ),
  'GET /.well-known/jwks.json': document('getJwks', 'Public keys for verifying tokens (RFC 7517)'),
  'GET /oauth/authorize': page('authorize', 'Begin a sign-in (OpenID Connect Core §3.1.2)', {
    querystring: Type.Object(authorizeParameters),
    response: { 200: Page('The sign-in page'), 303: Redirect, 400: Page('The parameters are not valid') },
  }),
  'POST /oauth/authorize': page('submitSignIn', 'Begin a sign-in by form, or send its credentials', {
    description:
      'With OAuth parameters only it is an authorization request, answered by 303 to its GET. With `email` and `password` ' +
      'it is the sign-in form; every parameter is checked again. With `Accept: application/json` a redirect is answered ' +
      'as 200 `{ redirect_to }`, and whatever would be a page as `{ error, error_description }`.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...authorizeParameters, email: text('Of the person'), password: text('Of the person') }),
    response: {
      200: Page('The form again, because the credentials are not right; 401 in JSON'),
      303: { description: 'Back to the client with a code; an authorization request, to its GET', type: 'null' },
      400: Page('The parameters are not valid'),
      403: Page('Sent from a foreign origin'),
      429: Page('Too many failures; `Retry-After` says when'),
    },
  }),
  'POST /oauth/token': endpoint(
    'issueTokens',
    'Exchange a code, or refresh (RFC 6749 §4.1.3, §6)',
    {
      ...clientAuthentication,
      grant_type: Type.String({ description: '`authorization_code` or `refresh_token`' }),
      code: text('With `authorization_code`'),
      redirect_uri: text('With `authorization_code`: as at authorize'),
      code_verifier: text('RFC 7636'),
      refresh_token: text('With `refresh_token`'),
      scope: text('With `refresh_token`: a part of what was granted'),
    },
    { 200: Tokens, 400: OAuthError, 401: OAuthError },
  ),
  'GET /oauth/userinfo': endpoint('getUserinfo', 'Claims of the signed-in person (OpenID Connect Core §5.3)', null, {
    200: Claims,
    401: OAuthError,
    403: OAuthError,
  }),
  'POST /oauth/userinfo': endpoint(
    'postUserinfo',
    'Claims of the signed-in person, by form',
    { access_token: text('RFC 6750 §2.2, instead of the header') },
    { 200: Claims, 401: OAuthError, 403: OAuthError },
  ),
  'POST /oauth/revoke': endpoint(
    'revokeToken',
    'Revoke a token (RFC 7009)',
    { ...clientAuthentication, token: Type.String(), token_type_hint: text('`access_token` or `refresh_token`') },
    { 200: NoContent('Revoked, or there was nothing to revoke'), 400: OAuthError, 401: OAuthError },
  ),
  'POST /oauth/introspect': endpoint(
    'introspectToken',
    'Ask whether a token is alive (RFC 7662); confidential clients',
    { ...clientAuthentication, token: Type.String(), token_type_hint: text('`access_token` or `refresh_token`') },
    { 200: Type.Object({ active: Type.Boolean() }, { additionalProperties: true }), 400: OAuthError, 401: OAuthError },
  ),
  'GET /oauth/logout': page('askToEndSession', 'Sign out (OpenID Connect RP-Initiated Logout)', {
    querystring: Type.Object(logoutParameters),
    response: { 200: Page('Asks, or says that it is done'), 303: Redirect, 400: Page('The parameters are not valid') },
  }),
  'POST /oauth/logout': page('endSession', 'Sign out by form, or answer the question', {
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...logoutParameters, confirm: text('`yes` or `no`') }),
    response: {
      200: Page('Says that it is done'),
      303: Redirect,
      400: Page('The parameters are not valid'),
    },
  }),
};
