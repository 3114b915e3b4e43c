import { maxTypedLength } from './hashing.js';
import type { Passwords } from './passwords.js';

/**
 * Whether a password from a form without a length limit matches a hash. One that is longer than any that can be set is
 * nobody's, after the same work.
 * @param whose as in `Hashing.verify`
 * @throws DomainError service.unavailable if too many wait
 */
export const verifyTyped = (
  passwords: Pick<Passwords, 'verify'>,
  hash: string | null,
  typed: string,
  whose?: string,
): Promise<boolean> =>
  passwords.verify(typed.length <= maxTypedLength ? hash : null, typed.slice(0, maxTypedLength), whose);
