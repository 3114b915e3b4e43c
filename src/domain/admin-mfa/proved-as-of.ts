import type { User } from '../../../entities/user.js';

/**
 * What ends the sign-ins of an administrator that are under way: when the password was set, second factors were reset
 * and the address was changed, as read for the proof. Each is compared with itself and not with the time of the proof:
 * what is read before a change commits may be proved after it.
 */
export type ProvedAsOf = Pick<User, 'passwordChangedAt' | 'mfaResetAt' | 'emailChangedAt'>;

/** SQL: its columns of `users`. */
export const provedAsOf =
  'password_changed_at as "passwordChangedAt", mfa_reset_at as "mfaResetAt", email_changed_at as "emailChangedAt"';
