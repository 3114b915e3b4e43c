import type { FactorSummary } from '../../../domain/mfa/factors.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import type { ShownFactor } from '../../pages/account-pages.js';

/** The default labels of factors: in the database in English, on the page in the reader's language. */
const unnamed = new Map<string, TextKey>([
  ['Authenticator app', 'factor.totp'],
  ['Email', 'factor.email_otp'],
  ['Passkey', 'factor.passkey'],
  ['Security key', 'factor.security_key'],
]);

/** A factor as the pages show it. */
export function shownFactor({ type, label, signsIn, ...factor }: FactorSummary): ShownFactor {
  const { id, enrolledAt, lastUsedAt } = factor;
  const name = unnamed.get(label);
  const shown = { id, kind: type, name: name ?? (`factor.${type}` as const), label: name ? null : label };
  return { ...shown, enrolledAt, lastUsedAt, signsIn: type === 'webauthn' && signsIn };
}
