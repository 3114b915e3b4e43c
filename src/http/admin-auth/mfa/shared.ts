import { Type } from 'typebox';
import type { AddedUserFactor } from '../../../domain/admin-mfa/factors.js';
import { factorFields, presentFactor, RecoveryCodes } from '../../mfa/schemas.js';
import { errors } from '../../surfaces/operation.js';
import { Nullable, Resource, single } from '../../surfaces/schemas.js';

export const FactorView = Resource('AdministratorFactor', {
  ...factorFields(['totp', 'webauthn']),
});

/** A factor that was just added, with the recovery codes if it is the first one. */
export const presentAdded = ({ factor, recoveryCodes }: AddedUserFactor) => ({
  factor: presentFactor(factor),
  recovery_codes: recoveryCodes,
});

export const common = { tags: ['Admin authentication'], security: [{ bearer: [] }] };

/** The errors of a session that does not prove enough for a change of factors. */
export const unprovenErrors = ['account.other_sign_in_required', 'auth.reauthentication_required'] as const;

/** The refusals of a route that begins an enrollment. */
export const beginErrors = errors(
  'validation.failed',
  'auth.invalid_credentials',
  ...unprovenErrors,
  'principal.wrong_type',
  'rate_limit.exceeded',
  'service.unavailable',
);

/** The answers to a completed enrollment. */
export const addedAnswers = {
  201: single(Type.Object({ factor: FactorView, recovery_codes: Nullable(RecoveryCodes) })),
  ...errors(
    'validation.failed',
    'mfa.enrollment_expired',
    'auth.invalid_credentials',
    'mfa.code_invalid',
    ...unprovenErrors,
    'principal.wrong_type',
    'mfa.already_enrolled',
    'mfa.too_many_factors',
    'mfa.challenge_locked',
    'rate_limit.exceeded',
    'service.unavailable',
  ),
};
