import { Type } from 'typebox';
import { RedirectTo, ScriptRefusal, scriptGoesOn } from './documentation-json.js';
import { type Answers, type Documentation, InJson } from './documentation-page.js';

const Credential = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'What `PublicKeyCredential.toJSON()` says (WebAuthn Level 3 §5.1); in a form, as JSON',
  },
);
const challengeToken = Type.String({ description: 'Of the sign-in that waits for its second factor' });
const enrollmentToken = Type.String({ description: 'Of the sign-in that waits for a factor to be enrolled' });
const rememberDevice = Type.Optional(
  Type.Boolean({ description: 'Whether to ask this browser for no second factor for a while' }),
);
const label = Type.Optional(Type.String({ description: 'What the person calls it' }));
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
    429: Refusal('Too many requests; `Retry-After` says when'),
  },
});

const notOpen = Refusal('`expired`: the token is unknown, has expired or is complete');
const notRight = InJson(
  '`mfa.code_invalid`, or `expired`. Or the key is right, and the sign-in goes on otherwise: `mfa_enrollment_required` where the ' +
    'Environment takes other kinds, `login.method_not_allowed` or `sso_required` where an organization does not take the way',
  ...scriptGoesOn,
);
const oauthParameters =
  'The parameters of the authorization request stand beside the fields that are named here, as at `/oauth/authorize`.';

/** What the OpenAPI document says of the endpoints that the pages' script for passkeys and security keys calls. */
export const webauthnDocumentation: Documentation = {
  'POST /oauth/login/passkey/options': endpoint(
    'beginPasskeySignIn',
    'Options to sign in with a passkey',
    oauthParameters,
    {},
    {
      200: InJson('The options', Type.Object({ options: RequestOptions, passkey_token: Type.String() })),
      400: Refusal('The authorization request is not valid, or passkeys are off in the Environment'),
    },
  ),
  'POST /oauth/login/passkey/verify': endpoint(
    'signInWithPasskey',
    'Sign in with a passkey, which is two factors by itself',
    oauthParameters,
    { passkey_token: passkeyToken, credential: Credential },
    {
      200: InJson('Where to go on', RedirectTo),
      400: InJson(
        '`refused` for whatever is wrong with the passkey, or `expired`; `login.method_not_allowed` or `sso_required` ' +
          'where an organization of the person does not take passkeys',
        ...scriptGoesOn,
      ),
    },
  ),
  'POST /oauth/mfa/webauthn/options': endpoint(
    'beginWebauthnChallenge',
    'Options to prove a passkey or security key as the second factor',
    'For `navigator.credentials.get`, with the keys that the person has enrolled.',
    { challenge_token: challengeToken },
    { 200: InJson('The options', RequestOptions), 400: notOpen },
  ),
  'POST /oauth/mfa/webauthn/verify': endpoint(
    'answerWebauthnChallenge',
    'Prove a passkey or security key as the second factor',
    'The sign-in goes on as with any other second factor.',
    { challenge_token: challengeToken, credential: Credential, remember_device: rememberDevice },
    { 200: InJson('Where to go on', RedirectTo), 400: notRight },
  ),
  'POST /oauth/mfa/webauthn/enroll/options': endpoint(
    'beginWebauthnEnrollment',
    'Options to enroll a passkey or security key during sign-in',
    'For `navigator.credentials.create`; what the person has enrolled already is excluded.',
    { enrollment_token: enrollmentToken },
    {
      200: InJson(
        'The options',
        Type.Object({
          options: CreationOptions,
          enrollment_token: Type.String({ description: 'For the answer to these options, and only for that' }),
        }),
      ),
      400: notOpen,
    },
  ),
  'POST /oauth/mfa/webauthn/enroll/verify': endpoint(
    'enrollWebauthn',
    'Enroll a passkey or security key during sign-in',
    'The sign-in goes on with it: back to the client, or to new recovery codes where it is the first factor.',
    {
      enrollment_token: Type.String({ description: 'The one that came with the options' }),
      credential: Credential,
      label,
    },
    { 200: InJson('Where to go on', RedirectTo), 400: notRight },
  ),
};
