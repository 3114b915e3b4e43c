/** What `@jest/globals` is for a test file: evaluated for each, since jest makes them anew for each. */
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = globalThis;
