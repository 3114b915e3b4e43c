import { Type } from 'typebox';
import { RedirectTo, ScriptRefusal, scriptGoesOn } from './json.js';
import { type Answers, type Documentation, InJson } from './page.js';

const Credential = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'The result of `PublicKeyCredential.toJSON()` (WebAuthn Level 3 §5.1); in a form, as JSON',
  },
);
const challengeToken = Type.String({ description: 'Of the sign-in that requires a second factor' });
const enrollmentToken = Type.String({ description: 'Of the sign-in that requires a factor to be enrolled' });
const rememberDevice = Type.Optional(
  Type.Boolean({ description: 'Whether to skip the second factor in this browser for a while' }),
);
const label = Type.Optional(Type.String({ description: 'The name that the person gives the factor' }));
const passkeyToken = Type.String({ description: 'Of the options that are answered; works once' });
const RequestOptions = Type.Object(
  { challenge: Type.String() },
  { additionalProperties: true, description: '`PublicKeyCredentialRequestOptionsJSON`' },
);
export const CreationOptions = Type.Object(
  { challenge: Type.String() },
  { additionalProperties: true, description: '`PublicKeyCredentialCreationOptionsJSON`' },
);
const Refusal = (description: string) => InJson(description, ScriptRefusal);

const endpoint = (
  operationId: string,
  summary: string,
  description: string,
  body: Record<string, unknown>,
  answers: Answers,
) => ({
  operationId,
  summary,
  description,
  tags: ['Hosted login'],
  consumes: ['application/json', 'application/x-www-form-urlencoded'],
  body: Type.Object(body as never),
  response: {
    ...answers,
    403: Refusal('Sent from a foreign origin'),
  },
});

const notOpen = Refusal('`expired`: the token is unknown, has expired or has been used');
const notRight = InJson(
  '`mfa.code_invalid`, or `expired`. Or the key is correct, and the sign-in continues differently: ' +
    '`mfa_enrollment_required` if the environment requires other factors, `login.method_not_allowed` or `sso_required` ' +
    'if an organization does not allow this way to sign in',
  ...scriptGoesOn,
);
const oauthParameters =
  'The parameters of the authorization request are sent along with the fields listed here, as at `/oauth/authorize`.';

/** The OpenAPI documentation of the endpoints that the pages' script for passkeys and security keys calls. */
export const webauthnDocumentation: Documentation = {
  'POST /oauth/login/passkey/options': endpoint(
    'beginPasskeySignIn',
    'Get options for signing in with a passkey',
    oauthParameters,
    {},
    {
      200: InJson('The options', Type.Object({ options: RequestOptions, passkey_token: Type.String() })),
      400: Refusal('The authorization request is not valid, or passkeys are disabled in the environment'),
    },
  ),
  'POST /oauth/login/passkey/verify': endpoint(
    'signInWithPasskey',
    'Sign in with a passkey, which counts as two factors',
    oauthParameters,
    { passkey_token: passkeyToken, credential: Credential },
    {
      200: InJson('Where to go next', RedirectTo),
      400: InJson(
        '`refused` for anything that is wrong with the passkey, or `expired`; `mfa.second_factor_only` if the person has ' +
          'a new password since the passkey was last used with one, and can sign in another way; ' +
          '`login.method_not_allowed` or `sso_required` if an organization of the person does not allow passkeys',
        ...scriptGoesOn,
      ),
    },
  ),
  'POST /oauth/mfa/webauthn/options': endpoint(
    'beginWebauthnChallenge',
    'Get options for a passkey or security key as the second factor',
    'For `navigator.credentials.get`, with the keys that the person has enrolled.',
    { challenge_token: challengeToken },
    { 200: InJson('The options', RequestOptions), 400: notOpen },
  ),
  'POST /oauth/mfa/webauthn/verify': endpoint(
    'answerWebauthnChallenge',
    'Verify a passkey or security key as the second factor',
    'The sign-in continues as with any other second factor.',
    { challenge_token: challengeToken, credential: Credential, remember_device: rememberDevice },
    { 200: InJson('Where to go next', RedirectTo), 400: notRight },
  ),
  'POST /oauth/mfa/webauthn/enroll/options': endpoint(
    'beginWebauthnEnrollment',
    'Get options for enrolling a passkey or security key during sign-in',
    'For `navigator.credentials.create`; keys that the person has already enrolled are excluded.',
    { enrollment_token: enrollmentToken },
    {
      200: InJson(
        'The options',
        Type.Object({
          options: CreationOptions,
          enrollment_token: Type.String({ description: 'For the response to these options, and only for that' }),
        }),
      ),
      400: notOpen,
    },
  ),
  'POST /oauth/mfa/webauthn/enroll/verify': endpoint(
    'enrollWebauthn',
    'Enroll a passkey or security key during sign-in',
    'The sign-in then continues: back to the client, or to new recovery codes if it is the first factor.',
    {
      enrollment_token: Type.String({ description: 'From the options' }),
      credential: Credential,
      label,
    },
    { 200: InJson('Where to go next', RedirectTo), 400: notRight },
  ),
};
