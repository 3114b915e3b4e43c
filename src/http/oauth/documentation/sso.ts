import { Type } from 'typebox';
import { ssoTestEffects, ssoTestStatuses } from '../../../domain/sso-sign-in/test-report.js';
import { LoginOutcome } from '../../admin-auth/outcomes.js';
import { Nullable, OneOf, single } from '../../surfaces/schemas.js';
import { goesOn, OAuthError, PageRefusal, RedirectTo, Shared, SignInBarred, SignInRequired } from './json.js';
import { authorizeParameters } from './login.js';
import { type Documentation, InJson, Page, page, text } from './page.js';

const toProvider = { description: 'To the identity provider', type: 'null' };
const lettingNobodyIn = 'The provider refused, or its response does not let anybody in; the page shows a code `sso.…`';
const refused = Page(lettingNobodyIn);
const away = Page('The identity provider does not respond');
const stale = Page('The sign-in was started in another browser, is complete, or took too long');
const Left = Shared('LeftProvider', {
  redirect_to: Nullable(Type.String({ description: 'Where the person was going, if anywhere' })),
  is_unconfirmed: Type.Boolean({
    description: 'True if the provider has not confirmed that the person is signed out there too',
  }),
});
const leftPage = Page('Signed out here; with a link to where the person was going, if anywhere', Left);
const Tested = Shared('SsoTested', {
  status: OneOf(ssoTestStatuses),
  would: OneOf(ssoTestEffects, { description: 'What a sign-in would result in' }),
  reason: Nullable(Type.String({ description: 'Why the person would not be let in', example: 'sso.not_a_member' })),
});
const changed = 'What was proved has changed in the meantime. In JSON also if the next step is asked for';
const voidTest = Page('The link is unknown, has expired or has already been used');

const comingBack = {
  request: Type.String({ format: 'uuid' }),
  answer: text('The value with which the browser that brought the response was sent here'),
};
const completed = {
  303: { description: 'Back to the client, as from `/oauth/authorize`', type: 'null' },
  400: stale,
  401: Page(changed, ...goesOn[401]),
  403: Page(lettingNobodyIn, ...goesOn[403]),
  503: away,
};

/** The OpenAPI documentation of the way to an identity provider and back. */
export const ssoDocumentation: Documentation = {
  'GET /oauth/sso': page('startSso', 'Sign in through an SSO connection', {
    description:
      'An authorization request that uses this connection, which must be an active one of the environment for end users. ' +
      'Pages that report `sso_required` link to it.',
    querystring: Type.Object({ ...authorizeParameters, connection_id: Type.String() }),
    response: { 303: toProvider, 400: Page('The parameters are not valid'), 403: refused, 503: away },
  }),
  'POST /oauth/sso': page('findSso', 'Sign in through the identity provider of an email address', {
    description: 'The provider is found by the domain of the email address, whether or not the address is known.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...authorizeParameters, email: Type.String() }),
    response: {
      200: Page('To the identity provider; or the sign-in page again, if none is responsible', RedirectTo),
      400: Page('The parameters are not valid'),
      401: InJson('Instead of the sign-in page', SignInRequired),
      403: Page(`${lettingNobodyIn}. Or the form was sent from a foreign origin`, PageRefusal, SignInBarred),
      503: away,
    },
  }),
  'POST /oauth/sso/recovery': page('recoverSso', 'Sign in with a recovery code while an identity provider is down', {
    description:
      'For a person who has proved who they are in another way and got `sso_required`: with `Accept: application/json`, ' +
      'that response contains the `sso_recovery_token`, valid for ten minutes. A code of one of their organizations that ' +
      'require SSO works once.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...authorizeParameters, sso_recovery_token: Type.String(), recovery_code: Type.String() }),
    response: {
      200: Page('A second factor is required, or can be enrolled'),
      303: { description: 'Back to the client, as from `/oauth/authorize`', type: 'null' },
      400: Page('The parameters are not valid, or the sign-in took too long'),
      401: Page(changed, ...goesOn[401]),
      403: Page(
        'Sent from a foreign origin. Or the code is wrong or has been used, or the person is refused for another reason',
        ...goesOn[403],
      ),
    },
  }),
  'GET /sso/oidc/:connection_id/callback': page(
    'ssoOidcCallback',
    'Receive the authorization response of an OpenID provider',
    {
      description:
        'The redirect URI of a connection. It decides nothing: `/sso/complete` does, in the browser that was sent away, if ' +
        'it is this one.',
      params: Type.Object({ connection_id: Type.String() }),
      querystring: Type.Object({
        state: text('From our request; works once'),
        code: text('RFC 6749 §4.1.2', 'SplxlOBeZQQYbYS6WxSbIA'),
        iss: text('RFC 9207', 'https://idp.acme.example'),
        error: text('RFC 6749 §4.1.2.1', 'access_denied'),
      }),
      response: { 303: { description: 'To `/sso/complete`', type: 'null' }, 400: stale },
    },
  ),
  'POST /sso/oidc/:connection_id/backchannel-logout': page(
    'ssoBackchannelLogout',
    'Receive a back-channel logout of an OpenID provider',
    {
      description:
        'OpenID Connect Back-Channel Logout 1.0, as relying party: ends the sessions that were started here in the ' +
        "provider's session that `sid` names, or, with only a `sub`, all that the person started through the connection. A " +
        'token works once; if it is sent again, it gets the same response and ends nothing more. So do tokens for sessions ' +
        'that are unknown or have ended.',
      params: Type.Object({ connection_id: Type.String() }),
      consumes: ['application/x-www-form-urlencoded'],
      body: Type.Object({ logout_token: Type.String({ description: 'A signed JWT (§2.4)' }) }),
      response: {
        200: { description: 'Done', type: 'null' },
        400: InJson('The token is refused', OAuthError),
      },
    },
  ),
  'GET /sso/complete': page('completeSso', 'Complete a sign-in through an identity provider', {
    description:
      'Only the browser that was sent to the provider and has brought its answer goes on, once: with a code, a second factor, or a ' +
      'refusal. If somebody else is signed in in it, and none of our pages started the sign-in, the person is asked first.',
    querystring: Type.Object(comingBack),
    response: {
      ...completed,
      200: Page(
        "A second factor is required, or can be enrolled; or the result of a test sign-in, or of an administrator's sign-in; or " +
          'the question whether to continue as somebody else than is signed in',
        single(LoginOutcome),
        Tested,
      ),
      409: InJson('`confirmation_required`: the question', OAuthError),
    },
  }),
  'POST /sso/complete': page('confirmSso', 'Continue as somebody else than is signed in', {
    description: 'The form of the page that asks.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object(comingBack),
    response: {
      ...completed,
      200: Page(
        "A second factor is required, or can be enrolled; or the result of an administrator's sign-in",
        single(LoginOutcome),
      ),
      403: Page(`${lettingNobodyIn}. Or the form was sent from a foreign origin`, ...goesOn[403]),
    },
  }),
  'GET /sso/leave': page('leaveSso', 'Sign out at the identity provider', {
    description:
      'A sign-out leads here if its session was started through an SSO connection: a page that continues to the provider ' +
      'by itself, and then back to where the person was going. The session here has already ended. A link works once, for ' +
      'ten minutes.',
    querystring: Type.Object({ token: Type.String() }),
    response: {
      200: Page('To the provider; or that the person is signed out', Left),
      303: { description: 'Without the provider', type: 'null' },
    },
  }),
  'GET /sso/oidc/:connection_id/signed-out': page(
    'ssoOidcSignedOut',
    'Receive people who have signed out at an OpenID provider',
    {
      description:
        'The post-logout redirect URI of a connection. It continues only in the browser in which the sign-out was started.',
      params: Type.Object({ connection_id: Type.String() }),
      querystring: Type.Object({ state: text('From our request') }),
      response: { 200: leftPage, 303: { description: 'To `/sso/signed-out`', type: 'null' } },
    },
  ),
  'GET /sso/signed-out': page('ssoSignedOut', 'Continue after signing out at an identity provider', {
    description:
      'Only the browser that was sent to the provider continues, to where the person was going. If the provider has not ' +
      'confirmed the sign-out, the page says so and links there.',
    querystring: Type.Object({ request: Type.String({ format: 'uuid' }) }),
    response: { 200: leftPage, 303: { description: 'To where the sign-out was to lead', type: 'null' } },
  }),
  'GET /sso/test': page('showSsoTest', 'Show what the link of a test sign-in tests', {
    description: 'A page with a button. Nothing is used up.',
    querystring: Type.Object({ token: Type.String() }),
    response: {
      200: Page('The page', Type.Object({ connection: Type.String({ description: 'Its name' }) })),
      400: voidTest,
    },
  }),
  'POST /sso/test': page('startSsoTest', 'Start a test sign-in through an SSO connection', {
    description:
      "Uses the link, which works once. The provider's response is received as usual, and `/sso/complete` shows the " +
      'result; nobody is signed in.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ token: Type.String() }),
    response: {
      200: Page('To the identity provider; or that it cannot be reached', RedirectTo, Tested),
      400: voidTest,
      403: Page('Sent from a foreign origin'),
    },
  }),
};
