/** Replaces `@jest/globals`: evaluated for each test file, since jest creates the globals anew for each. */
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = globalThis;
