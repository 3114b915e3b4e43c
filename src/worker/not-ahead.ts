import type { Clock } from '../platform/clock.js';
import type { Db, Statement } from '../platform/database/db.js';

const earlier: Statement = { name: 'earlier_clock', text: 'select least($1::timestamptz, clock_timestamp()) as at' };

/**
 * Returns the time by this process's clock or by PostgreSQL's, whichever is earlier. For work that cannot be undone:
 * the clock of a machine that was asleep, or has just been created, can be days ahead until it is corrected.
 */
export const notAhead = async (db: Pick<Db, 'statement'>, now: Clock): Promise<Date> => {
  const [row] = await db.statement<{ at: Date }>(earlier, [now()]);
  return row!.at; // there is always one
};
