import type { Clock } from '../platform/clock.js';
import type { Db, Statement } from '../platform/database/db.js';

const earlier: Statement = { name: 'earlier_clock', text: 'select least($1::timestamptz, clock_timestamp()) as at' };

/**
 * The moment by this process's clock, or by PostgreSQL's where that is behind it. For what cannot be taken back: a machine that was
 * asleep, or has just been made, can be days ahead before it is set right.
 */
export const notAhead = async (db: Pick<Db, 'statement'>, now: Clock): Promise<Date> => {
  const [row] = await db.statement<{ at: Date }>(earlier, [now()]);
  return row!.at; // there is always one
};
