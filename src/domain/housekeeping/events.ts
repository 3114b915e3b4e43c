import type { Db, Statement } from '../../platform/database/db.js';
import { hasCondition } from '../../platform/database/postgres-errors.js';

const settle = { name: 'settle_events', text: 'select gatehouse_settle_events()' };
const prepare = { name: 'prepare_events', text: 'select gatehouse_prepare_events()' };
const drop = { name: 'drop_events', text: 'select gatehouse_drop_events($1) as dropped' };
const dropOfNoMonth = {
  name: 'drop_events_of_no_month',
  text: 'select gatehouse_drop_events_of_no_month($1) as dropped',
};

/**
 * Counts new events, so that requests for a total need not count them. It runs twice: the mark of the first run shows
 * where uncounted events can be.
 */
export async function countEvents(db: Pick<Db, 'statement'>): Promise<void> {
  await db.statement(settle, []);
  await db.statement(settle, []);
}

/**
 * Counts events, creates the tables of the coming months, and drops the oldest month once it has been kept long enough
 * (docs/decisions/0027). If no month was dropped, it deletes some events of months without a table. It calls functions
 * of the tables' owner: the service itself cannot delete an event.
 * @returns how many months were dropped, or 1 if some of those events were deleted; then there may be more
 */
export async function maintainEvents(db: Pick<Db, 'statement'>, retentionDays: number): Promise<number> {
  await countEvents(db);
  const made = await unlessHeldUp(() => db.statement(prepare, []));
  if (!made) return 0;
  const droppedBy = async (statement: Statement) =>
    (await unlessHeldUp(() => db.statement<{ dropped: number }>(statement, [retentionDays])))?.[0]?.dropped;
  const months = await droppedBy(drop);
  return months === 0 ? ((await droppedBy(dropOfNoMonth)) ?? 0) : (months ?? 0);
}

/** Returns null if a slow transaction keeps the table from being changed; the next run tries again. */
async function unlessHeldUp<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (hasCondition(error, 'lock_not_available')) return null;
    throw error;
  }
}
