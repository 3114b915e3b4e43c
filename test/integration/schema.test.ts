import { createDataSource } from '../../src/platform/database/open-db.js';
import { newDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

test('the entities describe exactly what the migrations created', async () => {
  const source = createDataSource(database.ownerUrl);
  await source.initialize();
  const { upQueries } = await source.driver.createSchemaBuilder().log();
  await source.destroy();
  expect(upQueries.map(({ query }) => query)).toEqual([]);
});

test('every table of a tenant is under row-level security', async () => {
  const source = createDataSource(database.ownerUrl);
  await source.initialize();
  const open = await source.query(
    `select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and not relrowsecurity`,
  );
  await source.destroy();
  expect(open.map(({ relname }: { relname: string }) => relname)).toEqual(['migrations']);
});

test("a transaction sees its own Account's rows and no others, even without a filter", async () => {
  const [mine, other] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'];
  const insert = `insert into accounts (id, name, slug, created_at, updated_at) values ($1, 'a', $2, now(), now())`;
  await database.db.transaction('system', async (tx) => {
    await tx.query(insert, [mine, 'mine']);
    await tx.query(insert, [other, 'other']);
  });
  const slugs = await database.db.transaction({ accountId: mine as string }, (tx) =>
    tx.query('select slug from accounts'),
  );
  expect(slugs).toEqual([{ slug: 'mine' }]);
  expect(await database.db.source.query('select slug from accounts')).toEqual([]);
});

test("a transaction cannot write another Account's rows", async () => {
  const foreign = database.db.transaction({ accountId: '00000000-0000-7000-8000-000000000003' }, (tx) =>
    tx.query(
      `insert into accounts (id, name, slug, created_at, updated_at) values (gen_random_uuid(), 'x', 'x', now(), now())`,
    ),
  );
  await expect(foreign).rejects.toThrow(/row-level security/);
});

test('the service cannot change or delete events', async () => {
  for (const text of ['update events set action = action', 'delete from events', 'truncate events']) {
    await expect(database.db.transaction('system', (tx) => tx.query(text))).rejects.toThrow(/permission denied/);
  }
});
