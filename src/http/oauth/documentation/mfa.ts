import { type TProperties, Type } from 'typebox';
import { RecoveryCodes } from '../../mfa/schemas.js';
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
} from './json.js';
import { authorizeParameters } from './login.js';
import { type Answers, type Documentation, InJson, Page, page, text } from './page.js';

const challengeToken = {
  challenge_token: Type.String({ description: 'Of the sign-in that requires a second factor' }),
};
const enrollmentToken = {
  enrollment_token: Type.String({ description: 'Of the sign-in that requires a factor to be enrolled' }),
};
const rememberDevice = {
  remember_device: Type.Optional(
    Type.Boolean({
      description:
        'Whether to skip the second factor in this browser for a while, if `mfa_trusted_device_days` is above 0',
    }),
  ),
};
const { client_id, redirect_uri, response_type, state } = authorizeParameters;
/** Required as in the specification; a parameter that the original request lacked is not needed. */
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
  'The parameters of the authorization request may be sent too; those that the sign-in started with cannot be changed.';
const Done = {
  description: 'Back to the client with `code`, `state` and `iss`; or to the page with new recovery codes',
  type: 'null',
};
const GoesOn = {
  description: 'On with the session of the browser, since the sign-in was complete before',
  type: 'null',
};
const notOpen =
  'The sign-in is unknown, has expired or is complete; a link starts again. `expired` in JSON. A form that is sent ' +
  'twice continues (303) with the session that the first one has brought to the browser';
const NotOpen = Page(notOpen);
const notLetIn =
  'Sent from a foreign origin. Or an organization of the person does not allow the way in which they signed in, or the ' +
  'deadline for enrolling has passed';
const again =
  'What was proved has changed in the meantime. In JSON also instead of the page that asks again, or for another step';
const Again = Page(again, ...goesOn[401]);
const KeyBegun = Shared('KeyBegun', {
  enrollment_token: Type.String({ description: 'For `/oauth/mfa/webauthn/enroll/options`' }),
});
const NewCodes = Type.Object({
  recovery_codes: RecoveryCodes,
  enrollment_token: Type.String({ description: 'For the next step' }),
});

const step = (operationId: string, summary: string, body: TProperties, answers: Answers) =>
  page(operationId, summary, {
    description: bound,
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    body: Type.Object(body),
    response: { ...answers, 400: NotOpen, 403: Page(notLetIn, ...goesOn[403]) },
  });

/** The OpenAPI documentation of the pages between the first factor and the code. */
export const mfaDocumentation: Documentation = {
  'POST /oauth/mfa-challenge': step(
    'answerMfaChallenge',
    'Verify the second factor with a code of an authenticator app, or a recovery code',
    {
      ...challengeToken,
      code: text('Six digits from the app, or a recovery code'),
      recovery_code: text('Instead of `code`'),
      factor: text('Without a code: the factor to show, `totp`, `webauthn`, `email_otp` or `recovery_code`'),
      choice: text('Like `factor`, whatever the field for the code contains', 'totp'),
      ...rememberDevice,
    },
    {
      200: Page('The challenge again, because the code is not correct; 401 in JSON'),
      303: Done,
      401: Again,
    },
  ),
  'POST /oauth/mfa/email-otp/send': step(
    'sendMfaCode',
    'Email a code for the second factor to the person',
    { ...challengeToken, ...replayed },
    {
      200: Page('Asks for the code; or says why none was emailed (401 in JSON)', SecondFactorAsked),
      303: GoesOn,
      401: InJson('No code was emailed', SecondFactorRequired),
    },
  ),
  'POST /oauth/mfa/email-otp/verify': step(
    'answerMfaCode',
    'Verify the second factor with an emailed code',
    { ...challengeToken, code: Type.String({ description: 'Six digits' }), ...rememberDevice },
    {
      200: Page('Asks for the code again, because it is not correct; 401 in JSON'),
      303: Done,
      401: Again,
    },
  ),
  'POST /oauth/mfa/enroll': step(
    'chooseMfaEnrollment',
    'Choose a factor to enroll during sign-in, or postpone it',
    {
      ...enrollmentToken,
      factor: text('`totp`, `webauthn` or `email_otp`; without it, the choice is shown'),
      choice: text('`later`, during the grace period', 'later'),
    },
    {
      200: Page('How to enroll it; or the choice (401 in JSON)', TotpBegun, EmailCodeBegun, KeyBegun),
      303: Done,
      401: Again,
    },
  ),
  'POST /oauth/mfa/totp/enroll': step(
    'enrollTotp',
    'Enroll an authenticator app during sign-in with its first code',
    {
      ...enrollmentToken,
      totp_token: Type.String({ description: 'From the page that showed the secret' }),
      code: Type.String(),
    },
    {
      200: Page('Asks for the code again, because it is not correct; 401 in JSON'),
      303: Done,
      401: Page(again, TotpRefused, ...goesOn[401]),
    },
  ),
  'POST /oauth/mfa/email-otp/enroll/send': step(
    'sendMfaEnrollmentCode',
    'Email a first code, to enroll codes by email during sign-in',
    enrollmentToken,
    {
      200: Page('Asks for the code; or says why none was emailed (401 in JSON)', EmailCodeBegun),
      303: GoesOn,
      401: InJson('No code was emailed', EmailCodeRefused),
    },
  ),
  'POST /oauth/mfa/email-otp/enroll/verify': step(
    'enrollEmailOtp',
    'Enroll codes by email during sign-in with the first one',
    { ...enrollmentToken, code: Type.String() },
    {
      200: Page('Asks for the code again, because it is not correct; 401 in JSON'),
      303: Done,
      401: Page(again, EmailCodeRefused, ...goesOn[401]),
    },
  ),
  'GET /oauth/mfa-enroll-codes': page('showRecoveryCodes', 'Show new recovery codes once', {
    description:
      'After a sign-in in which the first second factor was enrolled. Continuing confirms that the codes were saved.',
    querystring: Type.Object({
      codes_token: Type.String({ description: 'Encrypted; works once, for ten minutes' }),
      client_id: text('The client whose branding is shown, even if the sign-in has ended'),
    }),
    response: {
      200: Page('The codes; or that they have already been shown (400 in JSON)', NewCodes),
      400: Page(
        `${notOpen}. In a browser other than the one that enrolled, by its cookie: \`other_browser\` in JSON`,
        CodesShown,
        PageRefusal,
      ),
    },
  }),
  'POST /oauth/mfa-enroll-codes': step(
    'acknowledgeRecoveryCodes',
    'Continue after the recovery codes were saved',
    {
      ...enrollmentToken,
      codes_token: text('From the page, whose form works in the browser that enrolled; a script does not need one'),
    },
    { 303: Done, 401: Again },
  ),
};
