import pg from 'pg';
import { noticingLoss } from '../outages.js';
import { endAbandoned } from './abandoned.js';
import { GivenUp, stopStatement, untilGivenUp } from './giving-up.js';
import { endsConnection } from './postgres-errors.js';

/**
 * Runs one statement on a connection of the pool. The connection outlives PostgreSQL's refusal of the statement, such as a
 * constraint's; `pool.query` lets go of it after every error, and the next statement would pay for another one. What fails before there is
 * a connection has certainly not happened.
 * @param run sends it
 * @param isHarmless which errors leave the connection as good as before
 */
export async function runStatement<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  run: (client: pg.PoolClient) => Promise<pg.QueryResult<Row>>,
  isHarmless: (error: unknown) => boolean = isRefusal,
): Promise<Row[]> {
  const client = await pool.connect();
  client.on('error', isToldByQuery);
  let failure: Error | undefined;
  try {
    const stop = () =>
      stopStatement(pool, client).catch((error) => {
        failure = error; // it may be stopped yet, whoever has the connection then
      });
    return (await untilGivenUp(stop, () => noticingLoss(() => run(client)))).rows;
  } catch (error) {
    if (!isHarmless(error) && !(error instanceof GivenUp)) failure = error as Error;
    throw error;
  } finally {
    client.off('error', isToldByQuery);
    client.release(failure);
    if (failure) void endAbandoned(pool, client, failure);
  }
}

/** Of a lost connection the statement under way hears, too. */
const isToldByQuery = () => {};

/** The connection is as good as before; one that began read-only stays so. */
export const isRefusal = (error: unknown) =>
  error instanceof pg.DatabaseError && !endsConnection(error) && error.code !== readOnly;

/** `read_only_sql_transaction` */
const readOnly = '25006';
