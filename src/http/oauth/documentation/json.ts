import { type TProperties, type TSchema, Type } from 'typebox';
import { factorKinds } from '../../../../entities/environment-settings.js';
import { exampleId } from '../../openapi/example-texts.js';
import { Id, Nullable, OneOf, Timestamp } from '../../surfaces/schemas.js';
import { methodNames } from '../barred-page.js';

/** An object schema that is a component of the document, since several operations return it. */
export const Shared = <P extends TProperties>(title: string, properties: P, description?: string) =>
  Type.Object(properties, { title, ...(description && { description }) });

export const RedirectTo = Shared('RedirectTo', {
  redirect_to: Type.String({ description: 'Where the browser is sent next' }),
  form_post: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'With `response_mode=form_post`: the fields to post there',
    }),
  ),
});

const refusal = {
  error: Type.String({ description: 'A code of RFC 6749, of this API, or of the step that is asked for' }),
  error_description: Type.String({ description: 'For developers' }),
};
export const OAuthError = Shared('OAuthError', refusal, 'RFC 6749 §5.2');
const reason = Type.Optional(
  Type.String({ description: 'The name of the text that the page would show', example: 'sign_in.error.credentials' }),
);
export const PageRefusal = Shared('PageRefusal', { ...refusal, reason }, 'What a page would say, for scripts');
/** The refusals of endpoints that only the pages' script calls. */
export const ScriptRefusal = Shared('ScriptRefusal', { error: Type.String() });

const methods = Type.Array(OneOf(Object.values(methodNames)), { description: 'The sign-in methods that are left' });
export const SignInRequired = Shared('SignInRequired', {
  ...refusal,
  reason,
  resend_ticket: Type.Optional(
    Type.String({ description: 'If the email address is not confirmed: for `/oauth/verify-email/resend`' }),
  ),
  methods,
});

const challenge = {
  challenge_token: Type.String({ description: 'For `/oauth/mfa-challenge` and the other challenges' }),
  available_factors: Type.Array(OneOf(factorKinds)),
  code_sent: Type.Boolean({ description: 'Whether a code was emailed' }),
  expires_at: Timestamp,
};
export const SecondFactorAsked = Shared('SecondFactorAsked', challenge);
export const SecondFactorRequired = Shared('SecondFactorRequired', { ...refusal, reason, ...challenge });

const enrollable = OneOf(factorKinds.filter((kind) => kind !== 'recovery_code'));
const enrollment = {
  enrollment_token: Type.String({ description: 'For `/oauth/mfa/enroll`' }),
  factors: Type.Array(enrollable),
  expires_at: Timestamp,
  grace_expires_at: Nullable(
    Type.String({ format: 'date-time', description: 'Until when it can be postponed; null if it cannot' }),
  ),
};
const EnrollmentRequired = Shared('EnrollmentRequired', { ...refusal, ...enrollment });

const startAtProvider = `https://id.example.com/oauth/sso?connection_id=${exampleId}&client_id=…&redirect_uri=…`;
const barred = {
  methods,
  sso_connections: Type.Optional(
    Type.Array(Type.Object({ id: Id, name: Nullable(Type.String()), url: Type.String({ example: startAtProvider }) }), {
      description:
        'With `sso_required`: where to start at each identity provider. `name` is that of its ' +
        'organization, null if it belongs to the environment',
    }),
  ),
  sso_recovery_token: Type.Optional(Type.String({ description: 'For `/oauth/sso/recovery`; valid for ten minutes' })),
};
export const SignInBarred = Shared(
  'SignInBarred',
  { ...refusal, ...barred },
  'An organization of the person does not allow the way in which they signed in',
);

/** The answers to a successful step, besides the redirect: the next step, or that none is possible. */
export const goesOn = {
  401: [SecondFactorRequired, EnrollmentRequired, PageRefusal],
  403: [PageRefusal, SignInBarred],
} satisfies Record<number, TSchema[]>;
/** The same answers, for the pages' script. */
export const scriptGoesOn = [
  ScriptRefusal,
  Shared('ScriptBarred', { error: Type.String(), ...barred }),
  Shared('ScriptSecondFactorRequired', { error: Type.String(), ...challenge }),
  Shared('ScriptEnrollmentRequired', { error: Type.String(), ...enrollment }),
];

const totp = {
  enrollment_token: Type.String(),
  totp_token: Type.String({ description: 'For `/oauth/mfa/totp/enroll`' }),
  secret: Type.String({ description: 'Base32' }),
  otpauth_uri: Type.String(),
};
export const TotpBegun = Shared('TotpBegun', totp);
export const TotpRefused = Shared('TotpRefused', { ...refusal, reason, ...totp });
const emailCode = { enrollment_token: Type.String(), code_sent: Type.Boolean() };
export const EmailCodeBegun = Shared('EmailCodeBegun', emailCode);
export const EmailCodeRefused = Shared('EmailCodeRefused', { ...refusal, reason, ...emailCode });
export const CodesShown = Shared('RecoveryCodesShown', {
  ...refusal,
  // Not an enum of null alone: client generators fail on it.
  recovery_codes: Type.Unsafe<null>({ type: 'string', nullable: true, description: 'Null: they were shown already.' }),
  enrollment_token: Type.String(),
});

export const ConsentRequired = Shared('ConsentRequired', {
  ...refusal,
  session: Type.String({
    format: 'uuid',
    description: 'The session of the person who is asked; send it with the answer',
  }),
  scope: Type.String(),
});

export const CheckYourEmail = Shared('CheckYourEmail', { status: OneOf(['check_your_email']) });
