import type { EntityManager } from 'typeorm';
import { hasCondition } from '../../src/platform/database/postgres-errors.js';
import { rowsAsOwner, type TestDatabase } from './database.js';
import { untilWaiting } from './lock-waits.js';
import { until } from './until.js';

export interface Crossing<T> {
  /** Locks what the other one comes to later. */
  first: (tx: EntityManager) => Promise<unknown>;
  other: () => Promise<T>;
  /** Locks what the other one has already: now each waits for the other. */
  second: (tx: EntityManager) => Promise<unknown>;
}

/**
 * Has PostgreSQL end something for a deadlock. It ends whoever looks first while both wait, which is the other one unless the test
 * was kept from coming for a second: then all is begun anew.
 * @param begin makes what one attempt needs
 * @returns what the other one came to after it was ended
 * @throws where nobody was ended
 */
export async function endedByDeadlock<T>(
  { db, ownerUrl }: Pick<TestDatabase, 'db' | 'ownerUrl'>,
  begin: () => Promise<Crossing<T>>,
): Promise<T> {
  for (;;) {
    const { first, other, second } = await begin();
    const before = await deadlocks(ownerUrl);
    let outcome: Promise<T> | undefined;
    const wentThrough = await db
      .transaction('system', async (tx) => {
        await first(tx);
        outcome = Promise.resolve(other()); // injected requests begin when they are awaited
        outcome.catch(() => undefined);
        await untilWaiting(ownerUrl, 1);
        await second(tx);
      })
      .then(
        () => true,
        (error: unknown) => {
          if (!hasCondition(error, 'deadlock_detected')) throw error;
          return false;
        },
      );
    const came = await (outcome as Promise<T>);
    await until('PostgreSQL counts a deadlock', async () => (await deadlocks(ownerUrl)) > before);
    if (wentThrough) return came;
  }
}

/** How many PostgreSQL has ended in this database; a session reports its own within seconds. */
async function deadlocks(ownerUrl: string): Promise<number> {
  const [row] = await rowsAsOwner<{ deadlocks: string }>(
    ownerUrl,
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  return Number(row?.deadlocks);
}
