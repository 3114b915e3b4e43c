import type { EntityManager } from 'typeorm';
import { hasCondition } from '../../src/platform/database/postgres-errors.js';
import { rowsAsOwner, type TestDatabase } from './database.js';
import { untilWaiting } from './lock-waits.js';
import { until } from './until.js';

export interface Crossing<T> {
  /** Locks what `other` needs later. */
  first: (tx: EntityManager) => Promise<unknown>;
  other: () => Promise<T>;
  /** Locks what `other` holds already: now each waits for the other. */
  second: (tx: EntityManager) => Promise<unknown>;
}

/**
 * Makes PostgreSQL abort `other` for a deadlock. PostgreSQL aborts the transaction that checks first while both wait:
 * `other`, unless the test was stalled for a second; then everything is repeated from the start.
 * @param begin creates what one attempt needs
 * @returns the outcome of `other` after PostgreSQL aborted it
 * @throws if PostgreSQL aborted nothing
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
        outcome = Promise.resolve(other()); // injected requests start when they are awaited
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

/** Returns how many deadlocks PostgreSQL has ended in this database; a session reports its own within seconds. */
async function deadlocks(ownerUrl: string): Promise<number> {
  const [row] = await rowsAsOwner<{ deadlocks: string }>(
    ownerUrl,
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  return Number(row?.deadlocks);
}
