import type { ServerResponse } from 'node:http';
import type { Webhook } from '../../entities/webhook.js';
import { startLater } from '../../src/domain/outbox.js';
import { endSomeStopped } from '../../src/domain/webhooks/stops.js';
import { days, hours, seconds } from '../../src/platform/clock.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { recordHistory } from '../support/histories.js';
import { aHolder, type TestHolder } from '../support/role-windows.js';
import { historyText, namespace, startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { startTestWorker } from '../support/test-worker.js';
import { until } from '../support/until.js';
import { aSubscription, deliver, startReceiver, verified } from '../support/webhooks.js';

// The whole way: a delivery's row and message, the relay, Temporal, the worker, and a receiver that verifies with the
// public library. The path of a subscription decides how the receiver answers.
const answers: Record<string, (response: ServerResponse, before: number) => void> = {
  ok: (response) => response.writeHead(204).end(),
  'fails-twice': (response, before) => response.writeHead(before < 2 ? 503 : 200).end(),
  fails: (response) => response.writeHead(500).end(),
  'fails-for-a-while': (response, before) => response.writeHead(before < 3 ? 500 : 200).end(),
  'asks-for-time': (response, before) => response.writeHead(before < 1 ? 429 : 200, { 'retry-after': '3' }).end(),
  'is-taken-away': (response, before) => response.writeHead(before < 3 ? 500 : 410).end(),
  redirects: (response, before) => response.writeHead(before < 1 ? 302 : 200, { location: '/ok' }).end(),
  silent: () => {},
  thinks: (response) => void thinking.push(response),
  'thinks-in-the-end': (response, before) =>
    before === 3 ? void thinkingInTheEnd.push(response) : response.writeHead(before < 3 ? 500 : 200).end(),
};
const thinking: ServerResponse[] = [];
const thinkingInTheEnd: ServerResponse[] = [];

let temporal: TestTemporal;
let database: TestDatabase;
let processes: Processes;
let worker: ReturnType<typeof startTestWorker>;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let holder: TestHolder;

beforeAll(async () => {
  [temporal, database] = await Promise.all([startTestTemporal(), newDatabase({ poolSize: 10 })]);
  processes = createProcesses({ address: temporal.address, namespace, apiKey: null });
  worker = startTestWorker(database, temporal, processes, { webhookRetries: [300, seconds(1), hours(1)] });
  receiver = await startReceiver(({ path }, before, response) => answers[path.split('/')[1]!]!(response, before));
  holder = await aHolder(database);
});
afterAll(async () => {
  await receiver.stop();
  await worker.stop();
  await processes.close();
  await temporal.stop();
  await database.close();
});

let paths = 0;
/** Subscribes with a new path. */
async function subscribe(kind: keyof typeof answers, changes: Partial<Webhook> = {}) {
  const path = `/${kind}/${++paths}`;
  const webhook = await aSubscription(database, worker.sealing, holder.scope, { url: receiver.url(path), ...changes });
  return { webhook, received: () => receiver.at(path) };
}
const handleOf = (id: string) => processes.client.workflow.getHandle(`webhook-delivery/${id}`);
const ends = (id: string, status: string) =>
  until(`${id} is ${status}`, async () => {
    const look = await handleOf(id)
      .describe()
      .catch(() => null);
    return look?.status.name === status;
  });
const deliveryOf = async (id: string) =>
  (
    await rowsAsOwner(
      database.ownerUrl,
      'select status, ended_reason, attempt_count, next_attempt_at from webhook_deliveries where id = $1',
      [id],
    )
  )[0] as { status: string; ended_reason: string | null; attempt_count: number; next_attempt_at: Date | null };
const attemptsOf = (id: string) =>
  rowsAsOwner(
    database.ownerUrl,
    `select number, status_code, error, response_excerpt, duration_ms is not null as ended
     from webhook_attempts where delivery_id = $1 order by number`,
    [id],
  );
const webhookOf = async ({ id }: Webhook) =>
  (
    await rowsAsOwner(
      database.ownerUrl,
      'select is_active, disabled_reason, failing_since from webhooks where id = $1',
      [id],
    )
  )[0];
const eventsOf = async (id: string) =>
  (await rowsAsOwner(
    database.ownerUrl,
    'select action, metadata from events where resource_id = $1 order by created_at',
    [id],
  )) as {
    action: string;
    metadata: Record<string, unknown>;
  }[];
const waitsForAnHour = (id: string) =>
  until('its wait for an hour', async () => {
    const { next_attempt_at: next } = await deliveryOf(id);
    return next !== null && next.getTime() - Date.now() > hours(0.5);
  });
/** Retries as the operation does. */
const retry = (id: string, { id: webhookId, accountId, environmentId }: Webhook) =>
  database.db.transaction('system', async (tx) => {
    await tx.query(
      `update webhook_deliveries set status = 'pending', ended_reason = null, settled_at = null, next_attempt_at = now() where id = $1`,
      [id],
    );
    await startLater(tx, 'webhookDelivery', { deliveryId: id, webhookId, accountId, environmentId, news: 'retryNow' });
  });

test.concurrent('an event is delivered once, signed so that the public library verifies it; the history has neither address nor body', async () => {
  const { webhook, received } = await subscribe('ok');
  const [id] = await deliver(database, webhook);
  await ends(id!, 'COMPLETED');
  const [message, ...more] = received();
  expect(more).toEqual([]);
  expect(verified(webhook.plainSecret, message!)).toMatchObject({
    type: 'node.created',
    account_id: webhook.accountId,
  });
  expect(message!.headers).toMatchObject({ 'webhook-id': id, 'content-type': 'application/json' });
  expect(await deliveryOf(id!)).toEqual({
    status: 'succeeded',
    ended_reason: null,
    attempt_count: 1,
    next_attempt_at: null,
  });
  expect(await attemptsOf(id!)).toEqual([
    { number: 1, status_code: 204, error: null, response_excerpt: null, ended: true },
  ]);
  expect(await handleOf(id!).result()).toBe('succeeded');
  expect(await handleOf(id!).query('state')).toBe('succeeded');
  expect((await handleOf(id!).describe()).searchAttributes).toMatchObject({
    GatehouseState: ['succeeded'],
    GatehouseSubjectId: [webhook.id],
    GatehouseEnvironmentId: [webhook.environmentId],
    GatehouseAccountId: [webhook.accountId],
  });
  const history = await historyText(handleOf(id!));
  expect(history).toContain(id);
  for (const text of ['127.0.0.1', 'node.created', webhook.plainSecret, webhook.secret]) {
    expect(history).not.toContain(text);
  }
  await recordHistory('webhook-delivered', handleOf(id!));
});

test.concurrent('a failed call is retried by the schedule: the same id and bytes, with a new signature', async () => {
  const { webhook, received } = await subscribe('fails-twice');
  const [id] = await deliver(database, webhook);
  await ends(id!, 'COMPLETED');
  const messages = received();
  expect(messages).toHaveLength(3);
  expect(new Set(messages.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
  expect(new Set(messages.map(({ body }) => body)).size).toBe(1);
  for (const message of messages) verified(webhook.plainSecret, message);
  expect(messages[1]!.at - messages[0]!.at).toBeGreaterThanOrEqual(265);
  expect(messages[2]!.at - messages[1]!.at).toBeGreaterThanOrEqual(895);
  expect((await attemptsOf(id!)).map(({ number, status_code }) => [number, status_code])).toEqual([
    [1, 503],
    [2, 503],
    [3, 200],
  ]);
  expect(await webhookOf(webhook)).toMatchObject({ is_active: true, failing_since: null });
  await recordHistory('webhook-delivered-at-last', handleOf(id!));
});

test.concurrent('a redirect is a failure, and is not followed', async () => {
  const { webhook } = await subscribe('redirects');
  const [id] = await deliver(database, webhook);
  await ends(id!, 'COMPLETED');
  expect((await attemptsOf(id!)).map(({ status_code }) => status_code)).toEqual([302, 200]);
});

test.concurrent('a receiver may ask for more time than the schedule has', async () => {
  const { webhook, received } = await subscribe('asks-for-time');
  const [id] = await deliver(database, webhook);
  await ends(id!, 'COMPLETED');
  const [first, second] = received();
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(2_950);
});

test.concurrent('a manual retry is sent at once under the same id; a delivery that has failed for good can be retried once more', async () => {
  const { webhook, received } = await subscribe('fails-for-a-while');
  const [id] = await deliver(database, webhook);
  await waitsForAnHour(id!);
  expect((await webhookOf(webhook))!.failing_since).not.toBeNull();
  expect(await handleOf(id!).query('state')).toBe('pending');
  await retry(id!, webhook);
  await ends(id!, 'COMPLETED');
  expect(received()).toHaveLength(4);
  expect(new Set(received().map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
  expect(await webhookOf(webhook)).toMatchObject({ failing_since: null });
  await recordHistory('webhook-retried-while-waiting', handleOf(id!));

  const failing = await subscribe('fails');
  const [lost] = await deliver(database, failing.webhook);
  await waitsForAnHour(lost!);
  for (const calls of [4, 5]) {
    await retry(lost!, failing.webhook);
    await until('its failure', async () => (await deliveryOf(lost!)).status === 'failed');
    await ends(lost!, 'COMPLETED');
    expect(failing.received()).toHaveLength(calls);
  }
  expect(await handleOf(lost!).result()).toBe('failed');
  expect(await deliveryOf(lost!)).toMatchObject({ ended_reason: 'attempts_exhausted', next_attempt_at: null });
  expect((await eventsOf(lost!)).map(({ action }) => action)).toEqual(Array(2).fill('webhook.delivery_failed'));
  await recordHistory('webhook-failed', handleOf(lost!));
});

test.concurrent('a 410 disables the subscription at once, and cancels its other deliveries', async () => {
  const { webhook, received } = await subscribe('is-taken-away');
  const [waiting] = await deliver(database, webhook);
  await waitsForAnHour(waiting!);
  const [id] = await deliver(database, webhook);
  await ends(id!, 'COMPLETED');
  expect(await webhookOf(webhook)).toMatchObject({ is_active: false, disabled_reason: 'gone' });
  expect((await deliveryOf(id!)).status).toBe('cancelled');
  let place: string | null = null;
  do
    place = (await endSomeStopped(database.db, place, 100)).next; // as housekeeping does
  while (place !== null);
  for (const each of [id, waiting]) {
    expect(await deliveryOf(each!)).toMatchObject({ status: 'cancelled', ended_reason: 'webhook_gone' });
  }
  expect((await eventsOf(webhook.id)).map(({ action, metadata }) => [action, metadata.reason])).toEqual([
    ['webhook.disabled', 'gone'],
  ]);
  expect(received()).toHaveLength(4);
});

test.concurrent('five days of nothing but failures disable a subscription; a success in between restarts the five days', async () => {
  const failing = await subscribe('fails', { failingSince: new Date(Date.now() - days(5)) });
  const [id] = await deliver(database, failing.webhook);
  await ends(id!, 'COMPLETED');
  expect(await webhookOf(failing.webhook)).toMatchObject({ is_active: false, disabled_reason: 'failing' });
  expect(await deliveryOf(id!)).toMatchObject({ status: 'cancelled', ended_reason: 'webhook_disabled' });
  expect((await eventsOf(failing.webhook.id)).map(({ metadata }) => metadata.reason)).toEqual(['failing']);
  // The Account has nobody but its Owner, who may manage the subscription.
  const mails = () => worker.sent.filter(({ name }) => name === 'webhook-disabled');
  await until('the mail', async () => mails().length > 0);
  expect(mails()).toMatchObject([{ values: { receiver: new URL(failing.webhook.url).host, first_name: 'O' } }]);

  const nearly = await subscribe('fails', { failingSince: new Date(Date.now() - days(5) + hours(1)) });
  const [waiting] = await deliver(database, nearly.webhook);
  await waitsForAnHour(waiting!);
  expect(await webhookOf(nearly.webhook)).toMatchObject({ is_active: true });

  const back = await subscribe('ok', { failingSince: new Date(Date.now() - days(6)) });
  const [arrived] = await deliver(database, back.webhook);
  await ends(arrived!, 'COMPLETED');
  expect(await webhookOf(back.webhook)).toMatchObject({ is_active: true, failing_since: null });
});

test.concurrent('a disabled subscription is not called any more', async () => {
  const { webhook, received } = await subscribe('ok', { isActive: false });
  const [id] = await deliver(database, webhook);
  const [orphan] = await deliver(database, { ...webhook, id: '00000000-0000-7000-8000-000000000000' });
  for (const each of [id, orphan]) await ends(each!, 'COMPLETED');
  expect(await deliveryOf(id!)).toMatchObject({ status: 'cancelled', ended_reason: 'webhook_disabled' });
  expect(await deliveryOf(orphan!)).toMatchObject({ status: 'cancelled', ended_reason: 'webhook_deleted' });
  expect(received()).toEqual([]);
});

test.concurrent('our own fault counts as a failed attempt like any other, and is not retried for ever', async () => {
  const { webhook, received } = await subscribe('ok', { secret: 'lost.AAAA' });
  const [id] = await deliver(database, webhook);
  await waitsForAnHour(id!);
  expect((await attemptsOf(id!)).map(({ error }) => error)).toEqual(['internal', 'internal', 'internal']);
  expect(received()).toEqual([]);
});

test.concurrent('after a rotation both secrets sign, as long as the old one lasts', async () => {
  const until24h = new Date(Date.now() + hours(24));
  const { webhook: other } = await subscribe('ok');
  const seal = (secret: string, id: string) => worker.sealing.seal(secret, `webhooks.secret/${id}`);
  for (const [previousSecretUntil, signatures] of [
    [until24h, 2],
    [new Date(), 1],
  ] as const) {
    const { webhook, received } = await subscribe('ok');
    const previousSecret = seal(other.plainSecret, webhook.id);
    await rowsAsOwner(
      database.ownerUrl,
      'update webhooks set previous_secret = $2, previous_secret_until = $3 where id = $1',
      [webhook.id, previousSecret, previousSecretUntil],
    );
    const [id] = await deliver(database, webhook);
    await ends(id!, 'COMPLETED');
    const [message] = received();
    expect(message!.headers['webhook-signature']).toMatch(new RegExp(`^(v1,\\S+ ?){${signatures}}$`));
    verified(webhook.plainSecret, message!);
    if (signatures === 2) verified(other.plainSecret, message!);
  }
});

test.concurrent('a delivery that is cancelled in Temporal while it waits is cancelled in its row', async () => {
  const { webhook, received } = await subscribe('fails');
  const [id] = await deliver(database, webhook);
  await waitsForAnHour(id!);
  await handleOf(id!).cancel();
  await ends(id!, 'CANCELLED');
  expect(await deliveryOf(id!)).toMatchObject({ status: 'cancelled', ended_reason: 'cancelled_by_operator' });
  const metadata = { kind: 'webhook_delivery', subject_id: webhook.id, reason: 'cancelled_by_operator' };
  expect(await eventsOf(id!)).toEqual([{ action: 'process.cancelled', metadata }]);
  expect(received()).toHaveLength(3);
  await recordHistory('webhook-cancelled', handleOf(id!));
});

test.concurrent('a delivery that is cancelled while the receiver answers keeps that answer', async () => {
  const { webhook, received } = await subscribe('thinks');
  const [taken] = await deliver(database, webhook);
  await until('the call', async () => received().length === 1);
  await handleOf(taken!).cancel();
  await until('the request to cancel', async () =>
    (await historyText(handleOf(taken!))).includes('workflowExecutionCancelRequestedEventAttributes'),
  );
  for (const response of thinking.splice(0)) response.writeHead(200).end();
  await ends(taken!, 'COMPLETED');
  expect(await deliveryOf(taken!)).toMatchObject({ status: 'succeeded' });
});

test.concurrent('a retry that is requested during the last attempt is carried out', async () => {
  const { webhook, received } = await subscribe('thinks-in-the-end');
  const [id] = await deliver(database, webhook);
  await waitsForAnHour(id!);
  await retry(id!, webhook);
  await until('the last attempt', async () => thinkingInTheEnd.length === 1);
  await retry(id!, webhook);
  thinkingInTheEnd[0]!.writeHead(500).end();
  await ends(id!, 'COMPLETED');
  expect(received()).toHaveLength(5);
  expect(await deliveryOf(id!)).toMatchObject({ status: 'succeeded', attempt_count: 5 });
});

test.concurrent('a receiver that never answers delays no other receiver', async () => {
  const dead = await subscribe('silent');
  const crowd = await deliver(database, dead.webhook, 12);
  await until('the calls of the silent one', async () => dead.received().length >= 4);
  const healthy = await subscribe('ok');
  const ids = await deliver(database, healthy.webhook, 8);
  await until('what the healthy one gets', async () => healthy.received().length === ids.length);
  // Nobody has cancelled the silent one's deliveries by then, or there were few.
  const ended = await rowsAsOwner(
    database.ownerUrl,
    'select count(*)::int as count from webhook_attempts where delivery_id = any($1) and duration_ms is not null',
    [crowd],
  );
  expect(ended[0]!.count).toBeLessThan(crowd.length);
  const [{ count: open }] = (await rowsAsOwner(
    database.ownerUrl,
    'select count(*)::int as count from webhook_attempts where delivery_id = any($1) and duration_ms is null',
    [crowd],
  )) as [{ count: number }];
  expect(open).toBeLessThanOrEqual(4);
  await Promise.all(
    crowd.map((id) =>
      handleOf(id)
        .terminate()
        .catch(() => undefined),
    ),
  ); // some may not run yet
});
