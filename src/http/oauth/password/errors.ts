import type { TextKey } from '../../../platform/mail/texts.js';
import { passwordErrorOf } from '../../pages/password-errors.js';

/** The error texts of the forms on which end users choose their first password, or replace a forgotten one. */
export const newPasswordErrorOf = (error: unknown): TextKey | null =>
  passwordErrorOf(error, {
    'password.breached': 'sign_up.error.breached',
    'password.too_short': 'sign_up.error.too_short',
    'password.too_long': 'sign_up.error.too_long',
    'sign_up.daily_cap_reached': 'sign_up.error.cap',
  });
