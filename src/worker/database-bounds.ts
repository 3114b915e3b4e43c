import { minutes, seconds } from '../platform/clock.js';

/**
 * How long a worker's connections wait for what. A batch may take minutes. For a row that somebody holds, its activity is tried
 * again instead: an attempt that waited on after Temporal has given it up would keep a connection from everybody else's work. And
 * a worker that is gone, or was halted within a transaction, must not keep its rows from the others: none of its transactions waits for
 * anything but PostgreSQL.
 */
export const workerBounds = {
  answerWithinMs: minutes(15),
  lockWithinMs: seconds(3),
  idleInTransactionWithinMs: minutes(1),
};
