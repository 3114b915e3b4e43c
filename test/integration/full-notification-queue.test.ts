import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/platform/database/migrations.js';
import { freePort } from '../../src/platform/embedded/ports.js';
import { startPostgres } from '../../src/platform/embedded/postgres.js';
import { newAccount, startApi } from '../support/api.js';
import { openTestDb, serviceUrl } from '../support/database.js';
import { until } from '../support/until.js';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-notifications-'));
const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

/** Starts a PostgreSQL whose queue of notifications has room for half a megabyte instead of eight gigabytes. */
async function smallQueue() {
  const start = async () => startPostgres({ dataDir: folder, port: await freePort(), durable: false });
  const first = await start();
  const owner = new pg.Client(first.url);
  await owner.connect();
  await owner.query('alter system set max_notify_queue_pages = 64');
  await owner.end();
  await first.stop();
  const postgres = await start();
  stops.push(postgres.stop);
  return postgres.url;
}

async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  stops.push(() => client.end());
  return client;
}

test('changes are 503 while a listener in a transaction keeps the queue of notifications full, and work when it is gone', async () => {
  const ownerUrl = await smallQueue();
  await migrate(ownerUrl, serviceUrl(ownerUrl));
  const url = serviceUrl(ownerUrl);
  const db = await openTestDb(url, 5);
  stops.push(() => db.close());
  const api = await startApi({}, undefined, { url, ownerUrl, db, close: async () => {} });
  stops.push(() => api.stop());
  const headers = await (await newAccount(api)).apiKey();
  let count = 0;
  const invite = () => {
    const payload = { email: `ana-${++count}@example.com` };
    return api.app.inject({ method: 'POST', url: '/api/v1/identity-invites', headers, payload });
  };
  expect((await invite()).statusCode).toBe(201);

  const stuck = await session(ownerUrl);
  await stuck.query('listen somebody');
  await stuck.query('begin');
  const other = await session(ownerUrl);
  const fill = async (payload: string) => {
    for (;;) await other.query(`select pg_notify('somebody', ${payload} || random())`);
  };
  await expect(fill(`repeat('x', 7900)`)).rejects.toMatchObject({ code: '54000' });
  await expect(fill(`'x'`)).rejects.toMatchObject({ code: '54000' }); // not even a short one fits

  const refused = await invite();
  expect([refused.statusCode, refused.json().error.code, refused.headers['retry-after']]).toEqual([
    503,
    'service.unavailable',
    '5',
  ]);
  expect((await api.app.inject({ url: '/api/v1/identity-invites', headers })).statusCode).toBe(200);

  await stuck.query('commit');
  await until('changes work again', async () => (await invite()).statusCode === 201);
});
