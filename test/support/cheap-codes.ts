import type { HashingOptions } from '../../src/domain/passwords/hashing.js';

/** Hashes ten recovery codes quickly, to test their use; `test/unit/recovery-codes.test.ts` tests their cost. */
export const cheapCodes: HashingOptions = { atOnce: 2, costOfCodes: { memoryKib: 64, passes: 1 } };
