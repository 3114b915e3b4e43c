import type { Pages } from './pages.js';
import type { PageScript } from './render.js';

type Name = keyof Pages;

/**
 * Whose form does something that counts once: a second click would have the browser drop the answer to the first one, with the
 * cookie, and show what comes of doing it twice. A script of ours keeps it back; without scripts it is answered all the same
 * (docs/decisions/0006).
 */
const sentOnce: ReadonlySet<Name> = new Set([
  'accept-invite',
  'account-email-otp',
  'account-password',
  'account-recovery',
  'account-totp',
  'choose-password',
  'code-sent',
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
  'confirm-sign-up',
  'identity-invite',
  'reset-password',
  'sign-in',
  'sign-up',
  'verify-email',
]);

const showsCodes: ReadonlySet<Name> = new Set(['account-codes', 'recovery-codes']);

/** The scripts that a page always has; without them it does the same, with less comfort. */
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
 * Whether nobody who opened a page's window keeps a hold on it: the own account, and what a mail leads to. An application may open its
 * sign-in in a popup and wait there for the answer, also where something goes wrong on the way and is mended; that window would be
 * cut off from it for good.
 */
export const isIsolated = (name: Name): boolean => name.startsWith('account') || mailed.has(name);
