import { timingSafeEqual } from 'node:crypto';
import { hashSecret } from '../../../platform/crypto/one-time-secret.js';
import type { Hashing } from '../../passwords/hashing.js';
import { lettersOf, newRecoveryCodes } from './recovery-code-form.js';

/** How secrets of a set are hashed. */
export type CodeHashing = Pick<Hashing, 'newParameters' | 'digest'>;

/** What is stored of a code. */
export interface StoredCode {
  codeHash: Buffer;
  /**
   * The parameters of argon2id, as a PHC string without its digest; one for a set. Null for older sets, which are
   * SHA-256.
   */
  hashParameters: string | null;
}

/** A new set: `codes` to be shown once, and what is stored of them, in the same order. */
export interface RecoveryCodeSet {
  codes: string[];
  stored: StoredCode[];
}

/** Recovery codes under a slow hash, of end users and administrators alike (docs/decisions/0064). */
export function createRecoveryCodeHashes(hashing: CodeHashing) {
  /** @throws DomainError service.unavailable where too many wait for a hash */
  async function newSet(codes: string[] = newRecoveryCodes()): Promise<RecoveryCodeSet> {
    const hashParameters = hashing.newParameters();
    const stored: StoredCode[] = [];
    // One after the other, so that a set never takes more than one hashing turn from people who sign in.
    for (const code of codes) {
      stored.push({ codeHash: await hashing.digest(hashParameters, lettersOf(code)), hashParameters });
    }
    return { codes, stored };
  }

  /**
   * Does work that may need a new set, which it gets by `take`. The set is made before, since no transaction waits for
   * a hash. If none was expected but one is needed, the work is rolled back and done again with one.
   * @param codes the codes of the set, unless they are to be random
   */
  async function withSet<T>(
    isExpected: boolean,
    work: (take: () => RecoveryCodeSet) => Promise<T>,
    codes?: string[],
  ): Promise<T> {
    const set = isExpected ? await newSet(codes) : null;
    const take = () => {
      if (!set) throw new UnexpectedSet();
      return set;
    };
    return work(take).catch((error) => {
      if (!set && error instanceof UnexpectedSet) return withSet(true, work, codes);
      throw error;
    });
  }

  return {
    newSet,
    withSet,

    /**
     * Which of the codes that are left was typed: hashed once for each set among them, and compared in constant time.
     * @throws DomainError service.unavailable where too many wait for a hash
     */
    async find<Code extends StoredCode>(left: readonly Code[], code: string): Promise<Code | null> {
      let found: Code | null = null;
      for (const parameters of new Set(left.map(({ hashParameters }) => hashParameters))) {
        const letters = lettersOf(code);
        const typed = parameters === null ? hashSecret(letters) : await hashing.digest(parameters, letters);
        for (const one of left) {
          if (one.hashParameters === parameters && timingSafeEqual(one.codeHash, typed)) found = one;
        }
      }
      return found;
    },
  };
}

export type RecoveryCodeHashes = ReturnType<typeof createRecoveryCodeHashes>;

class UnexpectedSet extends Error {}
