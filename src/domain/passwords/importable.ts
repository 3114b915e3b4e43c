import { DomainError } from '../errors.js';
import { readHash, type StoredHash } from './stored-hash.js';

/**
 * The limits of an imported hash: at most some seconds of one core, and 128 MiB. The defaults of common libraries are
 * within (docs/decisions/0023). A more expensive one could stall everyone's sign-in.
 */
const importLimits = {
  argon2MemoryKib: 128 * 1024,
  /** Memory times passes, in KiB. */
  argon2Work: 512 * 1024,
  argon2Lanes: 16,
  /** N · r · p; the memory is 128 bytes times N · r. */
  scryptWork: 2 ** 20,
  /** Iterations, times the blocks for the digest's length. */
  pbkdf2Iterations: 2_000_000,
  bcryptCost: { min: 4, max: 14 },
  saltBytes: { min: 1, max: 128 },
  digestBytes: { min: 16, max: 64 },
} as const;

const hashBytes = { sha1: 20, sha256: 32, sha512: 64 } as const;

/**
 * @returns the hash itself
 * @throws DomainError password.hash_unreadable, or password.hash_out_of_bounds with the limit in its details
 */
export function importable(text: string, field: string): string {
  const hash = readHash(text);
  if (!hash) throw new DomainError('password.hash_unreadable');
  const exceeded = exceededBy(hash);
  if (!exceeded) return text;
  const [code, message] = exceeded;
  throw new DomainError('password.hash_out_of_bounds', { details: [{ field, code, message }] });
}

/** The limit that it exceeds, in words; null if it exceeds none. */
function exceededBy(hash: StoredHash): readonly [code: string, message: string] | null {
  if (hash.algorithm === 'bcrypt') {
    const { min, max } = importLimits.bcryptCost;
    return hash.cost < min || hash.cost > max ? ['bcrypt_cost', `has a cost outside of ${min} to ${max}`] : null;
  }
  return lengthExceededBy(hash) ?? workExceededBy(hash);
}

type Salted = Exclude<StoredHash, { algorithm: 'bcrypt' }>;

function lengthExceededBy({ salt, digest }: Salted) {
  const { saltBytes, digestBytes } = importLimits;
  const isOutside = (bytes: Buffer, { min, max }: { min: number; max: number }) =>
    bytes.length < min || bytes.length > max;
  if (isOutside(salt, saltBytes)) return ['salt_length', `has a salt outside of ${between(saltBytes)} bytes`] as const;
  if (!isOutside(digest, digestBytes)) return null;
  return ['digest_length', `has a digest outside of ${between(digestBytes)} bytes`] as const;
}
const between = ({ min, max }: { min: number; max: number }) => `${min} to ${max}`;

function workExceededBy(hash: Salted) {
  const limits = importLimits;
  if (hash.algorithm === 'scrypt') {
    const work = 2 ** hash.logN * hash.blockSize * hash.parallelism;
    return work > limits.scryptWork ? (['scrypt_work', `has N·r·p above ${limits.scryptWork}`] as const) : null;
  }
  if (hash.algorithm === 'pbkdf2') {
    const work = hash.iterations * Math.ceil(hash.digest.length / hashBytes[hash.hash]);
    const message = `has more than ${limits.pbkdf2Iterations} iterations`;
    return work > limits.pbkdf2Iterations ? (['pbkdf2_iterations', message] as const) : null;
  }
  if (hash.memoryKib > limits.argon2MemoryKib)
    return ['argon2_memory', `asks for more than ${limits.argon2MemoryKib} KiB`] as const;
  if (hash.memoryKib * hash.passes > limits.argon2Work)
    return ['argon2_work', `has m·t above ${limits.argon2Work}`] as const;
  return hash.lanes > limits.argon2Lanes ? (['argon2_lanes', `has p above ${limits.argon2Lanes}`] as const) : null;
}
