import { type TProperties, type TSchema, Type } from 'typebox';
import { RecoveryCodes } from '../mfa-schemas.js';
import { Overview } from './account/overview-json.js';
import { PageRefusal, RedirectTo, ScriptRefusal, Shared } from './documentation-json.js';
import {
  type Answer,
  type Answers,
  type Documentation,
  InJson,
  Page,
  page,
  signedIn,
  text,
} from './documentation-page.js';
import { CreationOptions } from './documentation-webauthn.js';

const place = {
  client_id: Type.String({ description: 'Of a client of the Environment whose session is meant' }),
  ui_locales: text('`en`, `de`'),
};
const session = {
  ...place,
  session: Type.String({ description: 'The session that the page was shown to; another one changes nothing' }),
};
const ToSignIn = { description: 'To the sign-in, which leads back here', type: 'null' };
const Done = {
  description:
    'To the overview, which says what was done; or to prove first who it is, and back to the page of the form',
  type: 'null',
};
const LeadsOn = Page(
  'The way on to the sign-in as a page, where an identity provider may sign people in: a form may not be redirected there',
);
const TotpBegun = Type.Object({
  secret: Type.String({ description: 'Base32' }),
  uri: Type.String({ description: 'For an app on the same device', example: 'otpauth://totp/Acme:ana%40example.com' }),
  enrollment: Type.String({ description: 'To send with the first code' }),
});
const EmailCode = Shared('OwnEmailCode', {
  email: Type.String(),
  sent: Type.Boolean({ description: 'Whether a code was mailed' }),
});
const Invalid = Page('The parameters are not valid');
const Refused = Page('The parameters are not valid; or the browser does not keep cookies');
const Foreign = Page('Sent from a foreign origin; or no sign-in can be strong enough');
const NotProvable = Page('No sign-in can be strong enough; or the Environment does not take the factor');
const Changed = Page(
  'The account is not as the page showed it: in JSON `session_changed` where somebody else is signed in by now',
);
const NotFound = Page('There is none with this id that is the person’s own');
const proven =
  'Needs a sign-in of the last ten minutes, with a second factor where the person has one; otherwise it leads through the ' +
  'sign-in first.';
const changes = 'Changes the account of the person who is signed in in this browser.';
const shown =
  'A page of the person who is signed in in this browser; whoever is not is led through the sign-in. Nothing changes by looking at it.';

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
  description: `Where the Environment has \`session_end_require_recent_sign_in\`: ${proven
    .replace('Needs', 'needs')
    .replace('has one', 'has one that the Environment takes')}`,
  answers: { 404: NotFound },
};
const script = (operationId: string, summary: string, body: TProperties, ...answers: TSchema[]) =>
  page(operationId, summary, {
    description: `For the script of the page. ${proven}`,
    body: Type.Object({ ...session, ...body }),
    response: {
      200: InJson('It goes on with this; or where to prove first who it is', ...answers),
      400: InJson('`mfa.code_invalid`, `mfa.enrollment_expired` or what else is wrong', ScriptRefusal),
      403: InJson('Sent from a foreign origin; or no sign-in can be strong enough', ScriptRefusal),
      409: InJson('`session_changed`: somebody else is signed in by now', ScriptRefusal),
    },
  });

/** What the OpenAPI document says of the pages of a person's own account. */
export const accountDocumentation: Documentation = {
  'GET /oauth/account': show(
    'showAccount',
    'The signed-in person’s account: how they sign in, where they are signed in, which applications have access',
    Page('The overview', Overview),
    { query: { done: text('What was just done, in our own forms’ redirects') } },
  ),
  'GET /oauth/account/launch': page('launchApplication', 'On to the application, which begins a sign-in of its own', {
    description:
      'Where a sign-in leads that the application has not begun, such as one from a tile of an identity provider’s portal: to its `initiate_login_uri`, with `iss` and ' +
      '`login_hint` (OpenID Connect Core 1.0 §4). Whoever is not signed in is led through the sign-in.',
    querystring: Type.Object({ ...place, signed_in: signedIn }),
    response: {
      200: Page('The way on, as a page'),
      303: { description: 'To the account, where the application has said none; to the sign-in', type: 'null' },
      400: Refused,
    },
  }),
  'GET /oauth/account/password': show('askForNewPassword', 'The form that changes the password', Page('The form'), {
    answers: { 404: Page('The Environment takes no passwords') },
  }),
  'POST /oauth/account/password': form(
    'changeOwnPassword',
    'Change the password; other sessions end',
    { current_password: text('Where the person has a password'), new_password: Type.String() },
    sensitive({
      400: Page('The form again, because a password is not right'),
      404: Page('The Environment takes no passwords'),
      429: Page('Too many wrong passwords'),
    }),
  ),
  'GET /oauth/account/factors/totp': show(
    'beginOwnTotp',
    'Add an authenticator app: QR code and key',
    Page('The form', TotpBegun),
  ),
  'POST /oauth/account/factors/totp': form(
    'addOwnTotp',
    'Add an authenticator app, with its first code',
    {
      enrollment: Type.String({ description: 'Of the page that showed the secret' }),
      code: Type.String(),
      label: text('Its name'),
    },
    sensitive({
      400: Page('The form again, because the code is not right; 401 in JSON'),
      401: InJson('The code is not right', PageRefusal),
    }),
  ),
  'GET /oauth/account/factors/email-otp': show('beginOwnEmailOtp', 'Add codes by mail', Page('The form', EmailCode)),
  'POST /oauth/account/factors/email-otp': form(
    'addOwnEmailOtp',
    'Mail a first code; add codes by mail with it',
    { code: text('Without it one is mailed') },
    sensitive({
      200: Page('Asks for the code', EmailCode),
      400: Page('The parameters are not valid; or asks again, because the code is not right; 401 in JSON'),
      401: InJson('The code is not right', PageRefusal),
      429: Page('Too many codes, or too many wrong ones'),
    }),
  ),
  'GET /oauth/account/factors/webauthn': show(
    'beginOwnWebauthn',
    'Add a passkey or security key',
    Page('A page whose script asks the authenticator'),
  ),
  'POST /oauth/account/factors/webauthn/options': script(
    'getOwnWebauthnOptions',
    'Options for `navigator.credentials.create`',
    {},
    RedirectTo,
    Type.Object({
      options: CreationOptions,
      enrollment: Type.String({ description: 'For the answer to these options' }),
    }),
  ),
  'POST /oauth/account/factors/webauthn': script(
    'addOwnWebauthn',
    'Add a passkey or security key, with the authenticator’s answer',
    { enrollment: Type.String(), credential: Type.Object({}, { additionalProperties: true }), label: text('Its name') },
    RedirectTo,
  ),
  'GET /oauth/account/factors/:id': show(
    'askToRemoveOwnFactor',
    'Ask before a factor is removed',
    Page('The question'),
    {
      answers: { 404: NotFound, 409: Page('It is the last one, and one is required here') },
    },
  ),
  'POST /oauth/account/factors/:id': form(
    'removeOwnFactor',
    'Remove a second factor',
    {},
    sensitive({
      404: NotFound,
      409: Page('It is the last one, and the Environment requires one; or as for the others'),
    }),
  ),
  'GET /oauth/account/factors/:id/name': show('askForOwnFactorName', 'Ask how a factor is called', Page('The form'), {
    answers: { 404: NotFound },
  }),
  'POST /oauth/account/factors/:id/name': form(
    'renameOwnFactor',
    'Rename a second factor',
    { label: text('Its name; where there is none, it stays as it is') },
    { answers: { 404: NotFound } },
  ),
  'GET /oauth/account/recovery-codes': show(
    'askForNewRecoveryCodes',
    'Ask before recovery codes are renewed; show new ones, once',
    Page('The question; with `codes_token` the codes', Type.Object({ recovery_codes: RecoveryCodes })),
    {
      query: { codes_token: text('Sealed; works once, for ten minutes, in the session that made them') },
      answers: { 409: Page('The person has no second factor that they could stand in for') },
    },
  ),
  'POST /oauth/account/recovery-codes': form(
    'renewOwnRecoveryCodes',
    'New recovery codes; the old ones are void',
    {},
    sensitive({ 409: Page('The person has no second factor that they could stand in for; or as for the others') }),
  ),
  'POST /oauth/account/sessions': form(
    'endOwnSessions',
    'Sign out of another browser, or of all others',
    { end: Type.String({ description: 'A session’s id, or `others`' }) },
    ending,
  ),
  'POST /oauth/account/devices': form(
    'forgetOwnDevices',
    'Trust a browser no more, or none',
    { forget: Type.String({ description: 'A trusted browser’s id, or `all`' }) },
    { answers: { 404: NotFound } },
  ),
  'POST /oauth/account/applications': form(
    'endOwnAccess',
    'End what an application was given, with what the person has allowed it',
    { revoke: Type.String({ description: 'The application’s id, as the page has it' }) },
    ending,
  ),
};
