import { Type } from 'typebox';
import { factorView, RecoveryCodes } from '../../mfa-schemas.js';
import { errors } from '../../operation.js';
import { Nullable, single } from '../../schemas.js';

export const FactorView = factorView(['totp', 'webauthn']);

export const common = { tags: ['Admin authentication'], security: [{ bearer: [] }] };

/** The refusals of a route that begins an enrollment. */
export const beginErrors = errors(
  'validation.failed',
  'auth.invalid_credentials',
  'account.other_sign_in_required',
  'auth.reauthentication_required',
  'principal.wrong_type',
  'rate_limit.exceeded',
  'service.unavailable',
);

/** The answer to the end of an enrollment. */
export const addedAnswers = {
  201: single(Type.Object({ factor: FactorView, recovery_codes: Nullable(RecoveryCodes) })),
  ...errors(
    'validation.failed',
    'mfa.enrollment_expired',
    'auth.invalid_credentials',
    'mfa.code_invalid',
    'account.other_sign_in_required',
    'auth.reauthentication_required',
    'principal.wrong_type',
    'mfa.already_enrolled',
    'mfa.too_many_factors',
    'mfa.challenge_locked',
    'rate_limit.exceeded',
    'service.unavailable',
  ),
};
