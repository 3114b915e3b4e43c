import { wasJustDone } from '../one-time/sent-twice.js';
import type { Passwords } from './passwords.js';
import { verifyTyped } from './verify-typed.js';

/** A link, with the time when it set a password and the present hash of its person. */
export interface UsedLink {
  usedAt: Date | null;
  passwordHash: string | null;
}

/**
 * Returns whether a link set this very password within the last minute, so that its form was sent twice. A request with
 * another password does not learn that one was set.
 * @throws DomainError service.unavailable where too many wait
 */
export async function hasJustSet(
  passwords: Pick<Passwords, 'verify'>,
  { usedAt, passwordHash }: UsedLink,
  { password, now }: { password: string; now: Date },
): Promise<boolean> {
  return wasJustDone(usedAt, now) && verifyTyped(passwords, passwordHash, password);
}
