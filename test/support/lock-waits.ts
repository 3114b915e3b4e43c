import { rowsAsOwner } from './database.js';
import { until } from './until.js';

/** How many statements in this database wait for somebody else's lock. @param like only such as are written so, in any case */
export const lockWaits = async (ownerUrl: string, like = '%'): Promise<number> =>
  (
    await rowsAsOwner(
      ownerUrl,
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query ilike $1`,
      [like],
    )
  ).length;

/** Looks until so many of them do. */
export const untilWaiting = (ownerUrl: string, count: number, like?: string): Promise<unknown> =>
  until(`${count} wait for a lock`, async () => (await lockWaits(ownerUrl, like)) === count);
