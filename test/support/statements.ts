import pg from 'pg';

/** Returns how many statements `work` sends to PostgreSQL, on all connections of this process. */
export async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const prototype = pg.Client.prototype as unknown as { query(...args: unknown[]): unknown };
  const original = prototype.query;
  let count = 0;
  prototype.query = function (...args: unknown[]) {
    count++;
    return original.apply(this, args);
  };
  try {
    await work();
    return count;
  } finally {
    prototype.query = original;
  }
}
