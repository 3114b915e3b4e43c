import { countEvents } from '../src/domain/housekeeping/events.js';
import { mergedCounts } from '../src/domain/housekeeping/statements.js';
import { minutes } from '../src/platform/clock.js';
import { openDb } from '../src/platform/database/open-db.js';

/** As often as the Schedule `event-counting` has a worker do it. */
const everyMs = minutes(5);

/**
 * Has done between two cells what a worker does beside the api processes, of which there is none here: what nobody counts is counted by
 * those who ask for a total.
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
