import { createHashing } from '../../src/domain/passwords/hashing.js';

/** Hashes and verifies passwords as the service does, without its limits. */
export const { hash: hashPassword, verify: verifyPassword } = createHashing({ atOnce: 2 });
