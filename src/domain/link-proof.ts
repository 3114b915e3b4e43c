import { equalInConstantTime, hashSecret } from '../platform/crypto/one-time-secret.js';

/**
 * What a mailed link takes besides the mailbox, so that nobody confirms by mistake what a stranger has asked for with
 * their address: the browser that asked for it, or the password that was chosen there (docs/decisions/0011).
 */

/** How many wrong passwords a link allows; then only a new link helps. */
export const mostLinkTries = 10;

/** Whether this is the browser that asked for the link. @param browser value of its cookie */
export const isBrowserOf = (browserHash: Buffer | null, browser: string | null): boolean =>
  browser !== null && browserHash !== null && equalInConstantTime(hashSecret(browser), browserHash);
