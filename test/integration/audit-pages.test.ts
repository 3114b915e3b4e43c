import { jest } from '@jest/globals';
import pg from 'pg';
import { ScopedRunner } from '../../src/platform/database/scoped-runner.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { allEnded, settle, writeEvents } from '../support/audit-events.js';
import { nextOf, walk } from '../support/operations/walks.js';
import { rowsOf } from '../support/rows.js';

/** Four months of a tenant's rows among another's: every page is right, and only the needed partitions are read. */

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
/** All ids, newest first. */
let all: { id: string; severity: string }[];
const statements: { text: string; values: unknown[] }[] = [];
const months = ['2026_01', '2026_02', '2026_03', '2026_04'];

beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  const other = await newAccount(api);
  for (const [i, month] of months.entries()) {
    const [from, to] = [`2026-0${i + 1}-01Z`, `2026-0${i + 2}-01Z`];
    await rowsOf(
      api,
      `create table events_${month} (like events including constraints);
       alter table events attach partition events_${month} for values from ('${from}') to ('${to}')`,
    );
  }
  // Three days in four have rows, in uneven numbers, several with the same time.
  const createdAt = `'2026-01-01T00:00Z'::timestamptz + (i * 7919 % 120) * interval '1 day' + (i * 31 % 7) * interval '3 hours'`;
  const columns = {
    created_at: `${createdAt} - (case when i % 3 = 0 and i * 7919 % 120 > 0 then interval '1 day' else '0' end)`,
    severity: `case when i % 5 = 0 then 'warning' else 'info' end`,
  };
  await writeEvents(api, account, 5_000, columns);
  await writeEvents(api, other, 5_000, columns);
  await allEnded(api);
  await settle(api);
  await writeEvents(api, account, 500, columns);
  await rowsOf(api, 'analyze events');
  all = await rowsOf(
    api,
    `select id, severity from events where environment_id = $1 and action = 'node.updated' order by created_at desc, id desc`,
    [account.scope.environmentId],
  );
  const query = ScopedRunner.prototype.query;
  jest.spyOn(ScopedRunner.prototype, 'query').mockImplementation(function (this: ScopedRunner, text, values, ...rest) {
    statements.push({ text, values: (values as unknown[]) ?? [] });
    return query.call(this, text, values, ...rest);
  });
  const { db } = api.database;
  const { statementIn } = db;
  jest.spyOn(db, 'statementIn').mockImplementation((scope, statement, values) => {
    statements.push({ text: statement.text, values });
    return statementIn(scope, statement, values);
  });
});
afterAll(async () => {
  jest.restoreAllMocks();
  await api?.stop();
});

const ask = (query: Record<string, string>) =>
  api.app.inject({
    url: `/api/v1/audit-logs?${new URLSearchParams({ action: 'node.updated', ...query })}`,
    headers: key,
  });
const list = async (query: string) =>
  (await send(api.app, 200, { url: `/api/v1/audit-logs?action=node.updated&${query}`, headers: key })).json() as {
    items: { id: string }[];
    pagination: { item_count: number; page_count: number };
  };

test('every page is the right part of the whole, in either order, filtered or not', async () => {
  const info = all.filter(({ severity }) => severity === 'info');
  const asked: [string, { id: string }[]][] = [
    ['', all],
    ['order=asc&', all.toReversed()],
    ['severity=info&', info],
    ['severity=info&order=asc&', info.toReversed()],
  ];
  for (const [filter, whole] of asked) {
    const pages = Math.ceil(whole.length / 37);
    for (const page of [1, 2, 3, Math.floor(pages / 3), Math.floor(pages / 2), pages - 1, pages, pages + 1]) {
      const { items, pagination } = await list(`${filter}take=37&page=${page}`);
      const ids = whole.slice((page - 1) * 37, page * 37).map(({ id }) => id);
      expect([filter, page, items.map(({ id }) => id)]).toEqual([filter, page, ids]);
      expect(pagination).toMatchObject({ item_count: whole.length, page_count: pages });
    }
    const met = await walk(ask, Object.fromEntries(new URLSearchParams(`${filter}take=100`)));
    expect([filter, met.length]).toEqual([filter, whole.length]);
    expect(met.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
  }
});

/** Returns the tables that the statement reads when run as in the service: with a generic plan. */
async function tablesRead({ text, values }: (typeof statements)[number]): Promise<string[]> {
  const { accountId, environmentId } = account.scope;
  const literal = (value: unknown) => pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value));
  const [plan] = await api.database.db.transaction({ accountId, environmentId }, async (tx) => {
    await tx.query('set local plan_cache_mode = force_generic_plan');
    await tx.query(`prepare explained as ${text}`);
    const executed = `execute explained (${values.map(literal).join()})`;
    const plans = await tx.query(`explain (analyze, costs off, timing off, summary off, format json) ${executed}`);
    await tx.query('deallocate explained');
    return plans;
  });
  const tables = new Set<string>();
  const walk = (node: Record<string, unknown>) => {
    if (node['Relation Name'] && Number(node['Actual Loops']) > 0) tables.add(node['Relation Name'] as string);
    for (const child of (node.Plans as Record<string, unknown>[]) ?? []) walk(child);
  };
  walk(plan['QUERY PLAN'][0].Plan);
  return [...tables].filter((name) => name.startsWith('events')).sort();
}

test('a page reads only its months, and a total only what is not settled', async () => {
  const pages = Math.ceil(all.length / 20);
  const read: string[][] = [];
  for (const page of [Math.floor(pages / 2), pages]) {
    statements.length = 0;
    await list(`page=${page}`);
    const rows = statements.find(({ text }) => text.includes('order by created_at'));
    read.push(await tablesRead(rows!));
  }
  for (const order of ['asc', 'desc']) {
    const next = nextOf(await ask({ to: '2026-02-10T00:00:00Z', order, take: '20', page: '3' }))!;
    statements.length = 0;
    await ask({ order, take: '20', after: next.after! });
    read.push(await tablesRead(statements.find(({ text }) => text.includes('order by created_at'))!));
  }
  expect(read[2]).toEqual(['events_2026_01']);
  expect(read[3]).toEqual(['events_2026_02']);
  expect(read[0]).toHaveLength(1);
  expect(read[1]).toEqual(['events_2026_01']);

  await rowsOf(api, 'delete from event_marks');
  await settle(api); // from here on a mark says from when on events can be unsettled
  await allEnded(api);
  await settle(api);
  await allEnded(api);
  await settle(api);
  statements.length = 0;
  expect((await list('')).pagination.item_count).toBe(all.length);
  const totals = statements.find(({ text }) => text.includes('event_counts'));
  for (const table of await tablesRead(totals!)) expect(months.map((month) => `events_${month}`)).not.toContain(table);
});

test('a row is looked up in the month of its id', async () => {
  const [{ id } = { id: '' }] = (await list('')).items.slice(-1);
  statements.length = 0;
  await send(api.app, 404, { url: `/api/v1/audit-logs/${'019b76da-a800-7000-8000-000000000000'}`, headers: key });
  const rows = statements.find(({ text }) => text.includes('order by created_at'));
  // 2026-01-01, plus or minus a day: the month before has no partition.
  expect(await tablesRead(rows!)).toEqual(['events_2026_01', 'events_default']);
  expect(id).not.toBe('');
});
