import { Type } from 'typebox';
import { Nullable, Timestamp } from '../schemas.js';
import { ConsentRequired, goesOn, PageRefusal, Shared, SignInBarred, SignInRequired } from './documentation-json.js';
import { type Documentation, InJson, Page, page, signedIn, text } from './documentation-page.js';

const Redirect = { description: 'Back to the client, with `code`, `state` and `iss`, or with an error', type: 'null' };

export const authorizeParameters = {
  client_id: Type.String(),
  redirect_uri: Type.String({ description: 'Exactly as registered; a loopback address may vary its port' }),
  response_type: Type.String({ description: 'Only `code`' }),
  scope: text(
    '`openid profile email org permissions`; unknown ones are left out. `org` gives the claim `organizations`',
  ),
  state: text('Comes back unchanged'),
  nonce: text('Comes back in the ID token'),
  code_challenge: text('RFC 7636; required of public clients, and of confidential ones unless they are exempt'),
  code_challenge_method: text('Only `S256`'),
  prompt: text(
    '`none`, `login`, `consent` (of clients with `consent_required`), `select_account`. Where the Environment has `sso_require_confirmation`, or is of type ' +
      '`production` and a public client is answered at a loopback address or a private-use scheme, somebody who is signed in is asked as by ' +
      '`select_account`, and `none` is answered `interaction_required`. With `consent_required` such a client asks for consent each time',
  ),
  max_age: text('Seconds since the sign-in after which it has to be repeated'),
  id_token_hint: text('Who is expected'),
  login_hint: text('The address to begin with'),
  organization: text(
    'Id or slug of the organization that the sign-in is for. Only its members finish; others come back with `access_denied`. The ' +
      'tokens name it as `organization_id`, as long as the membership lasts. Where several have this slug under different ' +
      'parents, send the id. A client with `consent_required` asks for the scope `org` with it, or is answered `invalid_scope`',
  ),
  ui_locales: text('`en`, `de`'),
  acr_values: text(
    '`urn:gatehouse:aal2` asks for a second factor; with `urn:gatehouse:aal1` behind it only who has one',
  ),
  method: text(
    '`code` opens the view that mails a code, where the Environment allows it; `password` the page that asks who it is. With ' +
      'either, nobody is sent to an identity provider unasked. `recovery` is `password` also where `organization` requires its ' +
      'provider: whoever has proved who they are goes on by one of its recovery codes, and not without',
  ),
};
const notLetIn =
  'Sent from a foreign origin. Or the credentials are right, and an organization of the person does not let its members sign ' +
  'in this way (`login.method_not_allowed`, `sso_required`), or the time to enroll a second factor is over';
const askedAgain = 'Instead of the page, which has 200: who it is, or a second factor, is asked for';
const changedMeanwhile =
  'What was proved has changed meanwhile. In JSON also instead of the page that asks again, or for a second factor';
const captcha = {
  'cf-turnstile-response': text('Where the Environment demands a captcha: what its widget answers'),
};
const logoutParameters = {
  id_token_hint: text('Of the session to end'),
  client_id: text('Where there is no hint'),
  post_logout_redirect_uri: text('Exactly as registered'),
  state: text('Comes back unchanged'),
  ui_locales: text('`en`, `de`'),
};

const CodeSent = Shared('LoginCodeSent', {
  login_token: Type.String({ description: 'For `/oauth/login/email-otp/verify`' }),
  expires_at: Timestamp,
});
const CodeRefused = Shared('LoginCodeRefused', { ...PageRefusal.properties, login_token: Type.String() });
const SignedOut = Type.Object({
  redirect_to: Nullable(Type.String({ description: 'Null where there is nowhere to go on' })),
});

/** What the OpenAPI document says of the hosted pages. */
export const loginDocumentation: Documentation = {
  'GET /oauth/authorize': page('authorize', 'Begin a sign-in (OpenID Connect Core §3.1.2)', {
    querystring: Type.Object(authorizeParameters),
    description:
      'Whoever has to sign in is sent straight to the identity provider (303) where one is responsible: the SSO connection of ' +
      '`organization`, the one for the domain of `login_hint`, or else the default one of the Environment. So is whoever does not belong to ' +
      '`organization` by their session, to be somebody else there.',
    response: {
      200: Page('The sign-in page'),
      303: Redirect,
      400: Page('The parameters are not valid'),
      401: InJson(askedAgain, SignInRequired, ...goesOn[401]),
      403: Page(
        'No way of signing in is left, or an organization of the person does not take the one of before',
        ...goesOn[403],
      ),
      503: Page('The identity provider does not answer'),
    },
  }),
  'POST /oauth/authorize': page('submitSignIn', 'Begin a sign-in by form, or send its credentials', {
    description:
      'With OAuth parameters only it is an authorization request, answered by 303 to its GET. With `email` and `password` ' +
      'it is the sign-in form; every parameter is checked again. `choice` answers `account_selection_required`: `continue` goes on, ' +
      '`other` begins anew, by the identity provider that is responsible or else by the page.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({
      ...authorizeParameters,
      ...captcha,
      email: text('Of the person'),
      password: text('Of the person'),
    }),
    response: {
      200: Page('The form again, because the credentials are not right; or the next step; 401 in JSON'),
      303: { description: 'Back to the client with a code; an authorization request, to its GET', type: 'null' },
      400: Page('The parameters are not valid'),
      401: Page(changedMeanwhile, SignInRequired, ...goesOn[401]),
      403: Page(notLetIn, ...goesOn[403]),
      429: Page('Too many failures; `Retry-After` says when'),
      503: Page('The identity provider of the address does not answer'),
    },
  }),
  'GET /oauth/consent': page('askForConsent', 'Ask what the person allows an application', {
    description:
      'Of clients with `consent_required`, where the person has not allowed all of `scope` yet, or `prompt=consent` asks again: every way ' +
      'of signing in leads here in the place of the client, with the parameters of the authorization request. Whoever is not signed in ' +
      'begins there (303).',
    querystring: Type.Object({ ...authorizeParameters, signed_in: signedIn }),
    response: {
      200: Page('The question'),
      303: {
        description: 'To the authorization endpoint, where there is nothing to ask or nobody is signed in',
        type: 'null',
      },
      400: Page('The parameters are not valid; or the browser does not keep cookies'),
      409: InJson('The question', ConsentRequired),
    },
  }),
  'POST /oauth/consent': page('answerConsent', 'Allow an application what it asks for, or deny it', {
    description: 'What is allowed is kept until the person takes it back. Denied, the client gets `access_denied`.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({
      ...authorizeParameters,
      session: Type.String({ description: 'The session that the question was shown to; another one is asked anew' }),
      choice: Type.String({ description: '`allow` or `deny`' }),
    }),
    response: {
      200: Page(
        'The question again, since somebody else is signed in by now; 409 in JSON. Or the way on to the sign-in, where an identity provider may sign people in',
      ),
      303: Redirect,
      400: Page('The parameters are not valid'),
      403: Page('Sent from a foreign origin'),
      409: InJson('The question again', ConsentRequired),
    },
  }),
  'POST /oauth/login/email-otp/start': page('startEmailCode', 'Have a code mailed to sign in with', {
    description:
      'The answer is the same whether or not anybody has the address. Only where emailed codes are off, or the captcha was ' +
      'not solved, the form comes again with an error.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({
      ...authorizeParameters,
      ...captcha,
      email: Type.String(),
      login_token: text('Of the page that asks for another code: the newer one takes the place of the older one'),
    }),
    response: {
      200: Page('Says that a code is on its way, and asks for it', CodeSent),
      400: Page('The parameters are not valid'),
      401: InJson('Instead of the form, which comes again with 200', SignInRequired),
      403: Page('Sent from a foreign origin; or no way of signing in is left', PageRefusal, SignInBarred),
      429: Page('Too many requests; `Retry-After` says when'),
    },
  }),
  'POST /oauth/login/email-otp/verify': page('verifyEmailCode', 'Sign in with the code that was mailed', {
    description:
      'The code works once, for ten minutes and five tries, with the `login_token` of the page that asked for it and the ' +
      'same authorization request. It confirms the address; where an Environment has no passwords and lets people sign ' +
      'up, the first one makes the identity.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...authorizeParameters, code: Type.String(), login_token: Type.String() }),
    response: {
      200: Page('Asks for the code again, because it is not right. Or the next step: a second factor. 401 in JSON'),
      303: Redirect,
      400: Page(
        'The parameters are not valid. Or the form has come twice, and the session of the first one is not in this browser, which ' +
          'would go on by it (303); 401 in JSON',
      ),
      401: Page(changedMeanwhile, CodeRefused, SignInRequired, ...goesOn[401]),
      403: Page(notLetIn, ...goesOn[403]),
      429: Page('Too many tries; `Retry-After` says when'),
    },
  }),
  'GET /oauth/logout': page('askToEndSession', 'Sign out (OpenID Connect RP-Initiated Logout)', {
    description:
      'With an `id_token_hint` of whom this browser has signed in it is over at once, with all that applications were given in it; without, the ' +
      'person is asked. The session that the hint is of (`sid`) ends, too, where the browser has another one by now, or none. Whoever is sent ' +
      'back goes to a registered address only.',
    querystring: Type.Object(logoutParameters),
    response: {
      200: Page('Asks (409 in JSON), or says that it is done', SignedOut),
      303: Redirect,
      400: Page('The parameters are not valid'),
      409: InJson('The person has to confirm it', PageRefusal),
    },
  }),
  'POST /oauth/logout': page('endSession', 'Sign out by form, or answer the question', {
    description: 'As the GET; `confirm` is what the question’s own form sends.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...logoutParameters, confirm: text('`yes` or `no`') }),
    response: {
      200: Page('Says that it is done; or that the person stays, where there is nowhere to go back to', SignedOut),
      303: Redirect,
      400: Page('The parameters are not valid'),
      403: Page('Sent from a foreign origin'),
    },
  }),
};
