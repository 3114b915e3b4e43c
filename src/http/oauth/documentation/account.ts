import { type TProperties, type TSchema, Type } from 'typebox';
import { RecoveryCodes } from '../../mfa/schemas.js';
import { Overview } from '../account/overview-json.js';
import { PageRefusal, RedirectTo, ScriptRefusal, Shared } from './json.js';
import { type Answer, type Answers, type Documentation, InJson, Page, page, signedIn, text } from './page.js';
import { CreationOptions } from './webauthn.js';

const place = {
  client_id: Type.String({ description: 'The client of the environment whose session is meant' }),
  ui_locales: text('`en`, `de`'),
};
const session = {
  ...place,
  session: Type.String({ description: 'The session to which the page was shown; with another one, nothing changes' }),
};
const ToSignIn = { description: 'To the sign-in, which leads back here', type: 'null' };
const Done = {
  description: 'To the overview, which says what was done; or to a new sign-in, and then back to the page of the form',
  type: 'null',
};
const LeadsOn = Page(
  'A page that continues to the sign-in, if an identity provider may sign people in: a form may not be redirected there',
);
const TotpBegun = Type.Object({
  secret: Type.String({ description: 'Base32' }),
  uri: Type.String({
    description: 'For an authenticator app on the same device',
    example: 'otpauth://totp/Acme:ana%40example.com',
  }),
  enrollment: Type.String({ description: 'Send it with the first code' }),
});
const EmailCode = Shared('OwnEmailCode', {
  email: Type.String(),
  sent: Type.Boolean({ description: 'Whether a code was emailed' }),
});
const Invalid = Page('The parameters are not valid');
const Refused = Page('The parameters are not valid, or the browser does not accept cookies');
const Foreign = Page('Sent from a foreign origin, or no sign-in can be strong enough');
const NotProvable = Page('No sign-in can be strong enough, or the environment does not allow the factor');
const Changed = Page(
  'The account has changed since the page was shown; in JSON `session_changed` if somebody else is signed in by now',
);
const NotFound = Page('The person has none with this ID');
const proven =
  'Requires a sign-in within the last ten minutes, with a second factor if the person has one; otherwise it leads ' +
  'through the sign-in first.';
const changes = 'Changes the account of the person who is signed in in this browser.';
const shown =
  'A page for the person who is signed in in this browser; anybody else is led through the sign-in first. Viewing it ' +
  'changes nothing.';

const show = (
  operationId: string,
  summary: string,
  shows: Answer,
  more: { query?: TProperties; answers?: Answers } = {},
) =>
  page(operationId, summary, {
    description: shown,
    querystring: Type.Object({ ...place, signed_in: signedIn, ...more.query }),
    response: { 200: shows, 303: ToSignIn, 400: Refused, 403: NotProvable, ...more.answers },
  });
const form = (
  operationId: string,
  summary: string,
  body: TProperties,
  { description = changes, answers = {} }: { description?: string; answers?: Answers } = {},
) =>
  page(operationId, summary, {
    description,
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object({ ...session, ...body }),
    response: { 200: LeadsOn, 303: Done, 400: Invalid, 403: Foreign, 409: Changed, ...answers },
  });
const sensitive = (answers: Answers = {}) => ({ description: proven, answers });
const ending = {
  description: `If the environment has \`session_end_require_recent_sign_in\`: ${proven
    .replace('Requires', 'requires')
    .replace('has one', 'has one that the environment allows')}`,
  answers: { 404: NotFound },
};
const script = (operationId: string, summary: string, body: TProperties, ...answers: TSchema[]) =>
  page(operationId, summary, {
    description: `For the script of the page. ${proven}`,
    body: Type.Object({ ...session, ...body }),
    response: {
      200: InJson('The options; or where to sign in again first', ...answers),
      400: InJson('`mfa.code_invalid`, `mfa.enrollment_expired` or another error', ScriptRefusal),
      403: InJson('Sent from a foreign origin, or no sign-in can be strong enough', ScriptRefusal),
      409: InJson('`session_changed`: somebody else is signed in by now', ScriptRefusal),
    },
  });

/** The OpenAPI documentation of the pages of a person's own account. */
export const accountDocumentation: Documentation = {
  'GET /oauth/account': show(
    'showAccount',
    "Show the signed-in person's account: how they sign in, where they are signed in, and which applications have access",
    Page('The overview', Overview),
    { query: { done: text('What was just done; set by redirects of our own forms') } },
  ),
  'GET /oauth/account/launch': page(
    'launchApplication',
    'Open an application, which then starts a sign-in of its own',
    {
      description:
        "For sign-ins that the application has not started, such as one from a tile in an identity provider's portal: leads " +
        'to its `initiate_login_uri`, with `iss` and `login_hint` (OpenID Connect Core 1.0 §4). Anybody who is not signed in ' +
        'is led through the sign-in first.',
      querystring: Type.Object({ ...place, signed_in: signedIn }),
      response: {
        200: Page('A page that continues to the application'),
        303: { description: 'To the account if the application has no such URI, or to the sign-in', type: 'null' },
        400: Refused,
      },
    },
  ),
  'GET /oauth/account/password': show(
    'askForNewPassword',
    'Show the form for changing the password',
    Page('The form'),
    {
      answers: { 404: Page('The environment does not allow passwords') },
    },
  ),
  'POST /oauth/account/password': form(
    'changeOwnPassword',
    'Change the password, and end all other sessions',
    { current_password: text('Required if the person has a password'), new_password: Type.String() },
    sensitive({
      400: Page('The form again, because a password was not accepted'),
      404: Page('The environment does not allow passwords'),
      429: Page('Too many wrong passwords'),
    }),
  ),
  'GET /oauth/account/email': show(
    'askForNewEmail',
    'Show the form for changing the email address',
    Page('The form', EmailCode),
    { answers: { 404: Page('The environment does not allow it') } },
  ),
  'POST /oauth/account/email': form(
    'changeOwnEmail',
    'Email a code to a new address, or change the address with it, and end all other sessions',
    { email: text('The new address; required without `code`'), code: text('If it is left out, a code is emailed') },
    sensitive({
      200: Page('Asks for the code', EmailCode),
      400: Page('The form again, because the address or the code is not valid'),
      404: Page('The environment does not allow it'),
      409: Page('It is the current address, or somebody else has it by now; or as for the other changes'),
      429: Page('Too many requests, or too many wrong codes'),
    }),
  ),
  'GET /oauth/account/factors/totp': show(
    'beginOwnTotp',
    'Show the QR code and key for adding an authenticator app',
    Page('The form', TotpBegun),
  ),
  'POST /oauth/account/factors/totp': form(
    'addOwnTotp',
    'Add an authenticator app with its first code',
    {
      enrollment: Type.String({ description: 'From the page that showed the secret' }),
      code: Type.String(),
      label: text('Its name'),
    },
    sensitive({
      400: Page('The form again, because the code is not correct; 401 in JSON'),
      401: InJson('The code is not correct', PageRefusal),
    }),
  ),
  'GET /oauth/account/factors/email-otp': show(
    'beginOwnEmailOtp',
    'Show the form for adding codes by email',
    Page('The form', EmailCode),
  ),
  'POST /oauth/account/factors/email-otp': form(
    'addOwnEmailOtp',
    'Email a first code, or add codes by email with it',
    { code: text('If it is left out, a code is emailed') },
    sensitive({
      200: Page('Asks for the code', EmailCode),
      400: Page('The parameters are not valid; or the form again, because the code is not correct (401 in JSON)'),
      401: InJson('The code is not correct', PageRefusal),
      429: Page('Too many codes, or too many wrong ones'),
    }),
  ),
  'GET /oauth/account/factors/webauthn': show(
    'beginOwnWebauthn',
    'Show the page for adding a passkey or security key',
    Page('A page whose script calls the authenticator'),
  ),
  'POST /oauth/account/factors/webauthn/options': script(
    'getOwnWebauthnOptions',
    'Get the options for `navigator.credentials.create`',
    {},
    RedirectTo,
    Type.Object({
      options: CreationOptions,
      enrollment: Type.String({ description: 'Send it with the response to these options' }),
    }),
  ),
  'POST /oauth/account/factors/webauthn': script(
    'addOwnWebauthn',
    "Add a passkey or security key with the authenticator's response",
    { enrollment: Type.String(), credential: Type.Object({}, { additionalProperties: true }), label: text('Its name') },
    RedirectTo,
  ),
  'GET /oauth/account/factors/:id': show(
    'askToRemoveOwnFactor',
    'Ask for confirmation before a factor is removed',
    Page('The question'),
    {
      answers: { 404: NotFound, 409: Page('It is the last factor, and one is required here') },
    },
  ),
  'POST /oauth/account/factors/:id': form(
    'removeOwnFactor',
    'Remove a second factor',
    {},
    sensitive({
      404: NotFound,
      409: Page('It is the last factor, and the environment requires one; or as for the other changes'),
    }),
  ),
  'GET /oauth/account/factors/:id/name': show(
    'askForOwnFactorName',
    'Show the form for naming a factor',
    Page('The form'),
    {
      answers: { 404: NotFound },
    },
  ),
  'POST /oauth/account/factors/:id/name': form(
    'renameOwnFactor',
    'Rename a second factor',
    { label: text('Its name; if it is left out, the name stays') },
    { answers: { 404: NotFound } },
  ),
  'GET /oauth/account/recovery-codes': show(
    'askForNewRecoveryCodes',
    'Ask for confirmation before recovery codes are replaced, or show the new ones once',
    Page('The question; with `codes_token`, the codes', Type.Object({ recovery_codes: RecoveryCodes })),
    {
      query: { codes_token: text('Encrypted; works once, for ten minutes, in the session that created the codes') },
      answers: { 409: Page('The person has no second factor that they could replace') },
    },
  ),
  'POST /oauth/account/recovery-codes': form(
    'renewOwnRecoveryCodes',
    'Replace the recovery codes',
    {},
    sensitive({ 409: Page('The person has no second factor that they could replace; or as for the other changes') }),
  ),
  'POST /oauth/account/sessions': form(
    'endOwnSessions',
    'Sign out of another browser, or of all others',
    { end: Type.String({ description: 'The ID of a session, or `others`' }) },
    ending,
  ),
  'POST /oauth/account/devices': form(
    'forgetOwnDevices',
    'Stop trusting a browser, or all browsers',
    { forget: Type.String({ description: 'The ID of a trusted browser, or `all`' }) },
    { answers: { 404: NotFound } },
  ),
  'POST /oauth/account/applications': form(
    'endOwnAccess',
    "Revoke the access of an application, and the person's consent",
    { revoke: Type.String({ description: 'The ID of the application, as on the page' }) },
    ending,
  ),
};
