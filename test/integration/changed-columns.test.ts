import { isOutage } from '../../src/platform/outages.js';
import { asOwner, newDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await newDatabase({ poolSize: 1 });
});
afterEach(() => database.close());

const text = 'select name from roles where name <> $1';
const inScope = { accountId: '01936b2e-0000-7000-8000-000000000000' };

test.each<[string, () => Promise<unknown>]>([
  ['statement', () => database.db.statement({ name: 'names', text }, ['x'])],
  ['statement of a tenant', () => database.db.statementIn(inScope, { name: 'names', text }, ['x'])],
  ['transaction', () => database.db.transaction('system', (tx) => tx.query(text, ['x']))],
])('a prepared %s whose column has another type by now is an outage once, and then works', async (_, ask) => {
  for (let i = 0; i < 3; i++) await ask(); // recurring ones are prepared
  await asOwner((client) => client.query('alter table roles alter column name type varchar(300)'), database.ownerUrl);
  const failure = await ask().catch((error: unknown) => error);
  expect([String(failure), isOutage(failure)]).toEqual([expect.stringContaining('cached plan'), true]);
  expect(await ask()).toEqual([]);
});
