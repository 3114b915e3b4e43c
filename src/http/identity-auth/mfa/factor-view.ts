import { Type } from 'typebox';
import { factorView, RecoveryCodes } from '../../mfa-schemas.js';
import { errors } from '../../operation.js';
import { Nullable, single } from '../../schemas.js';

export const FactorView = factorView('Factor', ['totp', 'webauthn', 'email_otp']);

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
