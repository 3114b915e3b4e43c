import { createDataSource } from '../../src/platform/database/open-db.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';

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

/** Foreign keys without an index: their tables have few rows, whatever the number of people. */
const ofSmallTables = [
  ...['administrator_invites_invited_by_fk', 'api_keys_account_fk', 'api_keys_application_fk', 'counters_account_fk'],
  ...['counter_stripes_account_fk', 'environment_settings_account_fk', 'membership_roles_account_fk'],
  ...['oauth_clients_account_fk', 'oauth_clients_application_fk', 'user_application_states_account_fk'],
];

test('no deletion of a row has PostgreSQL read a whole table of others for a foreign key', async () => {
  const without = await rowsAsOwner<{ conname: string }>(
    database.ownerUrl,
    `select conname from pg_constraint c where contype = 'f' and not exists (
       select from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = any (c.conkey)
         and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) like '% IS NOT NULL)'))`,
  );
  expect(without.map(({ conname }) => conname).sort()).toEqual([...ofSmallTables].sort());
});
