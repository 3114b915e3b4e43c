import pg from 'pg';
import { createDataSource, openDb } from '../../src/platform/database/open-db.js';
import { hasSessionPooling } from '../../src/platform/database/session-pooling.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';

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

test('direct connections keep their session', async () => {
  const [one, other] = [await pool.connect(), await pool.connect()];
  expect(await hasSessionPooling(one, other)).toBe(true);
  for (const client of [one, other]) client.release();
});

test('a connection whose statements go to any free session, as behind a pooler in transaction mode, is detected', async () => {
  let held: pg.PoolClient | undefined;
  const other = {
    async query(text: string) {
      held ??= await pool.connect(); // the one that was free last, as PgBouncer gives it
      return held.query(text);
    },
  };
  expect(await hasSessionPooling(pool as never, other as never)).toBe(false);
  held?.release();
});

/** Defaults that some database administrators set for all sessions. */
const defaults = {
  timezone: 'Europe/Berlin',
  datestyle: 'SQL, DMY',
  default_transaction_isolation: 'serializable',
  row_security: 'off',
  array_nulls: 'off',
  extra_float_digits: '-10',
  statement_timeout: '1s',
  lock_timeout: '1s',
  idle_in_transaction_session_timeout: '1s',
  transaction_timeout: '1s',
};
const asked = `select current_setting('gatehouse.scope', true) as scope, current_setting('statement_timeout') as statement,
  current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle,
  current_setting('plan_cache_mode') as plans, current_setting('timezone') as zone, current_setting('datestyle') as dates,
  current_setting('transaction_isolation') as isolation, current_setting('row_security') as rls,
  current_setting('transaction_timeout') as whole, '{NULL}'::text[] as nulls, 1.23456789::float as number`;
const always = {
  zone: 'UTC',
  dates: 'ISO, MDY',
  isolation: 'read committed',
  rls: 'on',
  whole: '0',
  nulls: [null],
  number: 1.23456789,
};

describe('whatever defaults the database has', () => {
  beforeAll(async () => {
    const name = new URL(database.url).pathname.slice(1);
    for (const [setting, value] of Object.entries(defaults))
      await rowsAsOwner(
        database.ownerUrl,
        `alter database "${name}" set ${setting} to ${setting === 'datestyle' ? value : `'${value}'`}`,
      );
  });

  test('a session’s limits are set by a statement, which a pooler passes on', async () => {
    const db = await openDb({
      url: database.url,
      poolSize: 1,
      applicationName: 'test',
      onError: () => {},
      answerWithinMs: 10_000,
    });
    try {
      const found = await db.pool.query(asked);
      const bounds = { statement: '8s', lock: '0', idle: '20s', ...always };
      expect(found.rows).toEqual([{ scope: 'system', ...bounds, plans: 'force_generic_plan' }]);
      expect(await db.source.query(asked)).toEqual([{ scope: null, ...bounds, plans: 'auto' }]);
    } finally {
      await db.close();
    }
  });

  test('a connection without limits has none: a migration takes as long as it takes', async () => {
    const source = await createDataSource(database.ownerUrl).initialize();
    try {
      const unbound = { statement: '0', lock: '0', idle: '0', ...always };
      expect(await source.query(asked)).toMatchObject([unbound]);
    } finally {
      await source.destroy();
    }
  });
});
