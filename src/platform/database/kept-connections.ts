import type pg from 'pg';

type Asked = Pick<pg.ClientBase, 'query'>;

/**
 * Whether a connection stays one session of PostgreSQL. Behind a pooler in transaction mode its statements go to any
 * free session: prepared ones do not exist there, and settings of a session, such as the scope of row-level security,
 * would apply to somebody else.
 * @param other another connection of the same role; while it has a transaction, its session is not free
 */
export async function keepsItsSession(one: Asked, other: Asked): Promise<boolean> {
  const before = await sessionOf(one);
  await other.query('begin');
  try {
    await other.query('select 1'); // some poolers only choose a session at the first statement
    return (await sessionOf(one)) === before;
  } finally {
    await other.query('rollback');
  }
}

async function sessionOf(one: Asked): Promise<number | undefined> {
  const { rows } = await one.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}
