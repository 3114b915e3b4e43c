import { randomUUID } from 'node:crypto';
import { readinessChecks } from '../../src/compose-shared.js';
import { startLater } from '../../src/domain/outbox.js';
import type { Db } from '../../src/platform/database/db.js';
import { openDb } from '../../src/platform/database/open-db.js';
import { statesOf } from '../../src/platform/readiness.js';
import { startOutboxRelay } from '../../src/temporal/outbox-relay.js';
import { workerBounds } from '../../src/worker/database-bounds.js';
import { createMetrics } from '../../src/worker/metrics.js';
import { startWebhookFanOut } from '../../src/worker/webhook-fan-out.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { type SilentProxy, startSilentProxy } from '../support/silent-proxy.js';
import { until } from '../support/until.js';

/**
 * The machine of PostgreSQL is gone, and another one is at its address: connections from before never get an answer. A
 * worker's statements may take a quarter of an hour, and what is watched and relayed cannot wait that long.
 */

let database: TestDatabase;
let proxy: SilentProxy;
let db: Db;
beforeEach(async () => {
  database = await newDatabase();
  proxy = await startSilentProxy(database.url);
  const url = proxy.urlOf(database.url);
  db = await openDb({ url, poolSize: 3, applicationName: 'silent worker', onError: () => {}, ...workerBounds });
});
afterEach(async () => {
  proxy.speak();
  await proxy.close(); // ends what still waits
  await db.close();
  await database.close();
});

const ask = () => database.db.transaction('system', (tx) => startLater(tx, 'emailDelivery', { emailId: randomUUID() }));

test('the figures of a worker follow what waits, within seconds', async () => {
  const metrics = createMetrics(db);
  const waiting = async () => /^gatehouse_outbox_messages\{.*\} (\d+)$/m.exec(await metrics.text())?.[1];
  await until('they are read', async () => (await waiting()) === '0');
  proxy.fallSilent();
  await ask();
  expect(await waiting()).toBe('0'); // the last one read
  proxy.speak();
  await until('they are read on another connection', async () => (await waiting()) === '1', { timeoutMs: 120_000 });
});

test('probes leave it connections for its work', async () => {
  const checks = readinessChecks({ db, processes: { ping: async () => {} } });
  expect(await statesOf(checks)).toEqual({ database: 'ok', migrations: 'ok', temporal: 'ok' });
  await db.transaction('system', async () => {}); // leaves an open connection
  proxy.fallSilent();
  for (let probes = 0; probes < 4; probes++) expect((await statesOf(checks)).database).toBe('unavailable');
  proxy.speak();
  const work = async () => {
    await db.transaction('system', (tx) => tx.query('select 1'));
    return (await db.statement({ name: 'one', text: 'select 1' }, [])).length === 1;
  };
  await until('it works again', work, { timeoutMs: 120_000 });
  expect(await statesOf(checks)).toEqual({ database: 'ok', migrations: 'ok', temporal: 'ok' });
});

test('the relay starts what waits, on another connection', async () => {
  const started: unknown[] = [];
  const relay = startOutboxRelay({
    db,
    databaseUrl: database.url,
    processes: { start: async (_name, input) => started.push(input) > 0 },
    log: { info: () => {}, warn: () => {} },
    pollMs: 200,
    answerWithinMs: 2_000,
  });
  await ask();
  await until('it works', () => started.length === 1);
  proxy.fallSilent();
  await ask();
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // each lane has looked, and waits for an answer
  proxy.speak();
  await until('the next one is started', () => started.length === 2, { timeoutMs: 120_000 });
  await relay.stop();
});

test('events are passed on to their subscriptions, on another connection', async () => {
  // Of an event that nobody subscribes to, nothing is left but the empty queue.
  const queue = () =>
    rowsAsOwner(
      database.ownerUrl,
      'insert into webhook_queue (event_id, event_created_at) values (gen_random_uuid(), now())',
    );
  const isEmpty = async () => (await rowsAsOwner(database.ownerUrl, 'select from webhook_queue')).length === 0;
  const log = { info: () => {}, warn: () => {} };
  const fanOut = startWebhookFanOut({ db, databaseUrl: database.url, log, pollMs: 200, answerWithinMs: 2_000 });
  await queue();
  await until('it works', isEmpty);
  proxy.fallSilent();
  await queue();
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // it has looked, and waits for an answer
  proxy.speak();
  await until('the next one is passed on', isEmpty, { timeoutMs: 120_000 });
  await fanOut.stop();
});

test('a statement without an answer occupies no other connection of the worker', async () => {
  const { statements } = db.pools();
  const pause = { name: 'pause', text: 'select pg_sleep(0.5)::text' };
  await Promise.all([1, 2, 3].map(() => db.statement(pause, []))); // three connections, all idle afterwards
  expect(statements?.idleCount).toBe(3);
  proxy.fallSilent();
  await expect(db.statement({ ...pause, withinMs: 500 }, [])).rejects.toThrow('Query read timeout');
  const occupied = () => (statements?.totalCount ?? 0) - (statements?.idleCount ?? 0);
  await until('it is looked after on another one', () => occupied() === 1);
  await until('that one is free as well', () => occupied() === 0, { timeoutMs: 60_000 });
});
