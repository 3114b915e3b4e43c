import { equalInConstantTime, hashSecret } from '../../platform/crypto/one-time-secret.js';

/**
 * What a mailed link requires besides the mailbox, so that nobody confirms by mistake what a stranger requested with
 * their address: the browser of the request, or the password that was chosen there (docs/decisions/0011).
 */

/** How many wrong passwords a link allows; then only a new link helps. */
export const maxLinkTries = 10;

/** Returns whether this is the browser that requested the link. @param browser value of its cookie */
export const isBrowserOf = (browserHash: Buffer | null, browser: string | null): boolean =>
  browser !== null && browserHash !== null && equalInConstantTime(hashSecret(browser), browserHash);
