import { equalInConstantTime, hashSecret } from '../platform/crypto/one-time-secret.js';
import type { Passwords } from './passwords/passwords.js';

/**
 * What a mailed link asks for besides the mailbox, so that nobody confirms by mistake what a stranger has asked for with their
 * address: the browser that asked for it, or the password that was chosen there (docs/decisions/0011).
 */

/** Tries of a link's password, after which only a new link helps. */
export const mostLinkTries = 10;

/** More than any password that can be set, in UTF-16 units. */
const longestPassword = 1024;

/** Whether a link is held by the browser that asked for it. @param browser value of its cookie */
export const isBrowserOf = (browserHash: Buffer | null, browser: string | null): boolean =>
  browser !== null && browserHash !== null && equalInConstantTime(hashSecret(browser), browserHash);

/** Whether a password is the one that was chosen. @throws DomainError service.unavailable where too many wait */
export const isChosenPassword = (
  passwords: Pick<Passwords, 'verify'>,
  chosen: string | null,
  typed: string,
): Promise<boolean> =>
  passwords.verify(typed.length <= longestPassword ? chosen : null, typed.slice(0, longestPassword));
