import { v7 as uuidv7 } from 'uuid';
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

test('a read that names no tenant sees the rows of its scope alone, and the next statement is in the scope of before', async () => {
  const [own, other] = [await newAccount(), await newAccount()];
  const read = (accountId: string) =>
    database.db.read<{ id: string }>({ accountId }, everyAccount, ['a', 'b']).then((rows) => rows.map(({ id }) => id));
  expect(await read(own)).toEqual([own]);
  expect(await read(other)).toEqual([other]);
  expect(await read(uuidv7())).toEqual([]);
  const all = await database.db.statement<{ id: string }>(everyAccount, ['a', 'b']);
  expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining([own, other]));
});

test('reads of many scopes at once, and statements between them, keep each to its own', async () => {
  const scopes = Array.from({ length: 100 }, (_, i) => ({
    accountId: uuidv7(),
    ...(i % 2 === 0 && { environmentId: uuidv7() }),
  }));
  const found = await Promise.all(
    scopes.flatMap((scope) => [
      database.db.read<{ place: string }>(scope, place, ['x']),
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

test('a scope that cannot be set has nothing read, and what fails leaves others alone', async () => {
  const scope = { accountId: uuidv7() };
  const sixth = await Promise.allSettled([
    database.db.read({ accountId: 'a\0b' }, place, ['x']),
    database.db.read(scope, place, ['x\0']),
    database.db.read(scope, byZero, [0]),
    database.db.read(scope, byZero, ['none']),
    database.db.read<{ one: number }>(scope, byZero, [1]),
  ]);
  expect(sixth.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected', 'fulfilled']);
  for (let i = 0; i < 4; i++) {
    expect(await database.db.read(scope, place, ['x'])).toEqual([{ place: `tenant ${scope.accountId}` }]);
    expect(await database.db.statement<{ place: string }>(place, ['x'])).toEqual([{ place: 'system' }]);
  }
});
