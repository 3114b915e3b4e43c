import type { Pages } from './pages.js';
import type { PageScript } from './render.js';

type Name = keyof Pages;

/**
 * Pages whose form does something that counts once: on a second click, the browser would drop the answer to the first
 * one, with its cookie, and show the result of doing it twice. A script of ours prevents the second click; without
 * scripts, the second form is answered all the same (docs/decisions/0006).
 */
const sentOnce: ReadonlySet<Name> = new Set([
  'accept-invite',
  'account-email-otp',
  'account-password',
  'account-recovery',
  'account-totp',
  'choose-password',
  'code-sent',
  'confirm-email-change',
  'confirm-sign-up',
  'forgot-password',
  'identity-invite',
  'method-refused',
  'mfa-challenge',
  'mfa-enroll',
  'mfa-enroll-email',
  'mfa-enroll-totp',
  'recovery-codes',
  'reset-password',
  'sign-in',
  'sign-in-address',
  'sign-up',
  'sso-someone-else',
  'verify-email',
]);

const asksPassword: ReadonlySet<Name> = new Set([
  'accept-invite',
  'account-password',
  'choose-password',
  'confirm-email-change',
  'confirm-sign-up',
  'identity-invite',
  'reset-password',
  'sign-in',
  'sign-up',
  'verify-email',
]);

const showsCodes: ReadonlySet<Name> = new Set(['account-codes', 'recovery-codes']);

/** The scripts that a page always has; without them it does the same, less comfortably. */
export const scriptsOf = (name: Name): PageScript[] => [
  ...(sentOnce.has(name) ? ['sent-once' as const] : []),
  ...(asksPassword.has(name) ? ['reveal' as const] : []),
  ...(showsCodes.has(name) ? ['codes' as const] : []),
];

const mailed: ReadonlySet<Name> = new Set([
  'confirm-sign-up',
  'identity-invite',
  'identity-invite-accepted',
  'invite-invalid',
  'link-void',
  'password-reset-done',
  'reset-password',
  'sign-up-confirmed',
  'sso-test',
  'sso-test-done',
  'sso-test-void',
]);

/**
 * Whether the window that opened a page is cut off from it: from the own account, and from pages to which a mail leads.
 * An application may open its sign-in in a popup and wait there for the answer, also if something goes wrong on the way
 * and is fixed; isolation would cut it off for good.
 */
export const isIsolated = (name: Name): boolean => name.startsWith('account') || mailed.has(name);
