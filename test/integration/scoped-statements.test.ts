import { v7 as uuidv7 } from 'uuid';
import { isOutage } from '../../src/platform/outages.js';
import { newDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase({ poolSize: 2 });
});
afterAll(() => database.close());

const place = {
  name: 'place',
  text: `select concat_ws(' ', current_setting('gatehouse.scope'), nullif(current_setting('gatehouse.account_id', true), ''),
    nullif(current_setting('gatehouse.environment_id', true), '')) as place where $1 <> ''`,
};
const everyAccount = { name: 'every_account', text: 'select id from accounts where $1 <> $2' };
const byZero = { name: 'by_zero', text: 'select 1 / $1::integer as one' };

const newAccount = async (): Promise<string> => {
  const id = uuidv7();
  await database.db.transaction({ accountId: id }, (tx) =>
    tx.query('insert into accounts (id, name, slug, created_at, updated_at) values ($1, $2, $3, now(), now())', [
      id,
      'Some',
      `some-${id}`,
    ]),
  );
  return id;
};

test('a statement without a tenant sees the rows of its scope alone, and the next statement is in the earlier scope', async () => {
  const [own, other] = [await newAccount(), await newAccount()];
  const read = (accountId: string) =>
    database.db
      .statementIn<{ id: string }>({ accountId }, everyAccount, ['a', 'b'])
      .then((rows) => rows.map(({ id }) => id));
  expect(await read(own)).toEqual([own]);
  expect(await read(other)).toEqual([other]);
  expect(await read(uuidv7())).toEqual([]);
  const all = await database.db.statement<{ id: string }>(everyAccount, ['a', 'b']);
  expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining([own, other]));
});

test('statements of many scopes at once, and statements between them, each stay in their own', async () => {
  const scopes = Array.from({ length: 100 }, (_, i) => ({
    accountId: uuidv7(),
    ...(i % 2 === 0 && { environmentId: uuidv7() }),
  }));
  const found = await Promise.all(
    scopes.flatMap((scope) => [
      database.db.statementIn<{ place: string }>(scope, place, ['x']),
      database.db.statement<{ place: string }>(place, ['x']),
    ]),
  );
  const places = found.map(([row]) => row?.place);
  const expected = scopes.flatMap(({ accountId, environmentId = '' }) => [
    `tenant ${accountId} ${environmentId}`.trim(),
    'system',
  ]);
  expect(places).toEqual(expected);
});

test('a scope that cannot be set prevents all reads, and a failure does not affect others', async () => {
  const scope = { accountId: uuidv7() };
  const sixth = await Promise.allSettled([
    database.db.statementIn({ accountId: 'a\0b' }, place, ['x']),
    database.db.statementIn(scope, place, ['x\0']),
    database.db.statementIn(scope, byZero, [0]),
    database.db.statementIn(scope, byZero, ['none']),
    database.db.statementIn<{ one: number }>(scope, byZero, [1]),
  ]);
  expect(sixth.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected', 'fulfilled']);
  for (let i = 0; i < 4; i++) {
    expect(await database.db.statementIn(scope, place, ['x'])).toEqual([{ place: `tenant ${scope.accountId}` }]);
    expect(await database.db.statement<{ place: string }>(place, ['x'])).toEqual([{ place: 'system' }]);
  }
});

test('a change is committed when it is answered, and rolled back as a whole if it fails', async () => {
  const scope = { accountId: await newAccount() };
  const rename = {
    name: 'rename',
    text: `with renamed as (update accounts set name = $1 returning id) select 1 / length($1::text) as one from renamed`,
  };
  const nameOf = () =>
    database.db.statement<{ name: string }>({ name: 'names', text: 'select name from accounts where id = $1' }, [
      scope.accountId,
    ]);
  expect(await database.db.statementIn(scope, rename, ['New'])).toHaveLength(1);
  expect(await nameOf()).toEqual([{ name: 'New' }]);
  await expect(database.db.statementIn(scope, rename, [''])).rejects.toThrow('division by zero');
  expect(await nameOf()).toEqual([{ name: 'New' }]);
});

test('a statement that PostgreSQL refuses keeps its connection', async () => {
  const { db } = database;
  const pid = { name: 'pid', text: 'select pg_backend_pid() as pid, $1::text as x' };
  const pids = async () => {
    const found = await Promise.all([0, 1].map(() => db.statement<{ pid: number }>(pid, ['x'])));
    return found.flatMap((rows) => rows.map((row) => row.pid)).sort();
  };
  const before = await pids();
  for (let i = 0; i < 3; i++) {
    const refused = await Promise.allSettled([
      db.statement(byZero, [0]),
      db.statement(byZero, ['none']),
      db.statement({ name: 'broken', text: 'select from nowhere where $1' }, [true]),
    ]);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  }
  expect(await pids()).toEqual(before);
  expect(await db.statement(byZero, [1])).toEqual([{ one: 1 }]);
});

test('a statement that loses its connection is an outage, and the next one gets another', async () => {
  const { db } = database;
  const failure = await db
    .statement({ name: 'ended', text: 'select pg_terminate_backend(pg_backend_pid()), pg_sleep($1)' }, [20])
    .catch((error: unknown) => error);
  expect([failure instanceof Error, isOutage(failure)]).toEqual([true, true]);
  expect(await db.statement(byZero, [1])).toEqual([{ one: 1 }]);
});
