import type pg from 'pg';

type Connection = Pick<pg.ClientBase, 'query'>;

/**
 * Whether a connection stays one session of PostgreSQL. Behind a pooler in transaction mode its statements go to any
 * free session: prepared statements do not exist there, and a session's settings, such as the scope of row-level
 * security, would apply to other clients.
 * @param other another connection of the same role; its session is not free while it has a transaction
 */
export async function hasSessionPooling(one: Connection, other: Connection): Promise<boolean> {
  const before = await sessionOf(one);
  await other.query('begin');
  try {
    await other.query('select 1'); // some poolers only choose a session at the first statement
    return (await sessionOf(one)) === before;
  } finally {
    await other.query('rollback');
  }
}

async function sessionOf(one: Connection): Promise<number | undefined> {
  const { rows } = await one.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}
