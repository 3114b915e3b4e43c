import { countEvents } from '../src/domain/housekeeping/events.js';
import { mergedCounts } from '../src/domain/housekeeping/statements.js';
import { minutes } from '../src/platform/clock.js';
import { openDb } from '../src/platform/database/open-db.js';

/** The interval of the Schedule `event-counting` for workers. */
const everyMs = minutes(5);

/**
 * Returns a function that does between two cells what a worker does in production, since none runs here: otherwise each
 * request for a total would count the uncounted rows itself.
 */
export function createCounting(databaseUrls: readonly string[]) {
  let at = -Infinity;
  return async (): Promise<void> => {
    if (performance.now() - at < everyMs) return;
    at = performance.now();
    for (const url of databaseUrls) {
      const db = await openDb({ url, poolSize: 1, applicationName: 'gatehouse bench', onError: () => {} });
      await countEvents(db);
      await db.statement(mergedCounts, []);
      await db.close();
    }
  };
}
