import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Returns a new opaque secret of 256 bits in base64url, for links, codes, cookies and refresh tokens. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Whether a text has the form of `newSecret`: any other text cannot be one of ours and needs no look-up. */
export const isSecret = (text: string | null): text is string => text !== null && /^[\w-]{43}$/.test(text);

/** Returns the hash that is stored of a 256-bit secret. Plain SHA-256 is enough: nobody can guess 256 random bits. */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** Compares in constant time; values of different lengths are unequal. */
export function equalInConstantTime(a: string | Buffer, b: string | Buffer): boolean {
  if (typeof a !== 'string' && typeof b !== 'string' && a.length === b.length) return timingSafeEqual(a, b);
  const left = hashOf(a);
  const right = hashOf(b);
  return timingSafeEqual(left, right);
}

// Hashing makes the lengths equal, so the time does not reveal even the length.
const hashOf = (value: string | Buffer) => hash('sha256', value, 'buffer');
