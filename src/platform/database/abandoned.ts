import type pg from 'pg';
import { isUnanswered } from '../outages.js';

/**
 * Ends the server-side session of a discarded connection if it is stuck waiting for a synchronous standby. PostgreSQL looks at
 * neither its socket nor its bounds of time there: with the standby away, every change would leave a session behind, until there are no
 * connections left for anybody. What it had committed stays so, on the primary alone; its caller was told that nobody knows.
 * @param pool of other connections
 */
export async function endAbandoned(pool: pg.Pool, client: pg.ClientBase, failure: unknown): Promise<void> {
  if (!isUnanswered(failure)) return;
  const { processID } = client as unknown as { processID: number };
  await pool
    .query(`select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and wait_event = 'SyncRep'`, [
      processID,
    ])
    .catch(() => undefined); // then it ends with the standby's return
}
