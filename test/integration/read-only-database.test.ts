import { newAccount, startApi, type TestApi } from '../support/api.js';
import { asOwner } from '../support/database.js';
import { until } from '../support/until.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

/** Existing sessions stay as they began. */
async function setReadOnlyForNew(is: boolean) {
  await asOwner(async (client) => {
    await client.query('set default_transaction_read_only = off');
    const { rows } = await client.query<{ name: string }>('select current_database() as name');
    await client.query(`alter database ${rows[0]?.name} set default_transaction_read_only = ${is ? 'on' : 'off'}`);
  }, api.database.ownerUrl);
}

/** Makes the database read-only, like an address that leads to a standby, or to the former primary. */
async function setReadOnly(is: boolean) {
  await setReadOnlyForNew(is);
  await asOwner(
    (client) =>
      client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      ),
    api.database.ownerUrl,
  );
}

test('a PostgreSQL that accepts no writes is an outage: 503, out of the load balancer, and back by itself', async () => {
  const headers = await (await newAccount(api)).apiKey();
  const create = (email: string) =>
    api.app.inject({ method: 'POST', url: '/api/v1/identities', headers, payload: { email } });
  const readiness = async () => (await api.app.inject('/readyz')).json().checks.database;
  expect([(await create('one@example.com')).statusCode, await readiness()]).toEqual([201, 'ok']);

  await setReadOnly(true);
  await until('the api notices', async () => (await readiness()) === 'unavailable');
  const refused = await until('it answers by what PostgreSQL says', async () => {
    const answer = await create('two@example.com');
    return answer.statusCode === 503 && answer;
  });
  expect(refused.headers['retry-after']).toBe('5');
  expect(refused.json().error.code).toBe('service.unavailable');

  await setReadOnly(false);
  await until('the api is back', async () => (await readiness()) === 'ok');
  await until('it writes again', async () => (await create('three@example.com')).statusCode === 201);
});

test('a connection that began read-only is not used again', async () => {
  const { db } = api.database;
  const write = () => db.transaction('system', (tx) => tx.query(`update accounts set name = name`));
  const one = () => db.statement({ name: 'writes', text: 'update accounts set name = name' }, []);
  await setReadOnly(true);
  await until('its connections are new', async () => (await write().catch(({ code }) => code)) === '25006');
  await expect(one()).rejects.toMatchObject({ code: '25006' });
  await setReadOnlyForNew(false);
  await Promise.all([write(), one()]); // each existing connection has been refused once, and is closed
});
