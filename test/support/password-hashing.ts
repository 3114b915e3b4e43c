import { createHashing } from '../../src/domain/passwords/hashing.js';

/** The service's own hashes of passwords, without its limits. */
export const { hash: hashPassword, verify: verifyPassword } = createHashing({ atOnce: 2 });
