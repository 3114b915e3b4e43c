import { openDb } from '../../src/platform/database/open-db.js';
import { ageKeys } from '../support/age-keys.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { type SilentProxy, startSilentProxy } from '../support/silent-proxy.js';
import { until } from '../support/until.js';

let database: TestDatabase;
let proxy: SilentProxy;
let api: TestApi;
let account: TestAccount;
let headers: Record<string, string>;
const poolSize = 3;

beforeAll(async () => {
  database = await newDatabase();
  proxy = await startSilentProxy(database.url);
  const url = proxy.urlOf(database.url);
  // A busy machine exceeds such short bounds as well: what should succeed is repeated until it does.
  const bounds = { connectWithinMs: 1_500, answerWithinMs: 1_500 };
  const db = await openDb({ url, poolSize, applicationName: 'silent', onError: () => {}, ...bounds });
  api = await startApi({ REQUEST_TIMEOUT: '10s' }, undefined, { ...database, url, db });
  account = await newAccount({ ...api, database });
  headers = await account.apiKey();
});
afterEach(() => proxy.speak());
afterAll(async () => {
  await api?.stop();
  await api?.database.db.close();
  await proxy?.close();
  await database?.close();
});

const list = () => api.app.inject({ url: '/api/v1/roles', headers });
const createRole = (name: string, key?: string) =>
  api.app.inject({
    method: 'POST',
    url: '/api/v1/roles',
    headers: { ...headers, ...(key && { 'idempotency-key': key }) },
    payload: { name },
  });
const served = (what: string) => until(what, async () => (await list()).statusCode === 200);
const rolesNamed = (name: string) => rowsAsOwner(database.ownerUrl, 'select id from roles where name = $1', [name]);
const refusalOf = (answer: Awaited<ReturnType<typeof list>>) => [
  answer.statusCode,
  answer.json().error.code,
  answer.headers['retry-after'],
];

test('while PostgreSQL does not answer, every request gets 503; when it answers again, so does the service', async () => {
  await served('it is served');
  await until('a role is made', async () => (await createRole('before')).statusCode !== 503);
  proxy.fallSilent();
  const waiting = [
    ...Array.from({ length: 3 * poolSize }, list),
    ...Array.from({ length: 2 * poolSize }, (_, i) => createRole(`silent ${i}`)),
    createRole('silent, with a key', 'silent-1'),
  ];
  const [alive, ready] = await Promise.all([api.app.inject('/healthz'), api.app.inject('/readyz')]);
  expect(alive.statusCode).toBe(200);
  expect([ready.statusCode, ready.json().checks.database, ready.headers['retry-after']]).toEqual([
    503,
    'unavailable',
    '5',
  ]);
  for (const answer of await Promise.all(waiting)) {
    // A request that waited for the turn of a broad read may retry sooner than one that waited for PostgreSQL.
    expect(refusalOf(answer)).toEqual([503, 'service.unavailable', expect.stringMatching(/^[15]$/)]);
  }
  await until('the connections that nothing came from are let go of', () => proxy.open() <= 2);

  proxy.speak();
  await served('it is served again');
  await until('a role is made again', async () => (await createRole('afterwards')).statusCode === 201);
  expect(await rolesNamed('silent 0')).toEqual([]);
  const names = (await list()).json().items.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['before', 'afterwards']));
});

test('a change whose commit succeeded without an answer is not repeated under its key', async () => {
  await served('it is served');
  proxy.swallowAnswersTo('COMMIT');
  let tries = 0;
  const create = () => createRole(`once ${tries}`, `once-${tries}`);
  await until('the answer to a commit is lost', async () => {
    tries++; // on a busy machine another answer may be lost first
    expect((await create()).statusCode).toBe(503);
    return (await rolesNamed(`once ${tries}`)).length > 0;
  });
  proxy.speak();
  const again = async () => {
    const answer = await until('it is answered', async () => {
      const given = await create();
      return given.statusCode !== 503 && given;
    });
    return [answer.statusCode, answer.json().error.code];
  };
  expect(await again()).toEqual([409, 'idempotency.in_progress']);
  await ageKeys(database.ownerUrl, 61_000);
  expect(await again()).toEqual([409, 'idempotency.answer_lost']);
  expect(await rolesNamed(`once ${tries}`)).toHaveLength(1);
});

test('PostgreSQL itself ends a statement that waits too long for a lock', async () => {
  const [role] = await until('there is a role', async () => {
    await createRole('locked');
    return rolesNamed('locked');
  });
  const path = `/api/v1/roles/${(role as { id: string }).id}`;
  await database.db.transaction('system', async (tx) => {
    await tx.query("select set_config('gatehouse.scope', 'system', true)");
    await tx.query('select id from roles where id = $1 for update', [(role as { id: string }).id]);
    const change = () => api.app.inject({ method: 'DELETE', url: path, headers: { ...headers, 'if-match': '1' } });
    expect(refusalOf(await change())).toEqual([503, 'service.unavailable', '5']);
  });
  const active = await rowsAsOwner(
    database.ownerUrl,
    `select pid from pg_stat_activity where application_name like 'silent%' and state = 'active'`,
  );
  expect(active).toEqual([]);
});
