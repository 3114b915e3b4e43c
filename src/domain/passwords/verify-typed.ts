import { longestTyped } from './hashing.js';
import type { Passwords } from './passwords.js';

/**
 * Whether a password that came from a form without a bound is the one of a hash. One that is longer than any that can be set is
 * nobody's, after the same work.
 * @param whose as `Hashing.verify`
 * @throws DomainError service.unavailable where too many wait
 */
export const verifyTyped = (
  passwords: Pick<Passwords, 'verify'>,
  hash: string | null,
  typed: string,
  whose?: string,
): Promise<boolean> =>
  passwords.verify(typed.length <= longestTyped ? hash : null, typed.slice(0, longestTyped), whose);
