import { setTimeout as sleep } from 'node:timers/promises';
import { createHousekeeping, type SweepPlace } from '../../src/domain/housekeeping/housekeeping.js';
import { countWaitingProcesses } from '../../src/domain/processes/counts.js';
import { createWebhookDeliveries } from '../../src/domain/webhooks/deliveries.js';
import { fanOutWebhooks } from '../../src/domain/webhooks/fan-out.js';
import { newAccount, type TestAccount, type TestApi } from '../support/api.js';
import { startApiBesideTemporal } from '../support/api-beside-temporal.js';
import { deliveriesOf, happen } from '../support/api-webhooks.js';
import { asOwner } from '../support/database.js';
import { untilWaiting } from '../support/lock-waits.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApiBesideTemporal();
});
afterAll(() => api.stop());
beforeEach(async () => {
  account = await newAccount(api);
});

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
async function ask(method: Method, path: string, payload?: object) {
  const { statusCode: status, body } = await api.app.inject({
    method,
    url: `/portal/v1/accounts/${account.accountSlug}${path}`,
    headers: await account.as('owner'),
    ...(payload && { payload }),
  });
  return { status, body: body ? JSON.parse(body) : null };
}

/** Creates a subscription of the Account with waiting deliveries. */
async function awaited(count: number): Promise<{ id: string; deliveries: string[] }> {
  const wanted = { url: 'https://receiver.example/hook', event_types: ['role.created'] };
  const { id } = (await ask('POST', '/webhooks', wanted)).body.data;
  return { id, deliveries: await more(id, count) };
}
async function more(id: string, count: number): Promise<string[]> {
  const known = new Set((await deliveriesOf(api, account)).map((row) => row.id));
  for (let i = 0; i < count; i++) await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  const rows = await deliveriesOf(api, account);
  return rows.filter((row) => row.webhook_id === id && !known.has(row.id)).map((row) => row.id);
}

/** Locks the deliveries while the work runs: a change of all of them waits, but nothing waits for it. */
const whileHeld = <T>(work: () => Promise<T>): Promise<T> =>
  asOwner(async (client) => {
    await client.query('begin');
    await client.query('select from webhook_deliveries for update');
    try {
      const tooLong = sleep(5000, undefined, { ref: false }).then(() => {
        throw new Error('it waited for the deliveries');
      });
      return await Promise.race([work(), tooLong]);
    } finally {
      await client.query('rollback');
    }
  }, api.database.ownerUrl);

const posts: string[] = [];
/** Attempts deliveries, each answered with one status. @param meanwhile runs during the call */
const attempts = (meanwhile: () => Promise<unknown> = async () => undefined, status = 410) =>
  createWebhookDeliveries({
    db: api.database.db,
    sealing: { open: (sealed) => sealed },
    outbound: {
      post: async (url) => {
        posts.push(url);
        await meanwhile();
        return { status, retryAfter: null, excerpt: null };
      },
    },
    signLogoutToken: async () => '',
    now: () => new Date(),
    schedule: [1000],
    onFault: () => undefined,
  });

async function sweep(batchSize: number): Promise<number> {
  const housekeeping = createHousekeeping({ db: api.database.db, now: () => new Date(), auditRetentionDays: 365 });
  let ended = 0;
  for (let place: SweepPlace | null = null; ; ) {
    const swept = await housekeeping.sweep(place, batchSize);
    if (swept.table !== 'webhook_stops') return ended;
    ended += swept.deleted;
    place = swept.next;
  }
}

const listed = async (id: string, query = '') => {
  const { items, pagination } = (await ask('GET', `/webhooks/${id}/deliveries${query}`)).body;
  return [pagination.item_count, items.map(({ status }: { status: string }) => status)];
};
const processes = async (query: string) => {
  const { items, pagination } = (await ask('GET', `/processes?kind=webhook_delivery&${query}`)).body;
  return [pagination.item_count, items.map(({ state }: { state: string }) => state)];
};

test('disabling a subscription reads no waiting delivery; each reader sees them cancelled at once', async () => {
  const { id, deliveries } = await awaited(3);
  const { status } = await whileHeld(() => ask('PATCH', `/webhooks/${id}`, { is_active: false }));
  expect(status).toBe(200);

  const all = [3, ['cancelled', 'cancelled', 'cancelled']];
  expect(await listed(id)).toEqual(all);
  expect(await listed(id, '?status=cancelled')).toEqual(all);
  expect(await listed(id, '?status=pending')).toEqual([0, []]);
  const one = (await ask('GET', `/webhooks/${id}/deliveries/${deliveries[0]}`)).body.data;
  expect(one).toMatchObject({ status: 'cancelled', ended_reason: 'webhook_disabled', next_attempt_at: null });
  expect(one).toMatchObject({ settled_at: expect.any(String), process: { state: 'cancelled', verbs: ['retry'] } });
  expect(await processes('state=cancelled')).toEqual(all);
  expect(await processes('open=false')).toEqual(all);
  expect(await processes('state=pending')).toEqual([0, []]);
  expect(await processes('open=true')).toEqual([0, []]);
  const process = (await ask('GET', `/processes/${deliveries[0]}`)).body.data;
  expect(process).toMatchObject({ state: 'cancelled', ended_reason: 'webhook_disabled', ended_at: one.settled_at });
  expect((await ask('POST', `/processes/${deliveries[0]}/cancel`, { reason: 'x' })).status).toBe(409);

  expect(await sweep(2)).toBe(3);
  expect((await deliveriesOf(api, account)).map((row) => row.status)).toEqual(all[1]);
  expect((await ask('GET', `/webhooks/${id}/deliveries/${deliveries[0]}`)).body.data).toEqual(one);
  expect(await rowsOf(api, `select from webhook_stops where webhook_id = '${id}'`)).toEqual([]);
});

test('a 410 of the former URL disables nothing: another URL is not responsible for it', async () => {
  const { id, deliveries } = await awaited(2);
  const [due, other] = deliveries as [string, string];
  const moved = { url: 'https://receiver.example/elsewhere' };
  const look = await attempts(() => ask('PATCH', `/webhooks/${id}`, moved)).attempt(due, id);
  expect(look).toMatchObject({ status: 'pending', attempts: 1 });
  const webhook = async () => (await ask('GET', `/webhooks/${id}`)).body.data;
  expect(await webhook()).toMatchObject({ is_active: true, disabled_reason: null, ...moved });
  expect((await rowsOf(api, `select failing_since from webhooks where id = '${id}'`))[0]).toEqual({
    failing_since: null,
  });
  expect(await attempts().attempt(other, id)).toMatchObject({ status: 'cancelled' });
  expect(await webhook()).toMatchObject({ is_active: false, disabled_reason: 'gone' });
  expect(await sweep(10)).toBe(1);
});

test('a success at the former URL says nothing of the failures at the present one', async () => {
  const { id, deliveries } = await awaited(3);
  const [former, failing, present] = deliveries as [string, string, string];
  const failingSince = async () => (await ask('GET', `/webhooks/${id}`)).body.data.failing_since;
  const moveAndFail = async () => {
    await ask('PATCH', `/webhooks/${id}`, { url: 'https://receiver.example/elsewhere' });
    await attempts(undefined, 500).attempt(failing, id);
  };
  expect(await attempts(moveAndFail, 200).attempt(former, id)).toMatchObject({ status: 'succeeded' });
  expect(await failingSince()).not.toBeNull();
  expect(await attempts(undefined, 200).attempt(present, id)).toMatchObject({ status: 'succeeded' });
  expect(await failingSince()).toBeNull();
});

test('a subscription that is enabled again before that is written gets new and requested deliveries, and no others', async () => {
  const { id, deliveries } = await awaited(3);
  await ask('PATCH', `/webhooks/${id}`, { is_active: false });
  await ask('PATCH', `/webhooks/${id}`, { is_active: true });
  const [later] = (await more(id, 1)) as [string];
  const [asked, due] = deliveries as [string, string];
  const again = await ask('POST', `/webhooks/${id}/deliveries/${asked}/retry`);
  expect(again.body.data).toMatchObject({ status: 'pending', ended_reason: null });
  expect(await listed(id, '?status=pending')).toEqual([2, ['pending', 'pending']]);
  expect(await listed(id, '?status=cancelled')).toEqual([2, ['cancelled', 'cancelled']]);
  expect(await processes('state=pending')).toEqual([2, ['pending', 'pending']]);

  posts.length = 0;
  expect(await attempts().attempt(due, id)).toMatchObject({ status: 'cancelled', wakeAt: null });
  expect(posts).toEqual([]);
  expect(await sweep(10)).toBe(1);
  const rows = new Map((await deliveriesOf(api, account)).map((row) => [row.id, row]));
  expect(rows.get(due)).toMatchObject({ status: 'cancelled', ended_reason: 'webhook_disabled' });
  expect([rows.get(asked)?.status, rows.get(later)?.status]).toEqual(['pending', 'pending']);

  // The next stop is the deletion's; each delivery keeps the reason of the first stop that reached it.
  await ask('DELETE', `/webhooks/${id}`);
  expect(await processes('state=pending')).toEqual([0, []]);
  expect(await sweep(10)).toBe(2);
  const reasons = (await deliveriesOf(api, account)).map((row) => row.ended_reason);
  expect(reasons.sort()).toEqual(['webhook_deleted', 'webhook_deleted', 'webhook_disabled', 'webhook_disabled']);
});

test('deleting a subscription reads no waiting delivery, and the next run ends those that were locked', async () => {
  const counted = async () =>
    (await countWaitingProcesses(api.database.db)).find(({ kind }) => kind === 'webhook_delivery')?.count;
  const before = await counted();
  const { id, deliveries } = await awaited(2);
  expect(await counted()).toBe((before ?? 0) + 2);
  expect((await whileHeld(() => ask('DELETE', `/webhooks/${id}`))).status).toBe(204);
  expect(await counted()).toBe(before);
  expect(await processes('state=cancelled')).toEqual([2, ['cancelled', 'cancelled']]);
  const process = (await ask('GET', `/processes/${deliveries[0]}`)).body.data;
  expect(process).toMatchObject({ state: 'cancelled', ended_reason: 'webhook_deleted', verbs: [] });
  expect(await whileHeld(() => sweep(10))).toBe(0);
  expect(await sweep(10)).toBe(2);
  expect(await rowsOf(api, `select from webhook_stops where webhook_id = '${id}'`)).toEqual([]);
});

test('the delivery whose receiver is gone ends with that answer, and the others count as ended', async () => {
  const { id, deliveries } = await awaited(2);
  const [asked, other] = deliveries as [string, string];
  expect(await attempts().attempt(asked, id)).toMatchObject({ status: 'cancelled', wakeAt: null, attempts: 1 });
  expect((await deliveriesOf(api, account)).find((row) => row.id === asked)).toMatchObject({
    status: 'cancelled',
    ended_reason: 'webhook_gone',
  });
  const shown = (await ask('GET', `/webhooks/${id}/deliveries/${other}`)).body.data;
  expect(shown).toMatchObject({ status: 'cancelled', ended_reason: 'webhook_gone' });
});

test('a delivery that was being created when the receiver was gone ends for that reason, too', async () => {
  const { id, deliveries } = await awaited(2);
  const [asked, late] = deliveries as [string, string];
  await attempts().attempt(asked, id);
  await rowsOf(api, `update webhook_deliveries set created_at = clock_timestamp() where id = '${late}'`);
  posts.length = 0;
  expect(await attempts().attempt(late, id)).toMatchObject({ status: 'cancelled', wakeAt: null });
  expect(posts).toEqual([]);
  const rows = new Map((await deliveriesOf(api, account)).map((row) => [row.id, row.ended_reason]));
  expect([rows.get(asked), rows.get(late)]).toEqual(['webhook_gone', 'webhook_gone']);
});

test('deleting an environment reads no waiting delivery of its webhooks', async () => {
  const { body } = await ask('POST', `/applications/${account.applicationSlug}/environments`, {
    name: 'Elsewhere',
    type: 'development',
  });
  const at = `/applications/${account.applicationSlug}/environments/${body.data.slug}`;
  const wanted = { url: 'https://receiver.example/hook', event_types: ['role.created'] };
  const { id } = (await ask('POST', `${at}/webhooks`, wanted)).body.data;
  await ask('POST', `${at}/webhooks/${id}/test`);
  const { status } = await whileHeld(() => ask('DELETE', `${at}?confirm=${body.data.slug}`));
  expect(status).toBeLessThan(300);
  const [only] = await deliveriesOf(api, account);
  posts.length = 0;
  expect(await attempts().attempt(only!.id, id)).toMatchObject({ status: 'cancelled' });
  expect(posts).toEqual([]);
});

// Switching a subscription off locks it before its deliveries; the other way round, the two could deadlock.
test.each([204, 410, 500])(
  'an answer with %i waits for its subscription without holding the delivery',
  async (status) => {
    const { id, deliveries } = await awaited(1);
    const [delivery = ''] = deliveries;
    const { ownerUrl } = api.database;
    await rowsOf(api, 'update webhooks set failing_since = now() where id = $1', [status === 204 ? id : null]);
    const settled = await asOwner(async (client) => {
      await client.query('begin');
      await client.query('select from webhooks where id = $1 for update', [id]);
      const settling = attempts(undefined, status).attempt(delivery, id);
      await untilWaiting(ownerUrl, 1);
      await rowsOf(api, 'select from webhook_deliveries where id = $1 for update nowait', [delivery]);
      await client.query('rollback');
      return settling;
    }, ownerUrl);
    expect(settled.status).toBe({ 204: 'succeeded', 410: 'cancelled', 500: 'pending' }[status]);
  },
);
