import { type TProperties, Type } from 'typebox';
import { RecoveryCodes } from '../mfa-schemas.js';
import {
  CodesShown,
  EmailCodeBegun,
  EmailCodeRefused,
  goesOn,
  PageRefusal,
  SecondFactorAsked,
  SecondFactorRequired,
  Shared,
  TotpBegun,
  TotpRefused,
} from './documentation-json.js';
import { authorizeParameters } from './documentation-login.js';
import { type Answers, type Documentation, InJson, Page, page, text } from './documentation-page.js';

const challengeToken = {
  challenge_token: Type.String({ description: 'Of the sign-in that waits for its second factor' }),
};
const enrollmentToken = {
  enrollment_token: Type.String({ description: 'Of the sign-in that waits for a factor to be enrolled' }),
};
const rememberDevice = {
  remember_device: Type.Optional(
    Type.Boolean({
      description:
        'Whether to ask this browser for no second factor for a while, where `mfa_trusted_device_days` is above 0',
    }),
  ),
};
const { client_id, redirect_uri, response_type, state } = authorizeParameters;
/** As the specification has them; a request that began without one of them has none to send. */
const replayed = {
  client_id,
  redirect_uri,
  response_type,
  scope: Type.String(),
  state,
  code_challenge: Type.String(),
  code_challenge_method: Type.String(),
};
const bound =
  'The parameters of the authorization request may stand beside the fields; what the sign-in began with cannot be changed.';
const Done = {
  description: 'Back to the client with `code`, `state` and `iss`; or to the page of new recovery codes',
  type: 'null',
};
const notOpen =
  'The sign-in is unknown, has expired or is complete; a link begins again. `expired` in JSON. A form that comes twice goes on (303) ' +
  'by the session that the first one has brought to its browser';
const NotOpen = Page(notOpen);
const notLetIn =
  'Sent from a foreign origin. Or an organization of the person does not take the way in which they signed in, or the time to enroll is over';
const again =
  'What was proved has changed meanwhile. In JSON also instead of the page that asks again, or for another step';
const Again = Page(again, ...goesOn[401]);
const KeyBegun = Shared('KeyBegun', {
  enrollment_token: Type.String({ description: 'For `/oauth/mfa/webauthn/enroll/options`' }),
});
const NewCodes = Type.Object({
  recovery_codes: RecoveryCodes,
  enrollment_token: Type.String({ description: 'To go on with' }),
});

const step = (operationId: string, summary: string, body: TProperties, answers: Answers) =>
  page(operationId, summary, {
    description: bound,
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object(body),
    response: { ...answers, 400: NotOpen, 403: Page(notLetIn, ...goesOn[403]) },
  });
const TooMany = Page('Too many tries; `Retry-After` says when');

/** What the OpenAPI document says of the pages between the first factor and the code. */
export const mfaDocumentation: Documentation = {
  'POST /oauth/mfa-challenge': step(
    'answerMfaChallenge',
    'Prove a second factor: the code of an authenticator app, or a recovery code',
    {
      ...challengeToken,
      code: text('Six digits of the app, or a recovery code'),
      recovery_code: text('In the place of `code`'),
      factor: text('Without a code: the factor to show, `totp`, `webauthn`, `email_otp` or `recovery_code`'),
      choice: text('The same, whatever stands in the field of the code'),
      ...rememberDevice,
    },
    {
      200: Page('The challenge again, because the code is not right; 401 in JSON'),
      303: Done,
      401: Again,
      429: TooMany,
    },
  ),
  'POST /oauth/mfa/email-otp/send': step(
    'sendMfaCode',
    "Mail a code for the second factor to the person's address",
    { ...challengeToken, ...replayed },
    {
      200: Page('Asks for the code; or says why none was mailed, with 401 in JSON', SecondFactorAsked),
      401: InJson('None was mailed', SecondFactorRequired),
      429: TooMany,
    },
  ),
  'POST /oauth/mfa/email-otp/verify': step(
    'answerMfaCode',
    'Prove the second factor with the code that was mailed',
    { ...challengeToken, code: Type.String({ description: 'Six digits' }), ...rememberDevice },
    { 200: Page('Asks for the code again, because it is not right; 401 in JSON'), 303: Done, 401: Again, 429: TooMany },
  ),
  'POST /oauth/mfa/enroll': step(
    'chooseMfaEnrollment',
    'Choose a factor to enroll during sign-in, or put it off',
    {
      ...enrollmentToken,
      factor: text('`totp`, `webauthn` or `email_otp`; without one the choice is shown'),
      choice: text('`later`, while the time to enroll runs'),
    },
    {
      200: Page('How to enroll it; the choice, with 401 in JSON', TotpBegun, EmailCodeBegun, KeyBegun),
      303: Done,
      401: Again,
    },
  ),
  'POST /oauth/mfa/totp/enroll': step(
    'enrollTotp',
    'Enroll an authenticator app during sign-in, with its first code',
    {
      ...enrollmentToken,
      totp_token: Type.String({ description: 'Of the page that showed the secret' }),
      code: Type.String(),
    },
    {
      200: Page('Asks for the code again, because it is not right; 401 in JSON'),
      303: Done,
      401: Page(again, TotpRefused, ...goesOn[401]),
      429: TooMany,
    },
  ),
  'POST /oauth/mfa/email-otp/enroll/send': step(
    'sendMfaEnrollmentCode',
    'Mail a first code, to enroll codes by mail during sign-in',
    enrollmentToken,
    {
      200: Page('Asks for the code; or says why none was mailed, with 401 in JSON', EmailCodeBegun),
      401: InJson('None was mailed', EmailCodeRefused),
      429: TooMany,
    },
  ),
  'POST /oauth/mfa/email-otp/enroll/verify': step(
    'enrollEmailOtp',
    'Enroll codes by mail during sign-in, with the first one',
    { ...enrollmentToken, code: Type.String() },
    {
      200: Page('Asks for the code again, because it is not right; 401 in JSON'),
      303: Done,
      401: Page(again, EmailCodeRefused, ...goesOn[401]),
      429: TooMany,
    },
  ),
  'GET /oauth/mfa-enroll-codes': page('showRecoveryCodes', 'New recovery codes, shown once', {
    description: 'Where a sign-in has enrolled its first second factor. Going on acknowledges that they were saved.',
    querystring: Type.Object({
      codes_token: Type.String({ description: 'Sealed; works once, for ten minutes' }),
      client_id: text('Whose looks it has, also once the sign-in is over'),
    }),
    response: {
      200: Page('The codes; or that they were shown already, with 400 in JSON', NewCodes),
      400: Page(
        `${notOpen}. Another browser than the one that enrolled, by its cookie: \`other_browser\` in JSON`,
        CodesShown,
        PageRefusal,
      ),
    },
  }),
  'POST /oauth/mfa-enroll-codes': step(
    'acknowledgeRecoveryCodes',
    'Go on after the recovery codes were saved',
    {
      ...enrollmentToken,
      codes_token: text('Of the page, whose form counts in the browser that enrolled; a script needs none'),
    },
    { 303: Done, 401: Again },
  ),
};
