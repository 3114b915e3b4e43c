import type { EmailTemplates } from './templates.js';

/**
 * Mails for which somebody sits before a page: codes, and links that were asked for a moment ago. With each comes the one that goes in
 * its place to an address that is known, or not, so that neither is quicker.
 */
const awaited: ReadonlySet<string> = new Set([
  'registration-verification',
  'registration-known-address',
  'set-password',
  'password-reset',
  'verify-email',
  'sign-up-join',
  'sign-up-known-address',
  'identity-password-reset',
  'sign-in-code',
  'second-step-code',
  'factor-code',
] satisfies (keyof EmailTemplates)[]);

/** @param template also one of a newer version, which can wait */
export const isAwaited = (template: string): boolean => awaited.has(template);
