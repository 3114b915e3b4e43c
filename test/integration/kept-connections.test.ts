import pg from 'pg';
import { keepsItsSession } from '../../src/platform/kept-connections.js';
import { openDb } from '../../src/platform/open-db.js';
import { newDatabase, type TestDatabase } from '../support/database.js';
import { rows } from '../support/registration.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await newDatabase({ poolSize: 1 });
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
});
afterAll(async () => {
  await pool?.end();
  await database?.close();
});

test('connections of their own keep their session', async () => {
  const [one, other] = [await pool.connect(), await pool.connect()];
  expect(await keepsItsSession(one, other)).toBe(true);
  for (const client of [one, other]) client.release();
});

test('one whose statements come to whichever session is free, as behind a pooler in transaction mode, is found out', async () => {
  let held: pg.PoolClient | undefined;
  const other = {
    async query(text: string) {
      held ??= await pool.connect(); // the one that was free last, as PgBouncer gives it
      return held.query(text);
    },
  };
  expect(await keepsItsSession(pool as never, other as never)).toBe(false);
  held?.release();
});

test('what a session is bound by is set by a statement, which a pooler hands on', async () => {
  await rows(
    database.ownerUrl,
    `alter database "${new URL(database.url).pathname.slice(1)}" set timezone to 'Europe/Berlin'`,
  );
  const db = await openDb({
    url: database.url,
    poolSize: 1,
    applicationName: 'test',
    onError: () => {},
    answerWithinMs: 10_000,
  });
  const text = `select current_setting('gatehouse.scope', true) as scope, current_setting('statement_timeout') as statement,
    current_setting('idle_in_transaction_session_timeout') as idle, current_setting('plan_cache_mode') as plans, current_setting('timezone') as zone`;
  try {
    const found = await db.pool.query(text);
    const bounds = { statement: '8s', idle: '20s', zone: 'UTC' };
    expect(found.rows).toEqual([{ scope: 'system', ...bounds, plans: 'force_generic_plan' }]);
    expect(await db.source.query(text)).toEqual([{ scope: null, ...bounds, plans: 'auto' }]);
  } finally {
    await db.close();
  }
});
