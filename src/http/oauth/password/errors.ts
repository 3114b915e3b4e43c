import { DomainError } from '../../../domain/errors.js';
import type { TextKey } from '../../../platform/mail/texts.js';

const errors: Record<string, TextKey> = {
  'password.breached': 'sign_up.error.breached',
  'password.context_specific': 'choose_password.error.context_specific',
  'password.too_short': 'sign_up.error.too_short',
  'password.too_long': 'sign_up.error.too_long',
  'sign_up.daily_cap_reached': 'sign_up.error.cap',
};

/** What a form says of a refusal that the person can do something about; null for any other error. */
export function passwordErrorOf(error: unknown): TextKey | null {
  if (!(error instanceof DomainError)) return null;
  const [detail] = error.options.details ?? [];
  return errors[detail?.code ?? error.code] ?? null;
}
