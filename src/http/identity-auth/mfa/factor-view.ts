import { Type } from 'typebox';
import { factorFields, presentFactor, RecoveryCodes, type ShownFactor } from '../../mfa/schemas.js';
import { errors } from '../../surfaces/operation.js';
import { Nullable, Resource, single } from '../../surfaces/schemas.js';

const kinds = ['totp', 'webauthn', 'email_otp'] as const;
export const FactorView = Resource('Factor', factorFields([...kinds]));

/** A factor that was just added, with the recovery codes if it is the first one. */
export const presentAdded = (added: {
  factor: ShownFactor<(typeof kinds)[number]>;
  recoveryCodes: string[] | null;
}) => ({ factor: presentFactor(added.factor), recovery_codes: added.recoveryCodes });

/** The answers to a completed enrollment. */
export const addedAnswers = {
  201: single(
    Type.Object({
      factor: FactorView,
      recovery_codes: Nullable(RecoveryCodes),
    }),
  ),
  ...errors(
    'validation.failed',
    'mfa.enrollment_expired',
    'auth.multiple_credentials',
    'auth.invalid_credentials',
    'mfa.code_invalid',
    'auth.reauthentication_required',
    'identity.in_production',
    'mfa.factor_not_allowed',
    'principal.wrong_type',
    'mfa.already_enrolled',
    'mfa.too_many_factors',
    'mfa.challenge_locked',
    'rate_limit.exceeded',
    'service.unavailable',
  ),
};

/** The refusals of a route that begins an enrollment. */
export const beginErrors = errors(
  'validation.failed',
  'auth.multiple_credentials',
  'auth.invalid_credentials',
  'auth.reauthentication_required',
  'identity.in_production',
  'mfa.factor_not_allowed',
  'principal.wrong_type',
  'rate_limit.exceeded',
  'service.unavailable',
);
