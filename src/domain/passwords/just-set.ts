import { wasJustDone } from '../sent-twice.js';
import type { Passwords } from './passwords.js';
import { verifyTyped } from './verify-typed.js';

/** A link, when it set a password, and the password of its person as it is now. */
export interface UsedLink {
  usedAt: Date | null;
  passwordHash: string | null;
}

/**
 * Whether a link has set this very password within the last minute, so that its form has been sent twice. Of another password that
 * is typed meanwhile nobody is told that it was set.
 * @throws DomainError service.unavailable where too many wait
 */
export async function hasJustSet(
  passwords: Pick<Passwords, 'verify'>,
  { usedAt, passwordHash }: UsedLink,
  { password, now }: { password: string; now: Date },
): Promise<boolean> {
  return wasJustDone(usedAt, now) && verifyTyped(passwords, passwordHash, password);
}
