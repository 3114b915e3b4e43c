import type pg from 'pg';
import { isUnanswered } from '../outages.js';
import { probeWithinMs } from './db.js';

/**
 * Ends the server-side session of a discarded connection that is stuck waiting for a synchronous standby. PostgreSQL
 * checks neither its socket nor its timeouts there: while the standby is away, each change would leave a session
 * behind, until there are no connections left. What the session has committed stays committed, on the primary alone;
 * its caller was told that the outcome is unknown.
 * @param pool other connections
 */
export async function endAbandoned(pool: pg.Pool, client: pg.ClientBase, failure: unknown): Promise<void> {
  if (!isUnanswered(failure)) return;
  const { processID } = client as unknown as { processID: number };
  const ending: pg.QueryConfig & { query_timeout: number } = {
    text: `select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and wait_event = 'SyncRep'`,
    values: [processID],
    query_timeout: probeWithinMs, // the other end of this connection may be gone as well
  };
  await pool.query(ending).catch(() => undefined); // then it ends when the standby returns
}
