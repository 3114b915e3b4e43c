import { rowsAsOwner } from './database.js';
import { until } from './until.js';

/** Returns how many statements in this database wait for a lock. @param like matches their text, in any case */
export const lockWaits = async (ownerUrl: string, like = '%'): Promise<number> =>
  (
    await rowsAsOwner(
      ownerUrl,
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query ilike $1`,
      [like],
    )
  ).length;

/** Waits until exactly this many statements wait for a lock. */
export const untilWaiting = (ownerUrl: string, count: number, like?: string): Promise<unknown> =>
  until(`${count} wait for a lock`, async () => (await lockWaits(ownerUrl, like)) === count);
