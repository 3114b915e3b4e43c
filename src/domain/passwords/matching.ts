import { pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import bcrypt from 'bcrypt';
import { argon2 } from './argon2.js';
import type { Argon2Hash, BcryptHash, Pbkdf2Hash, ScryptHash, StoredHash } from './stored-hash.js';

/**
 * Whether a text is the one that was hashed, byte for byte. Computed in the thread pool, and in the same time for every
 * text.
 */
export async function matchesHash(hash: StoredHash, text: string): Promise<boolean> {
  if (hash.algorithm === 'bcrypt') return matchesBcrypt(hash, text);
  return timingSafeEqual(await digestOf(hash, text), hash.digest);
}

/** The digest of a text by the hash's parameters and salt, of the same length. */
export function digestOf(hash: Argon2Hash | ScryptHash | Pbkdf2Hash, text: string): Promise<Buffer> {
  if (hash.algorithm === 'scrypt') return scryptDigest(hash, text);
  if (hash.algorithm === 'pbkdf2') return pbkdf2Digest(hash, text);
  const { algorithm, version, memoryKib: memoryCost, passes: timeCost, lanes: parallelism, salt, digest } = hash;
  const hashLength = digest.length;
  const options = { version, memoryCost, timeCost, parallelism, salt, hashLength };
  return argon2.hash(text, { ...options, type: argon2[algorithm], raw: true });
}

const pbkdf2Of = promisify(pbkdf2);
const pbkdf2Digest = ({ salt, iterations, digest, hash }: Pbkdf2Hash, text: string) =>
  pbkdf2Of(text, salt, iterations, digest.length, hash);

const scryptDigest = ({ logN, blockSize: r, parallelism: p, salt, digest }: ScryptHash, text: string) =>
  new Promise<Buffer>((resolve, reject) => {
    const N = 2 ** logN;
    const maxmem = 128 * r * (N + p + 2) + 1024; // as much as it takes; Node's default limit is 32 MiB
    scrypt(text, salt, digest.length, { N, r, p, maxmem }, (error, key) => (error ? reject(error) : resolve(key)));
  });

/**
 * bcrypt reads 72 bytes at most, so the rest of a longer password is ignored, as by the service that computed the hash.
 * Its implementations disagree about passwords with a NUL byte, where many stop: none of them matches here.
 */
async function matchesBcrypt({ text: hash }: BcryptHash, text: string): Promise<boolean> {
  const isSame = await bcrypt.compare(text, hash);
  return isSame && !text.includes('\0');
}
