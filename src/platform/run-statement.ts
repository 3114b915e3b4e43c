import pg from 'pg';

/**
 * Runs one statement on a connection of the pool. The connection outlives PostgreSQL's refusal of the statement, such as a
 * constraint's; `pool.query` lets go of it after every error, and the next statement would pay for another one.
 */
export async function runStatement<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  query: pg.QueryConfig,
): Promise<Row[]> {
  const client = await pool.connect();
  client.on('error', isToldByQuery);
  let failure: Error | undefined;
  try {
    return (await client.query<Row>(query)).rows;
  } catch (error) {
    if (!isRefusal(error)) failure = error as Error;
    throw error;
  } finally {
    client.off('error', isToldByQuery);
    client.release(failure);
  }
}

/** Of a lost connection the statement under way hears, too. */
const isToldByQuery = () => {};

/** The connection is as good as before; after `FATAL` there is none. */
export const isRefusal = (error: unknown) => error instanceof pg.DatabaseError && error.severity === 'ERROR';
