import { Type } from 'typebox';
import { Nullable, Timestamp } from '../../surfaces/schemas.js';
import { ConsentRequired, goesOn, PageRefusal, Shared, SignInBarred, SignInRequired } from './json.js';
import { type Documentation, InJson, Page, page, signedIn, text } from './page.js';

const Redirect = { description: 'Back to the client, with `code`, `state` and `iss`, or with an error', type: 'null' };

export const authorizeParameters = {
  client_id: Type.String(),
  redirect_uri: Type.String({ description: 'Exactly as registered; the port of a loopback address may vary' }),
  response_type: Type.String({ description: 'Only `code`' }),
  scope: text(
    '`openid profile email org permissions`; unknown scopes are ignored. `org` adds the claim `organizations`',
  ),
  state: text('Returned unchanged'),
  nonce: text('Returned in the ID token'),
  code_challenge: text('RFC 7636; required for public clients, and for confidential ones unless they are exempt'),
  code_challenge_method: text('Only `S256`'),
  prompt: text(
    '`none`, `login`, `consent` (for clients with `consent_required`), `select_account`. If the environment has ' +
      '`sso_require_confirmation`, or is of type `production` and a public client gets its response at a loopback address ' +
      'or a private-use scheme, a person who is already signed in is asked as with `select_account`, and `none` is ' +
      'answered with `interaction_required`. With `consent_required`, such a client asks for consent every time',
  ),
  max_age: text('Seconds since the last sign-in after which the person must sign in again'),
  id_token_hint: text('Identifies the person who is expected'),
  login_hint: text('The email address to prefill'),
  organization: text(
    'The ID or slug of the organization that the sign-in is for. Only its members can complete it; others return with ' +
      '`access_denied`. The tokens name it as `organization_id`, as long as the membership lasts. If several organizations ' +
      'under different parents have this slug, send the ID. A client with `consent_required` must also request the scope ' +
      '`org`, or gets `invalid_scope`',
  ),
  ui_locales: text('`en`, `de`'),
  acr_values: text(
    '`urn:gatehouse:aal2` requires a second factor; followed by `urn:gatehouse:aal1`, only of people who have one',
  ),
  method: text(
    '`code` opens the view that emails a code, if the environment allows it; `password` opens the page that asks who it ' +
      'is. With either, nobody is redirected to an identity provider unasked. `recovery` is like `password`, even if ' +
      '`organization` requires its provider: whoever has proved who they are continues with one of its recovery codes, and ' +
      'not without',
  ),
};
const notLetIn =
  'Sent from a foreign origin. Or the credentials are correct, and an organization of the person does not let its ' +
  'members sign in this way (`login.method_not_allowed`, `sso_required`), or the deadline for enrolling a second ' +
  'factor has passed';
const askedAgain = 'Instead of the page (200): a sign-in or a second factor is required';
const changedMeanwhile =
  'What was proved has changed in the meantime. In JSON also instead of the page that asks again, or for a second factor';
const captcha = {
  'cf-turnstile-response': text('The response of the captcha widget, if the environment requires a captcha'),
};
const logoutParameters = {
  id_token_hint: text('Of the session to end'),
  client_id: text('Required if there is no hint'),
  post_logout_redirect_uri: text('Exactly as registered'),
  state: text('Returned unchanged'),
  ui_locales: text('`en`, `de`'),
};

const CodeSent = Shared('LoginCodeSent', {
  login_token: Type.String({ description: 'For `/oauth/login/email-otp/verify`' }),
  expires_at: Timestamp,
});
const CodeRefused = Shared('LoginCodeRefused', { ...PageRefusal.properties, login_token: Type.String() });
const SignedOut = Type.Object({
  redirect_to: Nullable(Type.String({ description: 'Null if there is nowhere to go next' })),
});

/** The OpenAPI documentation of the hosted pages. */
export const loginDocumentation: Documentation = {
  'GET /oauth/authorize': page('authorize', 'Start a sign-in (OpenID Connect Core §3.1.2)', {
    querystring: Type.Object(authorizeParameters),
    description:
      'If the person has to sign in and an identity provider is responsible, the browser is redirected to it (303): to the ' +
      'SSO connection of `organization`, the one for the domain of `login_hint`, or else the default one of the ' +
      'environment. The same happens if the session is not that of a member of `organization`, so that the person can sign ' +
      'in there as somebody else.',
    response: {
      200: Page('The sign-in page'),
      303: Redirect,
      400: Page('The parameters are not valid'),
      401: InJson(askedAgain, SignInRequired, ...goesOn[401]),
      403: Page(
        'No sign-in method is left, or an organization of the person does not allow the one used before',
        ...goesOn[403],
      ),
      503: Page('The identity provider does not respond'),
    },
  }),
  'POST /oauth/authorize': page('submitSignIn', 'Start a sign-in by form, or submit its credentials', {
    description:
      'With OAuth parameters only, it is an authorization request, which is redirected to the GET (303). With `email` and ' +
      '`password`, it is the sign-in form; every parameter is checked again. `choice` answers ' +
      '`account_selection_required`: `continue` continues, `other` starts again, at the identity provider that is ' +
      'responsible or else on the page.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({
      ...authorizeParameters,
      ...captcha,
      email: text('Of the person'),
      password: text('Of the person'),
    }),
    response: {
      200: Page('The form again, because the credentials are not correct; or the next step; 401 in JSON'),
      303: { description: 'Back to the client with a code; for an authorization request, to its GET', type: 'null' },
      400: Page('The parameters are not valid'),
      401: Page(changedMeanwhile, SignInRequired, ...goesOn[401]),
      403: Page(notLetIn, ...goesOn[403]),
      429: Page('Too many failures; retry after `Retry-After`'),
      503: Page('The identity provider of the email address does not respond'),
    },
  }),
  'GET /oauth/consent': page('askForConsent', 'Ask for consent to what an application requests', {
    description:
      'For clients with `consent_required`, if the person has not consented to all of `scope` yet, or `prompt=consent` ' +
      'asks again: every sign-in leads here instead of to the client, with the parameters of the authorization request. ' +
      'Anybody who is not signed in starts at the sign-in (303).',
    querystring: Type.Object({ ...authorizeParameters, signed_in: signedIn }),
    response: {
      200: Page('The question'),
      303: {
        description: 'To the authorization endpoint, if there is nothing to ask or nobody is signed in',
        type: 'null',
      },
      400: Page('The parameters are not valid, or the browser does not accept cookies'),
      409: InJson('The question', ConsentRequired),
    },
  }),
  'POST /oauth/consent': page('answerConsent', 'Grant or deny an application what it requests', {
    description: 'Consent is kept until the person withdraws it. If it is denied, the client gets `access_denied`.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({
      ...authorizeParameters,
      session: Type.String({
        description: 'The session to which the question was shown; a person with another session is asked again',
      }),
      choice: Type.String({ description: '`allow` or `deny`', example: 'allow' }),
    }),
    response: {
      200: Page(
        'The question again, because somebody else is signed in by now (409 in JSON). Or a page that continues to the ' +
          'sign-in, if an identity provider may sign people in',
      ),
      303: Redirect,
      400: Page('The parameters are not valid'),
      403: Page('Sent from a foreign origin'),
      409: InJson('The question again', ConsentRequired),
    },
  }),
  'POST /oauth/login/email-otp/start': page('startEmailCode', 'Email a sign-in code', {
    description:
      'The response is the same whether or not the email address is known. Only if emailed codes are disabled, or the ' +
      'captcha was not solved, the form is shown again with an error.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({
      ...authorizeParameters,
      ...captcha,
      email: Type.String(),
      login_token: text('From the page that asks for another code: the newer code replaces the older one'),
    }),
    response: {
      200: Page('Says that a code is on its way, and asks for it', CodeSent),
      400: Page('The parameters are not valid'),
      401: InJson('Instead of the form, which is shown again with 200', SignInRequired),
      403: Page('Sent from a foreign origin, or no sign-in method is left', PageRefusal, SignInBarred),
    },
  }),
  'POST /oauth/login/email-otp/verify': page('verifyEmailCode', 'Sign in with an emailed code', {
    description:
      'The code works once, for ten minutes and five attempts, with the `login_token` of the page that asked for it and ' +
      'the same authorization request. It confirms the email address; in an environment without passwords that allows ' +
      'sign-ups, the first code creates the identity.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...authorizeParameters, code: Type.String(), login_token: Type.String() }),
    response: {
      200: Page('Asks for the code again, because it is not correct; or the next step, a second factor. 401 in JSON'),
      303: Redirect,
      400: Page(
        'The parameters are not valid. Or the form was sent twice, and this browser does not have the session of the first ' +
          'one, with which it would continue (303); 401 in JSON',
      ),
      401: Page(changedMeanwhile, CodeRefused, SignInRequired, ...goesOn[401]),
      403: Page(notLetIn, ...goesOn[403]),
    },
  }),
  'GET /oauth/logout': page('askToEndSession', 'Sign out (OpenID Connect RP-Initiated Logout)', {
    description:
      'With an `id_token_hint` of the person who is signed in in this browser, the session ends immediately, with ' +
      'everything that applications were granted in it; without a hint, the person is asked. The session that the hint ' +
      'belongs to (`sid`) ends too, even if the browser has another one by now, or none. The browser is only redirected to ' +
      'a registered URI.',
    querystring: Type.Object(logoutParameters),
    response: {
      200: Page('Asks for confirmation (409 in JSON), or says that it is done', SignedOut),
      303: Redirect,
      400: Page('The parameters are not valid'),
      409: InJson('The person has to confirm', PageRefusal),
    },
  }),
  'POST /oauth/logout': page('endSession', 'Sign out by form, or confirm it', {
    description: 'Like the GET; `confirm` is sent by the form that asks for confirmation.',
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...logoutParameters, confirm: text('`yes` or `no`') }),
    response: {
      200: Page(
        'Says that it is done; or that the person stays signed in, if there is nowhere to return to',
        SignedOut,
      ),
      303: Redirect,
      400: Page('The parameters are not valid'),
      403: Page('Sent from a foreign origin'),
    },
  }),
};
