import type { EntityManager } from 'typeorm';
import type { TestDatabase } from './database.js';
import { untilWaiting } from './lock-waits.js';

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
    await untilWaiting(ownerUrl, 1);
    return { outcome };
  });
  return outcome;
}
