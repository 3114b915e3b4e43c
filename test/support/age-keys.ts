import { rowsAsOwner } from './database.js';

/** Moves every `Idempotency-Key` into the past: their times come from PostgreSQL, whose clock tests cannot move. */
export const ageKeys = (ownerUrl: string, ms: number): Promise<unknown> =>
  rowsAsOwner(
    ownerUrl,
    `update idempotent_requests set locked_until = locked_until - $1 * interval '1 ms', expires_at = expires_at - $1 * interval '1 ms'`,
    [ms],
  );
