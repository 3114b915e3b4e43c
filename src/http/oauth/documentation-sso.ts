import { Type } from 'typebox';
import { ssoTestEffects, ssoTestStatuses } from '../../domain/sso-sign-in/test-report.js';
import { LoginOutcome } from '../admin-auth/outcomes.js';
import { Nullable, OneOf, single } from '../schemas.js';
import {
  goesOn,
  OAuthError,
  PageRefusal,
  RedirectTo,
  Shared,
  SignInBarred,
  SignInRequired,
} from './documentation-json.js';
import { authorizeParameters } from './documentation-login.js';
import { type Documentation, InJson, Page, page, text } from './documentation-page.js';

const toProvider = { description: 'On to the identity provider', type: 'null' };
const lettingNobodyIn = 'The provider refused, or its answer lets nobody in here; the page has a code `sso.…`';
const refused = Page(lettingNobodyIn);
const away = Page('The identity provider does not answer');
const stale = Page('The sign-in began in another browser, was completed, or took too long');
const Left = Shared('LeftProvider', {
  redirect_to: Nullable(Type.String({ description: 'Where the person was going, if anywhere' })),
  is_unconfirmed: Type.Boolean({ description: 'Whether the provider has not said that they are out there, too' }),
});
const leftPage = Page('Signed out here; with a link to where the person was going, if anywhere', Left);
const Tested = Shared('SsoTested', {
  status: OneOf(ssoTestStatuses),
  would: OneOf(ssoTestEffects, { description: 'What a sign-in would come to' }),
  reason: Nullable(Type.String({ description: 'Why somebody would not get in', example: 'sso.not_a_member' })),
});
const changed = 'What was proved has changed meanwhile. In JSON also where the next step is asked for';
const voidTest = Page('The link is unknown, has expired or was used already');

/** What the OpenAPI document says of the way to an identity provider and back. */
export const ssoDocumentation: Documentation = {
  'GET /oauth/sso': page('startSso', 'Sign in by an SSO connection', {
    description:
      'An authorization request that goes by this connection, which is an active one of the Environment for end users. ' +
      'Pages that say `sso_required` link to it.',
    querystring: Type.Object({ ...authorizeParameters, connection_id: Type.String() }),
    response: { 303: toProvider, 400: Page('The parameters are not valid'), 403: refused, 503: away },
  }),
  'POST /oauth/sso': page('findSso', 'Sign in by the identity provider of an address', {
    description: 'The provider is found by the domain of the address, whether or not anybody has it.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...authorizeParameters, email: Type.String() }),
    response: {
      200: Page('On to the identity provider; or the sign-in page again, where none is responsible', RedirectTo),
      400: Page('The parameters are not valid'),
      401: InJson('Instead of the sign-in page', SignInRequired),
      403: Page(lettingNobodyIn, PageRefusal, SignInBarred),
      503: away,
    },
  }),
  'POST /oauth/sso/recovery': page('recoverSso', 'Sign in by a recovery code while an identity provider is down', {
    description:
      'For somebody who has proved who they are in another way and was answered `sso_required`: with `Accept: application/json` that ' +
      'answer has the `sso_recovery_token`, for ten minutes. A code of an organization of theirs that requires SSO works once.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...authorizeParameters, sso_recovery_token: Type.String(), recovery_code: Type.String() }),
    response: {
      200: Page('A second factor is asked for, or can be enrolled'),
      303: { description: 'Back to the client, as from authorize', type: 'null' },
      400: Page('The parameters are not valid, or the sign-in took too long'),
      401: Page(changed, ...goesOn[401]),
      403: Page('The code is wrong or was used; or the person is refused for another reason', ...goesOn[403]),
      429: Page('Too many tries'),
    },
  }),
  'GET /sso/oidc/:connection_id/callback': page('ssoOidcCallback', 'Where an OpenID provider sends people back to', {
    description:
      'The redirect URI of a connection. Nothing is decided here: `/sso/complete` does, in the browser that was sent away, if it is this one.',
    params: Type.Object({ connection_id: Type.String() }),
    querystring: Type.Object({
      state: text('Of our request; it works once'),
      code: text('RFC 6749 §4.1.2'),
      iss: text('RFC 9207'),
      error: text('RFC 6749 §4.1.2.1'),
    }),
    response: { 303: { description: 'To `/sso/complete`', type: 'null' }, 400: stale },
  }),
  'POST /sso/oidc/:connection_id/backchannel-logout': page(
    'ssoBackchannelLogout',
    'Where an OpenID provider says that a session there is over',
    {
      description:
        'OpenID Connect Back-Channel Logout 1.0, as its relying party: ends what began here in the session that `sid` names, or all that ' +
        'the person began by the connection where there is a `sub` alone. A token works once. Ones of sessions that nobody knows, or that ' +
        'have ended, are answered alike.',
      params: Type.Object({ connection_id: Type.String() }),
      consumes: ['application/x-www-form-urlencoded'],
      body: Type.Object({ logout_token: Type.String({ description: 'A signed JWT (§2.4)' }) }),
      response: {
        200: { description: 'Done', type: 'null' },
        400: InJson('The token is refused', OAuthError),
      },
    },
  ),
  'GET /sso/complete': page('completeSso', 'Go on after the identity provider', {
    description:
      'Only the browser that was sent to the provider and has brought its answer goes on, once: with a code, a second factor, or a ' +
      'refusal.',
    querystring: Type.Object({
      request: Type.String({ format: 'uuid' }),
      answer: text('What the browser that brought the answer was sent here with'),
    }),
    response: {
      200: Page(
        'A second factor is asked for, or can be enrolled; or what came of a test sign-in, or of an administrator’s',
        single(LoginOutcome),
        Tested,
      ),
      303: { description: 'Back to the client, as from authorize', type: 'null' },
      400: stale,
      401: Page(changed, ...goesOn[401]),
      403: Page(lettingNobodyIn, ...goesOn[403]),
      503: away,
    },
  }),
  'GET /sso/leave': page('leaveSso', 'Leave the identity provider after signing out', {
    description:
      'Where a sign-out leads whose session began by an SSO connection: a page that goes on to its provider by itself, and back to where ' +
      'the person was going. The session here has ended before. A link works once, for ten minutes.',
    querystring: Type.Object({ token: Type.String() }),
    response: {
      200: Page('On to the provider; or that the person is signed out', Left),
      303: { description: 'Past the provider', type: 'null' },
    },
  }),
  'GET /sso/oidc/:connection_id/signed-out': page(
    'ssoOidcSignedOut',
    'Where an OpenID provider sends people who have left it',
    {
      description:
        'The post-logout redirect URI of a connection. Only where the sign-out itself began does it go on from here.',
      params: Type.Object({ connection_id: Type.String() }),
      querystring: Type.Object({ state: text('Of our request') }),
      response: { 200: leftPage, 303: { description: 'To `/sso/signed-out`', type: 'null' } },
    },
  ),
  'GET /sso/signed-out': page('ssoSignedOut', 'Go on after having left an identity provider', {
    description:
      'Only the browser that was sent to the provider goes on, to where its person was going. Where the provider has not confirmed that ' +
      'they are out, the page says so and links there.',
    querystring: Type.Object({ request: Type.String({ format: 'uuid' }) }),
    response: { 200: leftPage, 303: { description: 'On, as the sign-out asked', type: 'null' } },
  }),
  'GET /sso/test': page('showSsoTest', 'Show what the link of a test sign-in tries out', {
    description: 'A page with a button. Nothing is used up.',
    querystring: Type.Object({ token: Type.String() }),
    response: {
      200: Page('The page', Type.Object({ connection: Type.String({ description: 'Its name' }) })),
      400: voidTest,
    },
  }),
  'POST /sso/test': page('startSsoTest', 'Begin a test sign-in by an SSO connection', {
    description:
      'Uses the link, once. The provider’s answer comes back as ever, and `/sso/complete` shows what it came to; nobody is signed in.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ token: Type.String() }),
    response: {
      200: Page('On to the identity provider; or that it cannot be asked', RedirectTo, Tested),
      400: voidTest,
      403: Page('The form is of another site'),
    },
  }),
};
