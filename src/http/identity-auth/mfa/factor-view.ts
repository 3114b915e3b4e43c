import { Type } from 'typebox';
import type { AddedFactor } from '../../../domain/logins/api-factors.js';
import type { FactorSummary } from '../../../domain/mfa/factors.js';
import { errors } from '../../operation.js';
import { Id, Nullable, OneOf, single, Timestamp } from '../../schemas.js';

export const FactorView = Type.Object({
  id: Id,
  type: OneOf(['totp', 'webauthn', 'email_otp']),
  label: Type.String(),
  enrolled_at: Timestamp,
  last_used_at: Nullable(Timestamp),
});

export const presentFactor = ({ id, type, label, enrolledAt, lastUsedAt }: FactorSummary) => ({
  id,
  type,
  label,
  enrolled_at: enrolledAt.toISOString(),
  last_used_at: lastUsedAt?.toISOString() ?? null,
});

export const RecoveryCodes = Type.Array(Type.String(), { description: 'Shown this once. Each works once.' });

/** The answer to the end of an enrolment. */
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
    'mfa.factor_not_allowed',
    'principal.wrong_type',
    'mfa.already_enrolled',
    'mfa.too_many_factors',
    'mfa.challenge_locked',
    'rate_limit.exceeded',
    'service.unavailable',
  ),
};

export const presentAdded = ({ factor, recoveryCodes }: AddedFactor) => ({
  factor: presentFactor(factor),
  recovery_codes: recoveryCodes,
});

/** The refusals of a route that begins an enrolment. */
export const beginErrors = errors(
  'validation.failed',
  'auth.multiple_credentials',
  'auth.invalid_credentials',
  'auth.reauthentication_required',
  'mfa.factor_not_allowed',
  'principal.wrong_type',
  'rate_limit.exceeded',
  'service.unavailable',
);
