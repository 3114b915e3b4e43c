import { minutes, seconds } from '../platform/clock.js';

/**
 * How long a worker's connections wait. A statement may take minutes, as for a batch. For a locked row the wait is
 * short, since Temporal retries the activity: an attempt that waited on after Temporal gave it up would keep a
 * connection from other work. A worker that is gone, or halted within a transaction, must not keep its rows locked; no
 * transaction of a worker waits for anything but PostgreSQL, so none is idle for long.
 */
export const workerBounds = {
  answerWithinMs: minutes(15),
  lockWithinMs: seconds(3),
  idleInTransactionWithinMs: minutes(1),
};
