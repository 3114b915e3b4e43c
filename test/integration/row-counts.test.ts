import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { createHousekeeping, type SweepPlace } from '../../src/domain/housekeeping/housekeeping.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Call, callsOf } from '../support/calls.js';
import { expectExactCounts } from '../support/database.js';
import { finishRemovals } from '../support/finish-removals.js';
import { createRandom } from '../support/random.js';
import { rowsOf } from '../support/rows.js';

/** Totals that the database maintains. Every suite checks at its end that they are exact. */

let api: TestApi;
let account: TestAccount;
let owner: Call;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(() => api?.stop());

const query = <Row = Record<string, unknown>>(text: string, values: unknown[] = []) => rowsOf<Row>(api, text, values);
const itemCount = async (path: string): Promise<number> => (await owner('GET', path)).json().pagination.item_count;

const addMails = (tx: EntityManager, count: number) =>
  tx.query(
    `insert into emails (id, account_id, environment_id, template, locale, subject_id, cause, status, created_at, ended_at)
     select gen_random_uuid(), $1, $2, 'identity-invite', 'en', $1, gen_random_uuid()::text, 'sent', now(), now() - interval '91 days'
     from generate_series(1, $3)`,
    [account.scope.accountId, account.scope.environmentId, count],
  );
const addPeople = (tx: EntityManager, count: number) =>
  tx.query(
    `insert into identities (id, account_id, email, metadata, created_at, updated_at)
     select gen_random_uuid(), $1, gen_random_uuid() || '@people.example', '{}', now(), now() from generate_series(1, $2)`,
    [account.scope.accountId, count],
  );
const remove = (tx: EntityManager, table: 'emails' | 'identities', count: number) =>
  tx.query(
    `delete from ${table} where id = any (array(select id from ${table} where account_id = $1 limit $2 for update skip locked))`,
    [account.scope.accountId, count],
  );
/** Merges as the owner, who alone may. */
const merge = () => query('select gatehouse_merge_row_counts()');
const partsOf = (list: string) =>
  query<{ value: string }>('select value from row_counts where account_id = $1 and list = $2', [
    account.scope.accountId,
    list,
  ]);

async function sweep(): Promise<void> {
  const housekeeping = createHousekeeping({ db: api.database.db, now: () => new Date(), auditRetentionDays: 365 });
  for (let place: SweepPlace | null | undefined; place !== null; )
    place = (await housekeeping.sweep(place ?? null, 10)).next;
}

test('a total is exact at every moment while many rows come and go, some rolled back, and parts are merged', async () => {
  const { accountId } = account.scope;
  let isOver = false;
  const work = async (seed: number) => {
    const random = createRandom(seed);
    for (let i = 0; i < 25; i++) {
      const isTakenBack = random.next() < 0.25;
      await api.database.db
        .transaction('system', async (tx) => {
          const steps = [
            () => addMails(tx, random.between(1, 5)),
            () => addPeople(tx, random.between(1, 5)),
            () => remove(tx, 'emails', 3),
            () => remove(tx, 'identities', 3),
          ];
          // In any order: transactions in opposite order do not wait for each other.
          for (let left = random.between(1, 4); left > 0; left--) await random.of(steps)();
          if (isTakenBack) throw new Error('taken back');
        })
        .catch((error: Error) => {
          if (error.message !== 'taken back') throw error;
        });
    }
  };
  const merging = async () => {
    while (!isOver) await merge();
  };
  const looking = async () => {
    let looks = 0;
    for (; !isOver; looks++) {
      const [row] = await query(
        `select (select count(*) from emails where account_id = $1) as emails,
           (select coalesce(sum(value), 0) from row_counts where account_id = $1 and list = 'emails') as "emailsCounted",
           (select count(*) from identities where account_id = $1) as people,
           (select coalesce(sum(value), 0) from row_counts where account_id = $1 and list = 'identities') as "peopleCounted"`,
        [accountId],
      );
      expect([row!.emailsCounted, row!.peopleCounted]).toEqual([row!.emails, row!.people]);
    }
    return looks;
  };
  const [looks] = await Promise.all([
    looking(),
    merging(),
    Promise.all([1, 2, 3, 4, 5].map(work)).finally(() => {
      isOver = true;
    }),
  ]);
  expect(looks).toBeGreaterThan(5);
  await expectExactCounts(api.database.ownerUrl);
  await merge();
  expect(await partsOf('emails')).toHaveLength(1);
});

test('counting waits for no uncommitted transaction, in whatever order two lists are reached', async () => {
  const { db } = api.database;
  await db.transaction('system', async (tx) => {
    await addMails(tx, 1);
    await addPeople(tx, 1);
  });
  await db.transaction('system', async (first) => {
    await addMails(first, 2);
    await db.transaction('system', async (second) => {
      await second.query(`set local lock_timeout = '1s'`);
      await addPeople(second, 3);
      await addMails(second, 4);
      await first.query(`set local lock_timeout = '1s'`);
      await addPeople(first, 5);
      await merge();
    });
  });
  await expectExactCounts(api.database.ownerUrl);
  await merge();
  expect([await partsOf('emails'), await partsOf('identities')]).toEqual([[{ value: '7' }], [{ value: '9' }]]);
});

test('the lists use the totals: processes by kind, the directory, and housekeeping’s remains', async () => {
  const before = { all: await itemCount('/processes'), people: await itemCount('/identities') };
  await api.database.db.transaction('system', async (tx) => {
    await addMails(tx, 25);
    await addPeople(tx, 4);
  });
  expect(await itemCount('/processes')).toBe(before.all + 25);
  expect(await itemCount('/processes?kind=email&take=20&page=2')).toBe(25);
  expect(await itemCount('/identities')).toBe(before.people + 4);
  await sweep();
  expect(await itemCount('/processes')).toBe(before.all);
  expect(await partsOf('emails')).toEqual([]);
});

test('all deliveries are counted, and the succeeded ones as the rest', async () => {
  const { accountId, environmentId } = account.scope;
  const path = account.portalPath('/webhooks').slice(`/portal/v1/accounts/${account.accountSlug}`.length);
  const payload = { url: 'https://hooks.example/in', event_types: ['*'] };
  const webhookId = (await owner('POST', path, payload)).json().data.id;
  await query(
    `insert into webhook_deliveries (id, account_id, environment_id, webhook_id, event_id, event_type, body, status, attempt_count, created_at, settled_at)
     select gen_random_uuid(), $1, $2, $3, gen_random_uuid(), 'node.created', '{}', status, 1, now(), case when status <> 'pending' then now() end
     from unnest(array['succeeded', 'failed', 'succeeded', 'pending', 'cancelled', 'succeeded']) status`,
    [accountId, environmentId, webhookId],
  );
  const counts = async () => ({
    all: await itemCount(`${path}/${webhookId}/deliveries`),
    succeeded: await itemCount(`${path}/${webhookId}/deliveries?status=succeeded`),
    failed: await itemCount(`${path}/${webhookId}/deliveries?status=failed`),
    pending: await itemCount(`${path}/${webhookId}/deliveries?status=pending`),
  });
  expect(await counts()).toEqual({ all: 6, succeeded: 3, failed: 1, pending: 1 });
  await query(`update webhook_deliveries set status = 'succeeded' where webhook_id = $1 and status = 'failed'`, [
    webhookId,
  ]);
  expect(await counts()).toEqual({ all: 6, succeeded: 4, failed: 0, pending: 1 });
});

test('inactive people are counted, and active ones as the rest, however they become so', async () => {
  const people = account.portalPath('/identities').slice(`/portal/v1/accounts/${account.accountSlug}`.length);
  const counts = async () => ({
    all: await itemCount(people),
    active: await itemCount(`${people}?status=active`),
    inactive: await itemCount(`${people}?status=inactive`),
    ofPage: (await owner('GET', `${people}?status=inactive&order=asc&take=1&page=2`)).json().pagination.item_count,
    summary: (await owner('GET', `${people}/summary`)).json().data,
  });
  const before = await counts();
  const { accountId, environmentId } = account.scope;
  await query(
    `with people as (
       insert into identities (id, account_id, email, metadata, created_at, updated_at)
       select gen_random_uuid(), $1, gen_random_uuid() || '@people.example', '{}', now(), now() from generate_series(1, 7) returning id),
     counted as (
       insert into counters values ($2, 'identities', $1, 7) on conflict (environment_id, name) do update set value = counters.value + 7)
     insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
     select gen_random_uuid(), $1, $2, id, row_number() over () > 3, now() from people`,
    [accountId, environmentId],
  );
  expect(await counts()).toMatchObject({ all: before.all + 7, active: before.active + 4, inactive: 3, ofPage: 3 });
  const listed = (await owner('GET', `${people}?status=inactive`)).json().items.map(({ id }: { id: string }) => id);
  expect(listed).toHaveLength(3);
  const [again, gone] = listed;
  expect((await owner('POST', `${people}/${again}/activate`)).statusCode).toBe(200);
  expect((await owner('POST', `${people}/${again}/activate`)).statusCode).toBeLessThan(500);
  expect(await counts()).toMatchObject({ active: before.active + 5, inactive: 2 });
  expect((await owner('POST', `${people}/${again}/deactivate`)).statusCode).toBe(200);
  expect((await owner('DELETE', `${people}/${gone}`)).statusCode).toBeLessThan(300);
  const after = await counts();
  expect(after).toMatchObject({ all: before.all + 6, active: before.active + 4, inactive: 2, ofPage: 2 });
  expect(after.summary).toMatchObject({ active: after.active, inactive: 2 });
});

test('an Environment that is being removed counts as nothing, and no total of it is left', async () => {
  const { accountId, environmentId } = account.scope;
  const path = account.portalPath('').slice(`/portal/v1/accounts/${account.accountSlug}`.length);
  for (const name of ['ivy', 'ida']) {
    const invite = { email: `${name}-${randomUUID()}@people.example`, first_name: name };
    expect((await owner('POST', `${path}/identity-invites`, invite)).statusCode).toBe(201);
  }
  const token = { name: 'Directory', environment_id: environmentId };
  const { id: tokenId } = (await owner('POST', '/scim/tokens', token)).json().data;
  const lists = ['/identity-invites', `/identity-invites?environment_id=${environmentId}`, '/scim/tokens'];
  expect(await Promise.all(lists.map(itemCount))).toEqual([2, 2, 1]);
  expect(await itemCount('/processes?kind=identity_invite')).toBe(2);
  expect((await owner('DELETE', `${path}?confirm=development`)).statusCode).toBe(204);
  expect(await Promise.all(lists.map(itemCount))).toEqual([0, 0, 0]);
  expect((await owner('GET', '/scim/tokens')).json().items).toEqual([]);
  expect((await owner('GET', `/scim/tokens/${tokenId}`)).statusCode).toBe(404);
  expect(await itemCount('/processes?kind=identity_invite')).toBe(0);
  expect(await itemCount('/processes')).toBe(1);
  await finishRemovals(api, accountId);
  await merge();
  // Mails are kept for their 90 days.
  const left = await query('select list from row_counts where environment_id = $1', [environmentId]);
  expect(left).toEqual([{ list: 'emails' }]);
  const { items, pagination } = (await owner('GET', '/processes')).json();
  expect(items).toHaveLength(pagination.item_count);
});

test('the service reads totals of its own tenant, and changes none', async () => {
  await api.database.db.transaction('system', (tx) => addMails(tx, 1));
  const other = await newAccount(api);
  const read = (scope: TestAccount['scope']) =>
    api.database.db.transaction({ accountId: scope.accountId }, (tx) =>
      tx.query('select list from row_counts where account_id = $1', [account.scope.accountId]),
    );
  expect(await read(account.scope)).not.toEqual([]);
  expect(await read(other.scope)).toEqual([]);
  for (const text of ['update row_counts set value = 0', 'delete from row_counts', 'select gatehouse_recount_rows()']) {
    await expect(api.database.db.transaction('system', (tx) => tx.query(text))).rejects.toThrow(/permission denied/);
  }
});

test('API keys are counted for their Environment alone', async () => {
  const headers = await account.apiKey();
  const count = async () =>
    (await send(api.app, 200, { url: '/api/v1/api-keys', headers })).json().pagination.item_count;
  const before = await count();
  await account.apiKey();
  expect(await count()).toBe(before + 1);
});
