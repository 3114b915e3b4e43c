import pg from 'pg';
import { noticingLoss } from '../outages.js';
import { endAbandoned } from './abandoned.js';
import { RequestAborted, stopStatement, untilRequestAborted } from './aborting.js';
import { freeNotifications } from './full-queue.js';
import { endsConnection, isOutdatedPlan } from './postgres-errors.js';

/**
 * Runs one statement on a connection of the pool. The connection survives PostgreSQL's refusal of the statement, as by
 * a constraint; `pool.query` discards it after every error, and the next statement would pay for a new one. If this
 * fails before there is a connection, certainly nothing has happened.
 * @param run sends the statement
 * @param isHarmless which errors leave the connection usable
 */
export async function runStatement<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  run: (client: pg.PoolClient) => Promise<pg.QueryResult<Row>>,
  isHarmless: (error: unknown) => boolean = isRefusal,
): Promise<Row[]> {
  const client = await pool.connect();
  client.on('error', reportedByQuery);
  let failure: Error | undefined;
  try {
    const stop = () =>
      stopStatement(pool, client).catch((error) => {
        failure = error; // the cancellation may still arrive, when another statement uses the connection
      });
    return (await untilRequestAborted(stop, () => noticingLoss(() => run(client)))).rows;
  } catch (error) {
    if (!isHarmless(error) && !(error instanceof RequestAborted)) failure = error as Error;
    void freeNotifications(pool, error);
    throw error;
  } finally {
    client.off('error', reportedByQuery);
    client.release(failure);
    if (failure) void endAbandoned(pool, client, failure);
  }
}

/** Ignored: when the connection is lost, the running statement fails as well. */
const reportedByQuery = () => {};

/**
 * Whether the connection is usable after the error: some errors end it, one that began read-only stays read-only, and
 * one keeps its prepared statements.
 */
export const isRefusal = (error: unknown) =>
  error instanceof pg.DatabaseError && !endsConnection(error) && error.code !== readOnly && !isOutdatedPlan(error);

/** `read_only_sql_transaction` */
const readOnly = '25006';
