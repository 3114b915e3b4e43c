import type { HashingOptions } from '../../src/domain/passwords/hashing.js';

/** Ten recovery codes in a moment, for tests of what they are good for. `test/unit/recovery-codes.test.ts` has what they cost. */
export const cheapCodes: HashingOptions = { atOnce: 2, costOfCodes: { memoryKib: 64, passes: 1 } };
