import { Type } from 'typebox';
import { Id, Nullable, OneOf, Resource, Timestamp } from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';

/** Of a factor. Only a key can be true: the column of other kinds means nothing. */
export const SignsIn = Type.Boolean({
  description:
    'Whether it is a passkey that signs in by itself, in place of the password and a second factor. False after a new ' +
    'password, until the key has been used after it.',
});

/** A second factor of one of these kinds, as its owner sees it. */
export const factorFields = <const Kind extends string>(kinds: Kind[]) => ({
  id: Id,
  type: OneOf(kinds),
  label: Type.String(),
  enrolled_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  signs_in: SignsIn,
});

/** What cannot be shown in a list is left out. */
export const FactorLabel = Type.String({ maxLength: 100, description: 'The name that the person gives the factor.' });

export interface ShownFactor<Kind extends string> {
  id: string;
  type: Kind;
  label: string;
  signsIn: boolean;
  enrolledAt: Date;
  lastUsedAt: Date | null;
}

export const presentFactor = <Kind extends string>(factor: ShownFactor<Kind>) => ({
  id: factor.id,
  type: factor.type,
  label: factor.label,
  enrolled_at: factor.enrolledAt.toISOString(),
  last_used_at: factor.lastUsedAt?.toISOString() ?? null,
  signs_in: factor.type === 'webauthn' && factor.signsIn,
});

export const RecoveryCodes = Type.Array(Type.String(), { description: 'Returned only once. Each code works once.' });

/** An object in WebAuthn's JSON form (Level 3 §5.1.8): it is passed through, so its fields are not described here. */
export const Json = (description: string) => Type.Object({}, { additionalProperties: true, description });

/** A code of an authenticator app. */
export const TotpCode = Type.String({ pattern: worded('^[0-9]{6}$', 'must be 6 digits'), description: '6 digits.' });

/** An emailed code, which may have a space in it, as people type it. */
export const EmailedCode = Type.String({
  pattern: worded('^[0-9 ]{6,7}$', 'must be 6 digits'),
  description: '6 digits.',
});

/** An authenticator app whose enrollment has begun. */
export const TotpEnrollmentView = Resource('TotpEnrollment', {
  enrollment_token: Type.String({ description: 'Send it to `mfa/totp/confirm` within 30 minutes.' }),
  secret: Type.String({ description: 'The secret in Base32, for typing it in.' }),
  otpauth_uri: Type.String({ description: 'For an authenticator app on the same device.' }),
  qr_svg: Type.String({ description: 'The `otpauth_uri` as a QR code, in SVG.' }),
});

export const presentTotpEnrollment = (begun: { sealed: string; secret: string; uri: string; qrSvg: string }) => ({
  enrollment_token: begun.sealed,
  secret: begun.secret,
  otpauth_uri: begun.uri,
  qr_svg: begun.qrSvg,
});

export const TotpConfirmation = {
  enrollment_token: Type.String({ maxLength: 2048 }),
  code: TotpCode,
};

/** A passkey or security key whose enrollment has begun. */
export const WebauthnOptionsView = Type.Object({
  enrollment_token: Type.String({
    description: 'Send it to `mfa/webauthn/enroll/verify` together with the response to these options.',
  }),
  options: Json('`PublicKeyCredentialCreationOptionsJSON`'),
});

export const WebauthnConfirmation = {
  enrollment_token: Type.String({ maxLength: 2048 }),
  response: Json('`RegistrationResponseJSON`'),
  label: Type.Optional(FactorLabel),
};
