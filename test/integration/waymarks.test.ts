import type { EntityManager } from 'typeorm';
import { fromWaymark, renewWaymarks } from '../../src/domain/identities/waymarks.js';
import { rangeOf } from '../../src/domain/lists/paging.js';
import { type Ask, statementOf } from '../../src/domain/lists/row-pages.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { callsOf } from '../support/calls.js';
import { finishRemovals } from '../support/finish-removals.js';
import { createRandom } from '../support/random.js';
import { rowsOf } from '../support/rows.js';

/** Pages in the middle of an Environment's members are read from waymarks (docs/decisions/0090), with equal results. */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const rules = { fewest: 3_000, every: 200, settledMs: 0 };
const years = 365 * 24 * 3600;

const query = <Row = Record<string, unknown>>(text: string, values: unknown[] = []) => rowsOf<Row>(api, text, values);
type On = Pick<EntityManager, 'query'>;
const alone: On = { query: (text: string, values?: unknown[]) => query(text, values) as never };

/** Adds members who joined within the last years, or seconds, some at the same time. */
async function join({ scope }: TestAccount, count: number, within = years, on: On = alone): Promise<void> {
  await on.query(
    `with made as (
       insert into identities (id, account_id, email, metadata, created_at, updated_at)
       select gen_random_uuid(), $1, gen_random_uuid() || '@people.example', '{}', now(), now() from generate_series(1, $3) returning id),
     counted as (
       insert into counters (environment_id, name, account_id, value) values ($2, 'identities', $1, $3)
       on conflict (environment_id, name) do update set value = counters.value + excluded.value)
     insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
     select gen_random_uuid(), $1, $2, id, true, now() - floor(random() * 1000) / 1000 * $4 * interval '1 second' from made`,
    [scope.accountId, scope.environmentId, count, within],
  );
}

/** Removes members from anywhere in the list. */
async function leave({ scope }: TestAccount, count: number, on: On = alone): Promise<void> {
  await on.query(
    `with gone as (
       delete from environment_memberships where id = any (array(
         select id from environment_memberships where environment_id = $2 order by random() limit $3)) returning id)
     update counters set value = value - (select count(*) from gone) where environment_id = $2 and account_id = $1 and name = 'identities'`,
    [scope.accountId, scope.environmentId, count],
  );
}

/** Sets every large Environment's waymarks, as housekeeping does. @returns how many were set */
async function keep(with_ = rules): Promise<number> {
  let all = 0;
  for (let after: string | null = null; ; ) {
    const { placed, next } = await renewWaymarks(api.database.db, after, with_);
    all += placed;
    if (next === null) return all;
    after = next;
  }
}

const placesOf = async ({ scope }: TestAccount): Promise<number> =>
  (await query('select from member_waymarks where environment_id = $1', [scope.environmentId])).length;

async function waymarked(members = 4_200): Promise<TestAccount> {
  const account = await newAccount(api);
  await join(account, members);
  await keep();
  expect(await placesOf(account)).toBe(Math.floor((members - 1) / rules.every));
  return account;
}

const everybody = async ({ scope }: TestAccount): Promise<string[]> =>
  (
    await query<{ id: string }>(
      'select identity_id as id from environment_memberships where environment_id = $1 order by created_at, identity_id',
      [scope.environmentId],
    )
  ).map(({ id }) => id);

/** Requests pages all over the list, in both orders, and compares them with the list itself. */
async function expectPages(account: TestAccount): Promise<void> {
  const headers = await account.apiKey();
  const oldestFirst = await everybody(account);
  const orders = { asc: oldestFirst, desc: [...oldestFirst].reverse() };
  const take = 90;
  const last = Math.ceil(oldestFirst.length / take);
  for (const [order, all] of Object.entries(orders)) {
    for (const page of [2, 12, 13, Math.floor(last / 2), Math.floor(last / 2) + 1, last - 13, last - 1, last]) {
      const url = `/api/v1/identities?take=${take}&page=${page}&order=${order}`;
      const answer = await send(api.app, 200, { url, headers });
      const { items, pagination } = answer.json();
      expect(items.map(({ id }: { id: string }) => id)).toEqual(all.slice((page - 1) * take, page * take));
      expect(pagination).toMatchObject({ item_count: all.length, has_next_page: page < last });
      expect(answer.headers.link === undefined).toBe(page === last);
    }
  }
}

/** Returns how many rows the middle page skips; null if it is not read from a waymark. */
async function skippedInTheMiddle({ scope }: TestAccount): Promise<number | null> {
  const ask: Ask = (text, values) => api.database.db.statementIn(scope, statementOf(text), values);
  const [row] = await query<{ total: string }>(
    `select sum(value) as total from counters where environment_id = $1 and name = 'identities'`,
    [scope.environmentId],
  );
  const itemCount = Number(row!.total);
  const page = { page: Math.floor(itemCount / 2 / 20), take: 20, order: 'desc', sortBy: 'created_at' } as const;
  const range = rangeOf(itemCount, page);
  const found = await fromWaymark(ask, [scope.accountId, scope.environmentId], range, { ...page, itemCount });
  return found.from ? found.at : null;
}

test('pages are exact whoever joins and leaves, now or with an earlier date, and however old the waymarks are', async () => {
  const account = await waymarked();
  expect(await skippedInTheMiddle(account)).toBeLessThan(rules.every);
  await expectPages(account);
  const random = createRandom(7);
  for (let round = 0; round < 4; round++) {
    for (let step = 0; step < 6; step++) {
      const steps = [
        () => leave(account, random.between(1, 30)),
        () => join(account, random.between(1, 30), 0),
        () => join(account, random.between(1, 15)),
      ];
      await random.of(steps)();
    }
    expect(await skippedInTheMiddle(account)).toBeLessThan(2 * rules.every + 100);
    await expectPages(account);
    if (round === 1) await keep({ ...rules, every: 20 });
  }
});

test('pages are exact after many more have joined at earlier places', async () => {
  const account = await waymarked();
  await join(account, 2 * rules.every, 20 * years);
  expect(await skippedInTheMiddle(account)).toBeGreaterThan(0);
  await expectPages(account);
});

test('people who join, leave or are erased are recorded', async () => {
  const account = await waymarked();
  const headers = await account.apiKey();
  const before = await everybody(account);
  for (const id of [before[0], before[1_900], before[2_400]])
    await send(api.app, 204, { method: 'DELETE', url: `/api/v1/identities/${id}`, headers });
  await query('delete from identities where id = any ($1)', [[before[700], before[701]]]);
  await query(`update counters set value = value - 2 where environment_id = $1 and name = 'identities'`, [
    account.scope.environmentId,
  ]);
  const payload = { email: 'newcomer@people.example' };
  await send(api.app, 201, { method: 'POST', url: '/api/v1/identities', headers, payload });
  expect(await skippedInTheMiddle(account)).not.toBeNull();
  await expectPages(account);
});

test('waymarks that are set while other transactions are open are right once those commit or roll back', async () => {
  const { db } = api.database;
  const account = await waymarked();
  await leave(account, rules.every);
  await db.transaction('system', async (tx) => {
    await leave(account, 150, tx);
    await join(account, 150, years, tx);
    expect(await keep()).toBeGreaterThan(0);
    await expectPages(account);
  });
  await expectPages(account);
  await leave(account, rules.every);
  await db
    .transaction('system', async (tx) => {
      await leave(account, 150, tx);
      expect(await keep()).toBeGreaterThan(0);
      throw new Error('taken back');
    })
    .catch((error: Error) => expect(error.message).toBe('taken back'));
  await expectPages(account);
});

test('two parallel runs write one set of waymarks', async () => {
  const account = await waymarked();
  const { environmentId } = account.scope;
  for (let round = 0; round < 5; round++) {
    await leave(account, rules.every);
    await Promise.all([keep(), keep(), keep()]);
    const ranks = await query(
      'select rank from member_waymarks where environment_id = $1 group by 1 having count(*) > 1',
      [environmentId],
    );
    expect(ranks).toEqual([]);
    await join(account, rules.every, 0);
  }
  await expectPages(account);
});

test('a large Environment is noted first and gets waymarks by a later run; a small one, or one that became small, has none', async () => {
  const large = await newAccount(api);
  await join(large, 3_100);
  const small = await newAccount(api);
  await join(small, 2_900);
  const later = { ...rules, settledMs: 60_000 };
  await keep(later);
  expect(await placesOf(large)).toBe(0);
  await expectPages(large);
  await query(`update waymarked_environments set marked_at = now() - interval '61 s' where environment_id = $1`, [
    large.scope.environmentId,
  ]);
  await keep(later);
  expect([await placesOf(large), await placesOf(small)]).toEqual([15, 0]);
  expect(await keep(later)).toBe(0);
  await leave(large, 250);
  await keep();
  expect(await placesOf(large)).toBe(0);
  expect(await skippedInTheMiddle(large)).toBeNull();
  await expectPages(large);
  await expectPages(small);
});

test('nobody who joined a moment ago has a waymark', async () => {
  const account = await newAccount(api);
  await join(account, 3_000);
  await join(account, 1_000, 0);
  const later = { ...rules, settledMs: 60_000 };
  await keep(later);
  await query(`update waymarked_environments set marked_at = now() - interval '61 s'`);
  await keep(later);
  expect(await placesOf(account)).toBe(14);
  await expectPages(account);
});

test('the service reads its own tenant’s waymarks, and writes none', async () => {
  const { scope } = await waymarked(3_000);
  const other = await newAccount(api);
  const tables = ['waymarked_environments', 'member_waymarks', 'member_shifts'];
  await query('delete from environment_memberships where environment_id = $1', [scope.environmentId]);
  await query(`update counters set value = 0 where environment_id = $1 and name = 'identities'`, [scope.environmentId]);
  for (const table of tables) {
    const seenBy = (tenant: TestAccount['scope']) =>
      api.database.db.transaction(tenant, (tx) =>
        tx.query(`select from ${table} where environment_id = $1 limit 1`, [scope.environmentId]),
      );
    expect(await seenBy(scope)).toHaveLength(1);
    expect(await seenBy(other.scope)).toHaveLength(0);
    const write = api.database.db.transaction('system', (tx) => tx.query(`delete from ${table}`));
    await expect(write).rejects.toThrow(/permission denied/);
  }
});

test('no waymark is left of an Environment that was removed', async () => {
  const account = await waymarked(3_000);
  const { accountId, environmentId } = account.scope;
  await leave(account, 5);
  const owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const path = account.portalPath('').slice(`/portal/v1/accounts/${account.accountSlug}`.length);
  expect((await owner('DELETE', `${path}?confirm=development`)).statusCode).toBe(204);
  await finishRemovals(api, accountId);
  for (const table of ['waymarked_environments', 'member_waymarks', 'member_shifts'])
    expect(await query(`select from ${table} where environment_id = $1`, [environmentId])).toEqual([]);
});
