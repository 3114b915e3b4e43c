import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A new opaque secret of 256 bits, base64url, for links, codes, cookies and refresh tokens. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Whether a text has the form of `newSecret`: anything else is none of ours, and need not be looked for. */
export const isSecret = (text: string | null): text is string => text !== null && /^[\w-]{43}$/.test(text);

/** What is stored of a 256-bit secret. Plain SHA-256 is enough: there is nothing to guess in 256 random bits. */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** Compares in constant time; texts of another length are unequal. */
export function equalInConstantTime(a: string | Buffer, b: string | Buffer): boolean {
  if (typeof a !== 'string' && typeof b !== 'string' && a.length === b.length) return timingSafeEqual(a, b);
  const left = hashOf(a);
  const right = hashOf(b);
  return timingSafeEqual(left, right);
}

// Hashing first makes the lengths equal, so that not even those can be told from the time.
const hashOf = (value: string | Buffer) => hash('sha256', value, 'buffer');
