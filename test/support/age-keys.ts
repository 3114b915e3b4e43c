import { rowsAsOwner } from './database.js';

/** As if every `Idempotency-Key` had been taken so much earlier: their times are PostgreSQL's, and no test moves its clock. */
export const ageKeys = (ownerUrl: string, ms: number): Promise<unknown> =>
  rowsAsOwner(
    ownerUrl,
    `update idempotent_requests set locked_until = locked_until - $1 * interval '1 ms', expires_at = expires_at - $1 * interval '1 ms'`,
    [ms],
  );
