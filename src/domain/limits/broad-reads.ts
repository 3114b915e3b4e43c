import { seconds } from '../../platform/clock.js';
import { stoppable } from '../../platform/database/aborting.js';
import { broadReadsRefused } from '../../platform/metrics/metrics.js';
import { createFairQueue, type FairQueue, type Run } from './fair-queue.js';

/** Connections of the pool per broad read that may run. */
const connectionsForEach = 2;
/** How many may wait per read that may run. Most reads are short, so the time limit matters more than this number. */
const waitingForEach = 100;

/**
 * Gives turns to reads that may take PostgreSQL long: searches, counts, pages far into a list. They share a part of the
 * connections, which leaves the others to tokens and decisions, and no Account gets more than half of that part
 * (docs/decisions/0061). The limits apply to this process alone. PostgreSQL stops a read that is given up, and only
 * then its turn ends (0068).
 * @param poolSize the number of connections in the database's pool
 */
export function createBroadReads({
  poolSize,
  withinMs = seconds(5),
}: {
  poolSize: number;
  withinMs?: number;
}): FairQueue {
  const maxRunning = Math.max(1, Math.floor(poolSize / connectionsForEach));
  const half = (count: number) => Math.ceil(count / 2);
  const maxQueued = waitingForEach * maxRunning;
  const queue = createFairQueue(maxRunning, {
    maxQueued,
    maxRunningOfEach: half(maxRunning),
    maxQueuedOfEach: half(maxQueued),
    withinMs,
    onRefused: () => broadReadsRefused.inc(),
  });
  const take: Run = (work, whose, options) => queue(() => stoppable(work), whose, options);
  return Object.assign(take, { isFull: queue.isFull, load: queue.load });
}
