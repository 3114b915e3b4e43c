import { DomainError } from '../../domain/errors.js';
import type { TextKey } from '../../platform/mail/texts.js';

type Texts = Readonly<Record<string, TextKey>>;

const common: Texts = {
  'password.breached': 'choose_password.error.breached',
  'password.context_specific': 'choose_password.error.context_specific',
  'password.too_short': 'choose_password.error.too_short',
  'password.too_long': 'choose_password.error.too_long',
};

/**
 * Returns a form's text for a refusal of a password that the person can do something about; null for any other error.
 * @param own the form's own texts, in place of common ones or for further codes
 */
export function passwordErrorOf(error: unknown, own: Texts = {}): TextKey | null {
  if (!(error instanceof DomainError)) return null;
  const [detail] = error.options.details ?? [];
  const code = detail?.code ?? error.code;
  return own[code] ?? common[code] ?? null;
}
