import type { EntityManager } from 'typeorm';
import { rowsAsOwner, type TestDatabase } from './database.js';
import { until } from './until.js';

/**
 * Has something come upon a change that is made and not committed yet: it sees the rows of before, and has to wait for what it
 * locks. The change is committed as soon as it waits.
 * @returns what the other one came to
 */
export async function comingUpon<T>(
  { db, ownerUrl }: Pick<TestDatabase, 'db' | 'ownerUrl'>,
  change: (tx: EntityManager) => Promise<unknown>,
  other: () => Promise<T>,
): Promise<T> {
  const { outcome } = await db.transaction('system', async (tx) => {
    await change(tx);
    const outcome = Promise.resolve(other()); // injected requests begin when they are awaited
    outcome.catch(() => undefined);
    const waiting = `select 1 as one from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await until('somebody waits for the change', async () => (await rowsAsOwner(ownerUrl, waiting)).length > 0);
    return { outcome };
  });
  return outcome;
}
