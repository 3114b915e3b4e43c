import type { EmailTemplates } from './templates.js';

/**
 * Mails that somebody waits for in front of a page: codes, and links that were just requested. The list also has each
 * mail that is sent instead if the address is known, or is not, so that neither of the two is faster.
 */
const awaited: ReadonlySet<string> = new Set([
  'registration-verification',
  'registration-known-address',
  'email-change',
  'email-change-taken',
  'set-password',
  'password-reset',
  'verify-email',
  'sign-up-join',
  'sign-up-known-address',
  'identity-password-reset',
  'sign-in-code',
  'second-step-code',
  'factor-code',
  'identity-email-code',
  'identity-email-taken',
] satisfies (keyof EmailTemplates)[]);

/** Whether somebody waits for this mail. @param template may be a newer version's, which can wait */
export const isAwaited = (template: string): boolean => awaited.has(template);
