import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { recordEvent, recordEvents } from '../../src/domain/events/record.js';
import { fanOutWebhooks } from '../../src/domain/webhooks/fan-out.js';
import { startWebhookFanOut } from '../../src/worker/webhook-fan-out.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { deliveriesOf, happen, subscribe } from '../support/api-webhooks.js';
import { asOwner } from '../support/database.js';
import { databaseTime, rowsOf } from '../support/rows.js';
import { until } from '../support/until.js';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());
beforeEach(async () => {
  account = await newAccount(api);
  await fanOutAll(); // what the Account's creation left
});

const log = pino({ level: 'silent' });
async function fanOutAll(): Promise<void> {
  while ((await fanOutWebhooks(api.database.db, 100)).events > 0);
}
const queued = () => rowsOf<{ event_id: string }>(api, 'select event_id from webhook_queue order by id');
const askedFor = (webhookId: string) =>
  rowsOf<{ input: Record<string, unknown> }>(
    api,
    `select input from outbox where process = 'webhookDelivery' and input ->> 'webhookId' = '${webhookId}'`,
  );

test('an event becomes one delivery for each active subscription to it, and each has its process', async () => {
  const wanting = await subscribe(api, account, ['node.created', 'role.created']);
  const all = await subscribe(api, account, ['*']);
  const ofAccount = await subscribe(api, account, ['*'], { level: 'account' });
  await subscribe(api, account, ['node.created']);
  await subscribe(api, account, ['*'], { isActive: false });
  const stranger = await newAccount(api);
  await subscribe(api, stranger, ['*']);
  await subscribe(api, { scope: account.productionScope }, ['*']);
  const eventId = await happen(api, account);
  expect(await queued()).toEqual([{ event_id: eventId }]);
  expect(await fanOutWebhooks(api.database.db, 10)).toMatchObject({ events: 1, deliveries: 3 });
  expect(await queued()).toEqual([]);
  const made = await deliveriesOf(api, account);
  expect(made.map((row) => row.webhook_id).sort()).toEqual([wanting, all, ofAccount].sort());
  expect(new Set(made.map((row) => row.body)).size).toBe(1);
  for (const { id, webhook_id: webhookId, ...row } of made) {
    expect(row).toMatchObject({ event_id: eventId, event_type: 'role.created', status: 'pending' });
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const madeAt = Number.parseInt(id.replace('-', '').slice(0, 12), 16); // a UUIDv7's first 48 bits
    expect(Math.abs(madeAt - Date.parse(await databaseTime(api)))).toBeLessThan(60_000);
    const environmentId = webhookId === ofAccount ? null : account.scope.environmentId;
    const { accountId } = account.scope;
    expect(await askedFor(webhookId)).toEqual([{ input: { deliveryId: id, webhookId, accountId, environmentId } }]);
  }
  expect(await deliveriesOf(api, stranger)).toEqual([]);
});

test('the body has the fields of the contract in their order, and nothing beyond the event’s', async () => {
  await subscribe(api, account, ['*']);
  const eventId = await happen(api, account);
  await fanOutAll();
  const [{ body } = { body: '' }] = await deliveriesOf(api, account);
  const [event] = await rowsOf<{ resource_id: string; created_at: Date }>(
    api,
    `select resource_id, created_at from events where id = '${eventId}'`,
  );
  const parsed = JSON.parse(body);
  expect(Object.keys(parsed)).toEqual(['type', 'timestamp', 'data', 'environment_id', 'account_id']);
  expect(parsed).toEqual({
    type: 'role.created',
    timestamp: event?.created_at.toISOString(),
    data: { permission_keys: ['a.b'], resource_type: 'role', resource_id: event?.resource_id },
    environment_id: account.scope.environmentId,
    account_id: account.scope.accountId,
  });
});

test("an Account's own events reach its subscriptions only, an Environment's settings among them", async () => {
  await subscribe(api, account, ['*']);
  const ofAccount = await subscribe(api, account, ['*'], { level: 'account' });
  await happen(api, account, 'environment.settings_updated');
  await api.database.db.transaction({ accountId: account.scope.accountId }, (tx) =>
    recordEvent(tx, 'member.added', { accountId: account.scope.accountId, resourceId: randomUUID() }),
  );
  await fanOutAll();
  const made = await deliveriesOf(api, account);
  expect(made.map((row) => [row.webhook_id, row.event_type])).toEqual([
    [ofAccount, 'environment.settings_updated'],
    [ofAccount, 'member.added'],
  ]);
});

test('events without a subscription, and those of the audit log alone, are not queued', async () => {
  await subscribe(api, account, ['node.created']);
  await subscribe(api, account, ['*'], { isActive: false });
  await happen(api, account);
  expect(await queued()).toEqual([]);
  await subscribe(api, account, ['*']);
  await happen(api, account, 'webhook.tested');
  expect(await queued()).toEqual([]);
});

test('a change that is rolled back is delivered to nobody', async () => {
  await subscribe(api, account, ['*']);
  const change = api.database.db.transaction(account.scope, async (tx) => {
    await recordEvent(tx, 'role.created', { ...account.scope, resourceId: randomUUID() });
    throw new Error('no');
  });
  await expect(change).rejects.toThrow('no');
  expect(await queued()).toEqual([]);
});

test('several workers together create each delivery once, whoever writes at the same time', async () => {
  await subscribe(api, account, ['*']);
  await subscribe(api, account, ['role.created'], { level: 'account' });
  const { db, url: databaseUrl } = api.database;
  const workers = [1, 2, 3].map((batchSize) => startWebhookFanOut({ db, databaseUrl, log, pollMs: 50, batchSize }));
  const ids = await Promise.all(Array.from({ length: 60 }, () => happen(api, account)));
  await db.transaction(account.scope, (tx) =>
    recordEvents(
      tx,
      'role.deleted',
      Array.from({ length: 40 }, () => ({ ...account.scope, resourceId: randomUUID() })),
    ),
  );
  await until('every event is told', async () => (await deliveriesOf(api, account)).length >= 160);
  await Promise.all(workers.map((worker) => worker.stop()));
  expect(await queued()).toEqual([]);
  const made = await deliveriesOf(api, account);
  expect(made).toHaveLength(160);
  expect(new Set(made.map((row) => `${row.webhook_id} ${row.event_id}`)).size).toBe(160);
  expect(new Set(made.filter((row) => row.event_type === 'role.created').map((row) => row.event_id))).toEqual(
    new Set(ids),
  );
});

test('an event is processed by its notification, also after many', async () => {
  await subscribe(api, account, ['*']);
  const { db, url: databaseUrl } = api.database;
  const worker = startWebhookFanOut({ db, databaseUrl, log, pollMs: 3_600_000 });
  for (let i = 1; i <= 5; i++) {
    await happen(api, account);
    await until('it is told', async () => (await deliveriesOf(api, account)).length === i);
  }
  await worker.stop();
});

test('an event whose place has long passed, because its transaction committed slowly, is found all the same', async () => {
  await subscribe(api, account, ['role.created']);
  await rowsOf(api, 'alter table webhook_queue alter column id restart with 50000');
  const { db, url: databaseUrl } = api.database;
  const worker = startWebhookFanOut({ db, databaseUrl, log, pollMs: 20, wholeEveryMs: 100 });
  const isTold = (times: number) => async () => (await deliveriesOf(api, account)).length === times;
  try {
    const id = await happen(api, account);
    await until('it is told', isTold(1));
    await rowsOf(
      api,
      `insert into webhook_queue (id, event_id, event_created_at) select 17, id, created_at from events where id = '${id}'`,
    );
    await until('it is told again', isTold(2));
  } finally {
    await worker.stop();
  }
});

test('processed events that a held snapshot keeps, such as a dump’s, are not read again for each event', async () => {
  const pagesOnce = async () => {
    const explain =
      'explain (analyze, buffers, timing off, format json) select gatehouse_queue_webhooks(gen_random_uuid())';
    const [row] = await rowsOf<{ 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number } }] }>(api, explain);
    return row!['QUERY PLAN'][0].Plan['Shared Hit Blocks'];
  };
  /** The least of several: a new connection, or one whose caches were invalidated meanwhile, reads the catalogue as well. */
  const pages = async () => {
    const all = [];
    for (let i = 0; i < 5; i++) all.push(await pagesOnce());
    return Math.min(...all);
  };
  const before = await pages();
  await asOwner(async (holder) => {
    await holder.query('begin isolation level repeatable read');
    await holder.query('select from webhook_queue limit 1');
    await rowsOf(
      api,
      `insert into webhook_queue (event_id, event_created_at) select gen_random_uuid(), now() from generate_series(1, 50000);
       delete from webhook_queue`,
    );
    expect(await pages()).toBeLessThan(before + 100);
    await holder.query('rollback');
  }, api.database.ownerUrl);
  await rowsOf(api, 'delete from webhook_queue');
});
