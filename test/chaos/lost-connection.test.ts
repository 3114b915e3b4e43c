import type { EntityManager } from 'typeorm';
import { isOutage } from '../../src/platform/outages.js';
import { asOwner, newDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

const terminate = (pid: number) => asOwner((client) => client.query('select pg_terminate_backend($1)', [pid]));
const backendOf = async (tx: EntityManager): Promise<number> =>
  (await tx.query('select pg_backend_pid() as pid'))[0].pid;

/** Ends a session as PostgreSQL does when it is idle in a transaction; resolves when our side has noticed. */
async function loseConnection(tx: EntityManager) {
  await terminate(await backendOf(tx));
  await until('our side has noticed', () => tx.queryRunner?.isReleased);
}
const failureOf = (work: (tx: EntityManager) => Promise<unknown>) =>
  database.db.transaction('system', work).then(
    () => 'committed',
    (error: Error) => error,
  );

test.each<[string, (tx: EntityManager) => Promise<unknown>]>([
  [
    'between two statements',
    async (tx) => {
      await loseConnection(tx);
      await tx.query('select 1');
    },
  ],
  ['before the commit', loseConnection],
  [
    'within a statement',
    async (tx) => {
      const pid = await backendOf(tx);
      const running = tx.query('select pg_sleep(20)');
      await Promise.all([terminate(pid), running]);
    },
  ],
])('a connection that is lost %s is an outage, and the next transaction works', async (_, work) => {
  const failure = await failureOf(work);
  expect([String(failure), isOutage(failure)]).toEqual([expect.any(String), true]);
  expect(await database.db.transaction('system', (tx) => tx.query('select 1 as one'))).toEqual([{ one: 1 }]);
});

test('more connections than the pool has can be lost, one after the other', async () => {
  for (let i = 0; i < 8; i++) expect(isOutage(await failureOf(loseConnection))).toBe(true);
  expect(await database.db.transaction('system', (tx) => tx.query('select 1 as one'))).toEqual([{ one: 1 }]);
});
