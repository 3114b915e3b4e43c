import { maintainEvents } from '../../src/domain/housekeeping/events.js';
import { createHousekeeping, type SweepPlace } from '../../src/domain/housekeeping/housekeeping.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { allEnded, settle, writeEvents } from '../support/audit-events.js';
import { asOwner } from '../support/database.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
});
afterAll(() => api.stop());

/** Runs a statement as the service's role in system scope. */
const asService = (text: string) => api.database.db.transaction('system', (tx) => tx.query(text));
const partitions = () =>
  rowsOf<{ name: string }>(
    api,
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass order by 1`,
  ).then((rows) => rows.map(({ name }) => name));
const monthName = (ahead: number) => {
  const now = new Date();
  return `events_${new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1)).toISOString().slice(0, 7).replace('-', '_')}`;
};

test('the service cannot change the log, its months or its counts in any way', async () => {
  await writeEvents(api, account, 3);
  await settle(api);
  const month = monthName(0);
  for (const text of [
    'update events set action = action',
    'delete from events',
    'truncate events',
    ...['select', 'update', 'delete'].map(
      (verb) =>
        ({
          select: `select from ${month}`,
          update: `update ${month} set action = action`,
          delete: `delete from ${month}`,
        })[verb]!,
    ),
    `insert into ${month} select * from events`,
    `truncate ${month}`,
    `alter table events detach partition ${month}`,
    `drop table ${month}`,
    'alter table events disable row level security',
    'update event_counts set value = 0',
    'delete from event_counts',
    'update event_state set dropped_through = 0',
    'delete from event_marks',
    'delete from event_partitions',
  ]) {
    await expect(
      [
        text,
        asService(text).then(
          () => 'done',
          (error: Error) => error.message,
        ),
      ].reduce(async (a, b) => `${await a}: ${await b}`),
    ).resolves.toMatch(/permission denied|must be owner/);
  }
  await expect(asService('select gatehouse_drop_events(89)')).rejects.toThrow(/90 days at least/);
  await expect(asService('select gatehouse_drop_events(null)')).rejects.toThrow(/90 days at least/);
  for (const days of ['89', 'null'])
    await expect(asService(`select gatehouse_drop_events_of_no_month(${days})`)).rejects.toThrow(/90 days at least/);
});

test('there is a partition for this month and the three to come, created again as time passes', async () => {
  expect(await partitions()).toEqual(expect.arrayContaining([0, 1, 2, 3].map(monthName)));
  const last = monthName(3);
  await rowsOf(
    api,
    `alter table events detach partition ${last}; drop table ${last}; delete from event_partitions where name = '${last}'`,
  );
  // Events that were written before the partition of their month existed.
  const late = await writeEvents(api, account, 2, {
    created_at: `date_trunc('month', now(), 'UTC') + interval '3 months 1 hour'`,
  });
  expect((await rowsOf(api, 'select id from events_default')).length).toBe(2);
  expect(await maintainEvents(api.database.db, 365)).toBe(0);
  expect((await rowsOf<{ id: string }>(api, `select id from ${last} order by id`)).map(({ id }) => id)).toEqual(
    late.sort(),
  );
  expect(await rowsOf(api, 'select id from events_default')).toEqual([]);
  expect(await rowsOf(api, `select relrowsecurity from pg_class where relname = '${last}'`)).toEqual([
    { relrowsecurity: true },
  ]);
});

test('months are deleted when all of their events are old enough, with their counts, and older cursors are recognized', async () => {
  await rowsOf(
    api,
    `
    create table events_older (like events including constraints);
    create table events_old (like events including constraints); create table events_kept (like events including constraints);
    alter table events attach partition events_older for values from ('2019-12-01Z') to ('2020-01-01Z');
    alter table events attach partition events_old for values from ('2020-01-01Z') to ('2020-02-01Z');
    alter table events attach partition events_kept for values from ('2020-02-01Z') to ('2020-03-01Z');
    insert into event_partitions values ('events_older', '2019-12-01Z', '2020-01-01Z'), ('events_old', '2020-01-01Z', '2020-02-01Z'), ('events_kept', '2020-02-01Z', '2020-03-01Z')`,
  );
  await writeEvents(api, account, 3, { created_at: `'2019-12-10Z'` });
  // As if a transaction had begun in one month and continued in the next.
  const early = await writeEvents(api, account, 2, { created_at: `'2020-02-10Z'` });
  await writeEvents(api, account, 4, { created_at: `'2020-01-10Z'` });
  const kept = [...early, ...(await writeEvents(api, account, 2, { created_at: `'2020-02-10Z'` }))];
  const [old] = await rowsOf<{ latest: string }>(api, 'select max(transaction_id)::text as latest from events_old');
  await allEnded(api);
  const days = Math.ceil((Date.now() - Date.UTC(2020, 1, 2)) / 86_400_000);
  // One after the other: the log is locked only while a partition is detached.
  const { sweep } = createHousekeeping({ db: api.database.db, now: () => new Date(), auditRetentionDays: days });
  const place = { rule: 'events', after: null, looked: 0 };
  expect(await sweep(place, 1000)).toEqual({ table: 'months of events', deleted: 1, next: place });
  expect(await partitions()).not.toContain('events_older');
  expect(await partitions()).toContain('events_old');
  expect(await sweep(place, 1000)).toMatchObject({ deleted: 1, next: place });
  const last = await sweep(place, 1000);
  expect(last).toMatchObject({ deleted: 0 });
  expect(last.next).not.toEqual(place);
  expect(
    (await rowsOf<{ id: string }>(api, `select id from events where created_at < '2021-01-01Z'`))
      .map(({ id }) => id)
      .sort(),
  ).toEqual(kept.sort());
  expect(await rowsOf(api, `select day::text, value from event_counts where day < '2021-01-01'`)).toEqual([
    { day: '2020-02-10', value: '4' },
  ]);
  expect(await rowsOf(api, 'select dropped_through::text as latest from event_state')).toEqual([old]);
  // A new reader begins where it can continue.
  const wanted = { limit: 1, types: null, waitMs: 0 };
  const first = await api.services.changeFeed.read(account.scope, { ...wanted, cursor: null });
  expect(first).toMatchObject({ items: [expect.anything()], hasMore: true });
  const next = await api.services.changeFeed.read(account.scope, { ...wanted, cursor: first.nextCursor });
  expect(next.items).toHaveLength(1);
});

test('events of months without a partition are deleted, too, and nothing waits for that', async () => {
  const { sweep } = createHousekeeping({ db: api.database.db, now: () => new Date(), auditRetentionDays: 365 });
  const place = { rule: 'events', after: null, looked: 0 };
  const sweepAll = async () => {
    let times = 0;
    for (let next: SweepPlace | null = place; next?.rule === 'events'; next = (await sweep(next, 1000)).next) times++;
    return times;
  };
  await sweepAll(); // whole months that earlier tests left
  const gone = await writeEvents(api, account, 3, { created_at: `'2018-05-10Z'` });
  const kept = await writeEvents(api, account, 2, { created_at: `now() - interval '70 days'` });
  await allEnded(api);
  const days = () => rowsOf(api, `select value from event_counts where day = '2018-05-10'`);
  await settle(api);
  expect(await days()).toEqual([{ value: '3' }]);
  await asOwner(async (client) => {
    await client.query('begin');
    await client.query('select from events limit 1'); // no table lock is in the way
    expect(await sweepAll()).toBe(2); // for the three rows, and no more
    await client.query('rollback');
  }, api.database.ownerUrl);
  expect(await days()).toEqual([]);
  const ids = await rowsOf<{ id: string }>(api, 'select id from events where id = any($1)', [[...gone, ...kept]]);
  expect(ids.map(({ id }) => id).sort()).toEqual([...kept].sort());
});

test('a transaction that locks the table is not waited for, and the next run does the work', async () => {
  await asOwner(async (client) => {
    const last = monthName(3);
    await rowsOf(
      api,
      `alter table events detach partition ${last}; drop table ${last}; delete from event_partitions where name = '${last}'`,
    );
    await client.query('begin');
    await client.query('select from events limit 1');
    expect(await maintainEvents(api.database.db, 365)).toBe(0);
    await client.query('rollback');
    await maintainEvents(api.database.db, 365);
    expect(await partitions()).toContain(last);
  }, api.database.ownerUrl);
});
