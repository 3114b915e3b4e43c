import { seconds } from '../platform/clock.js';
import { stoppable } from '../platform/database/giving-up.js';
import { broadReadsRefused } from '../platform/metrics/metrics.js';
import { createFairQueue, type Run, type Turns } from './fair-queue.js';

/** The number of connections for each broad read that may run. */
const connectionsForEach = 2;
/** Most reads are short: how long one has waited says more than how many are waiting. */
const waitingForEach = 100;

/**
 * Turns for reads that may take PostgreSQL long: searches, counts, pages far into a list. They share a part of the
 * connections, so that the others are left to tokens and decisions, and no Account takes more than half of that part
 * (docs/decisions/0061). Counted in this process alone. PostgreSQL stops a read that is given up, and its turn ends
 * then (0068).
 * @param poolSize of the database, whose connections they use
 */
export function createBroadReads({ poolSize, withinMs = seconds(5) }: { poolSize: number; withinMs?: number }): Turns {
  const most = Math.max(1, Math.floor(poolSize / connectionsForEach));
  const half = (count: number) => Math.ceil(count / 2);
  const longest = waitingForEach * most;
  const turns = createFairQueue(most, {
    longest,
    mostOfEach: half(most),
    longestOfEach: half(longest),
    withinMs,
    onRefused: () => broadReadsRefused.inc(),
  });
  const take: Run = (work, whose, options) => turns(() => stoppable(work), whose, options);
  return Object.assign(take, { isFull: turns.isFull, line: turns.line });
}
