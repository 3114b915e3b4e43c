import type { EntityManager } from 'typeorm';
import type { TestDatabase } from './database.js';
import { untilWaiting } from './lock-waits.js';

/**
 * Runs `other` while a change is made but not committed: it sees the previous rows, and has to wait for what it locks.
 * The change is committed as soon as `other` waits.
 * @param options.last the last part of the change, while `other` waits
 * @param options.waiting how many statements of `other` wait, if it is several requests
 * @returns the outcome of `other`
 */
export async function comingUpon<T>(
  { db, ownerUrl }: Pick<TestDatabase, 'db' | 'ownerUrl'>,
  change: (tx: EntityManager) => Promise<unknown>,
  other: () => Promise<T>,
  { last, waiting = 1 }: { last?: (tx: EntityManager) => Promise<unknown>; waiting?: number } = {},
): Promise<T> {
  const { outcome } = await db.transaction('system', async (tx) => {
    await change(tx);
    const outcome = Promise.resolve(other()); // injected requests start when they are awaited
    outcome.catch(() => undefined);
    await untilWaiting(ownerUrl, waiting);
    await last?.(tx);
    return { outcome };
  });
  return outcome;
}
