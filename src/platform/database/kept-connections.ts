import type pg from 'pg';

type Asked = Pick<pg.ClientBase, 'query'>;

/**
 * Whether a connection is one session of PostgreSQL. Behind a pooler in transaction mode its statements come to any session that is
 * free: prepared ones are not there, and what is set for a session, as the scope of row-level security, is set for somebody else.
 * @param other another connection of the same role; while it has a transaction, the session that was free is not
 */
export async function keepsItsSession(one: Asked, other: Asked): Promise<boolean> {
  const before = await sessionOf(one);
  await other.query('begin');
  try {
    await other.query('select 1'); // some poolers look for a session at the first statement only
    return (await sessionOf(one)) === before;
  } finally {
    await other.query('rollback');
  }
}

async function sessionOf(one: Asked): Promise<number | undefined> {
  const { rows } = await one.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}
