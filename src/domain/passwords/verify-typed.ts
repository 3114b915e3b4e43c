import type { Passwords } from './passwords.js';

/** More than any password that can be set, in UTF-16 units; normalizing a megabyte would hold up everyone else. */
const longestPassword = 1024;

/**
 * Whether a password that came from a form without a bound is the one of a hash. One that is longer than any that can be set is
 * nobody's, after the same work.
 * @throws DomainError service.unavailable where too many wait
 */
export const verifyTyped = (
  passwords: Pick<Passwords, 'verify'>,
  hash: string | null,
  typed: string,
): Promise<boolean> => passwords.verify(typed.length <= longestPassword ? hash : null, typed.slice(0, longestPassword));
