import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Changes } from '../../src/domain/changes/feed.js';
import { eventInsert, eventRow } from '../../src/domain/events/record.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { allEnded, writeEvents } from '../support/audit-events.js';
import { asOwner } from '../support/database.js';
import { untilWaiting } from '../support/lock-waits.js';
import { patience } from '../support/patience.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api.stop());

interface Item {
  cursor: string;
  type: string;
  resource_id: string;
}
const read = async (query: Record<string, string | number> = {}, headers = key, status = 200) => {
  if (!query.wait) await allEnded(api);
  const url = `/api/v1/changes?${new URLSearchParams(query as Record<string, string>)}`;
  return (await send(api.app, status, { url, headers })).json() as {
    items: Item[];
    next_cursor: string;
    has_more: boolean;
    error: { code: string; details: object[] };
  };
};
/** Returns the cursor after the newest change. */
const latest = async (headers = key) => {
  let { next_cursor: cursor, has_more: more } = await read({ limit: 1000 }, headers);
  while (more) ({ next_cursor: cursor, has_more: more } = await read({ limit: 1000, cursor }, headers));
  return cursor;
};
const newRole = (name: string) =>
  send(api.app, 201, { method: 'POST', url: '/api/v1/roles', headers: key, payload: { name, permission_keys: [] } });

test('changes come in order, each once, and the last cursor continues where they ended', async () => {
  const from = await latest();
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c']) ids.push((await newRole(`In order ${name}`)).json().data.id);
  const { items, has_more } = await read({ cursor: from, limit: 2 });
  expect(items).toEqual(
    ids.slice(0, 2).map((id) => ({
      cursor: expect.any(String),
      type: 'role.created',
      resource_type: 'role',
      resource_id: id,
      occurred_at: expect.stringMatching(/^\d{4}-.*Z$/),
      data: { permission_keys: [], is_active: true },
    })),
  );
  expect(has_more).toBe(true);
  const rest = await read({ cursor: items[0]!.cursor });
  expect(rest.items.map(({ resource_id: id }) => id)).toEqual(ids.slice(1));
  expect(rest.has_more).toBe(false);
  const after = await read({ cursor: rest.next_cursor });
  expect(after).toMatchObject({ items: [], has_more: false, next_cursor: expect.any(String) });
});

test('a reader who begins with the latest gets nothing from before, and misses nothing that was under way', async () => {
  await newRole('Before the latest');
  expect(await read({ cursor: 'latest' })).toMatchObject({ items: [], has_more: false });
  await asOwner(async (client) => {
    await client.query('begin');
    const row = eventRow('role.updated', { ...account.scope, resourceId: randomUUID(), resourceLabel: 'under way' });
    await client.query(eventInsert('$1'), [row]);
    const url = '/api/v1/changes?cursor=latest&limit=1000';
    const { items, next_cursor: cursor } = (await send(api.app, 200, { url, headers: key })).json();
    await newRole('After the latest');
    await client.query('commit');
    const seen = [...items, ...(await read({ cursor, limit: 1000 })).items];
    expect(seen.map(({ type }: Item) => type).sort()).toEqual(['role.created', 'role.updated']);
  }, api.database.ownerUrl);
  const waiting = api.services.changeFeed.read(account.scope, {
    cursor: 'latest',
    limit: 10,
    types: null,
    waitMs: 10 * patience,
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await newRole('Awaited');
  expect((await waiting).items.map(({ type }) => type)).toEqual(['role.created']);
});

test('after a wait that failed before anything was announced, the next one has changes announced', async () => {
  const other = await newAccount(api);
  const headers = await other.apiKey();
  const cursor = await latest(headers);
  const { ownerUrl } = api.database;
  const readers = () => rowsOf(api, 'select from feed_readers where environment_id = $1', [other.scope.environmentId]);
  await asOwner(async (client) => {
    await client.query('begin; lock table feed_readers in exclusive mode');
    const failing = read({ cursor, wait: 1 }, headers, 503);
    await untilWaiting(ownerUrl, 1, '%feed_readers%');
    const waiting = `wait_event_type = 'Lock' and datname = current_database() and query ilike '%feed_readers%'`;
    await client.query(`select pg_cancel_backend(pid) from pg_stat_activity where ${waiting}`);
    await failing;
    await client.query('rollback');
  }, ownerUrl);
  expect(await readers()).toHaveLength(0);
  expect((await read({ cursor, wait: 1 }, headers)).items).toEqual([]);
  expect(await readers()).toHaveLength(1);
});

test('the feed has nothing that is for the audit log alone, or from elsewhere', async () => {
  const from = await latest();
  const stranger = await newAccount(api);
  await writeEvents(api, stranger, 1);
  await writeEvents(api, account, 1, { is_domain_event: 'false' });
  await writeEvents(api, account, 1, { environment_id: `'${account.productionScope.environmentId}'` });
  expect((await read({ cursor: from })).items).toEqual([]);
  expect((await read({ cursor: from }, await stranger.apiKey(), 400)).error.code).toBe('changes.cursor_invalid');
});

test('types filter the feed; unknown ones, and those of the audit log alone, are 400', async () => {
  const from = await latest();
  await newRole('Narrow');
  await writeEvents(api, account, 1, { action: `'node.moved'` });
  expect((await read({ cursor: from, types: 'node.moved,node.deleted' })).items.map(({ type }) => type)).toEqual([
    'node.moved',
  ]);
  for (const [types, unknown] of [
    ['node.flown', 'node.flown'],
    ['node.moved,', ''],
    ['*', '*'],
    ['auth.access_denied', 'auth.access_denied'],
    ['toString', 'toString'],
  ] as const) {
    expect((await read({ types }, key, 400)).error).toMatchObject({
      code: 'validation.failed',
      details: [{ field: 'query.types', message: `"${unknown}" is not an event type of this feed` }],
    });
  }
  for (const query of [{ limit: 0 }, { limit: 1001 }, { wait: 31 }, { since: 'x' }]) {
    expect((await read(query as never, key, 400)).error.code).toBe('validation.failed');
  }
});

test('a search for rare types continues where it stopped, and skips nothing', async () => {
  const other = await newAccount(api);
  const headers = await other.apiKey();
  const from = await latest(headers);
  await writeEvents(api, other, 1, { action: `'node.moved'` });
  await writeEvents(api, other, 21_000);
  await writeEvents(api, other, 1, { action: `'node.deleted'` });
  const seen: string[] = [];
  let answers = 0;
  let page = { next_cursor: from, has_more: true, items: [] as Item[] };
  while (page.has_more) {
    page = await read({ cursor: page.next_cursor, types: 'node.moved,node.deleted' }, headers);
    seen.push(...page.items.map(({ type }) => type));
    answers += 1;
  }
  expect(seen).toEqual(['node.moved', 'node.deleted']);
  expect(answers).toBe(3);
});

test('callers without the permission are refused; an invalid, foreign or altered cursor is 400', async () => {
  await read({}, {}, 401);
  expect((await read({}, await account.apiKey(['audit.view']), 403)).error.code).toBe('api_key.scope_required');
  expect((await read({}, await account.apiKey(['changes.read']))).items.length).toBeGreaterThan(0);
  const cursor = await latest();
  for (const wrong of ['x', `${cursor}A`, cursor.slice(0, -1), cursor.replace(/^../, 'BB'), 'A'.repeat(44), '']) {
    expect((await read({ cursor: wrong }, key, 400)).error.code).toBe('changes.cursor_invalid');
  }
  const url = account.portalPath('/changes?limit=1');
  expect((await send(api.app, 200, { url, headers: await account.as('viewer') })).json().items).toHaveLength(1);
});

test('a cursor older than what is kept is 410; current readers are not affected, and a new one begins with the oldest', async () => {
  const other = await newAccount(api);
  const headers = await other.apiKey();
  const { items } = await read({ limit: 1 }, headers);
  const current = await latest(headers);
  const [before] = await rowsOf<{ value: string }>(api, 'select dropped_through::text as value from event_state');
  await rowsOf(api, 'update event_state set dropped_through = pg_current_xact_id()::text::bigint - 1');
  try {
    expect((await read({ cursor: items[0]!.cursor }, headers, 410)).error.code).toBe('changes.cursor_expired');
    await read({ limit: 1 }, headers);
    const idle = await latest(headers);
    expect((await read({ cursor: idle }, headers)).items).toEqual([]);
    expect(current).not.toBe(idle);
  } finally {
    await rowsOf(api, 'update event_state set dropped_through = $1', [before?.value]);
  }
});

describe('a waiting request', () => {
  test('ends as soon as something happens, and at its time otherwise', async () => {
    const other = await newAccount(api);
    const headers = await other.apiKey();
    const from = await latest(headers);
    const began = performance.now();
    expect((await read({ cursor: from, wait: 1 }, headers)).items).toEqual([]);
    expect(performance.now() - began).toBeGreaterThan(950);
    // Longer than HTTP allows: only a change can end the wait.
    const ask = { cursor: from, limit: 10, types: null, waitMs: 10 * patience };
    const waiting = api.services.changeFeed.read(other.scope, ask);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const payload = { name: 'Rings', permission_keys: [] };
    await send(api.app, 201, { method: 'POST', url: '/api/v1/roles', headers, payload });
    expect((await waiting).items.map(({ type }) => type)).toEqual(['role.created']);
  });

  test('gets a change that an older transaction holds back as soon as that transaction ends', async () => {
    const from = await latest();
    await asOwner(async (client) => {
      await client.query('begin; select pg_current_xact_id()');
      const ask = { cursor: from, limit: 10, types: null, waitMs: 10 * patience };
      const waiting = api.services.changeFeed.read(account.scope, ask);
      await newRole('Held back');
      await new Promise((resolve) => setTimeout(resolve, 200));
      const now = { url: `/api/v1/changes?cursor=${from}`, headers: key };
      expect((await send(api.app, 200, now)).json().items).toEqual([]);
      await client.query('commit');
      expect((await waiting).items.map(({ type }) => type)).toEqual(['role.created']);
    }, api.database.ownerUrl);
  });

  test('ends when the process does', async () => {
    const ending = await startApi();
    const there = await newAccount(ending);
    const headers = await there.apiKey();
    const first = (await send(ending.app, 200, { url: '/api/v1/changes?limit=1000', headers })).json();
    const url = `/api/v1/changes?wait=30&cursor=${first.next_cursor}`;
    const waiting = ending.app.inject({ url, headers });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const began = performance.now();
    await ending.stop();
    expect((await waiting).statusCode).toBe(200);
    expect(performance.now() - began).toBeLessThan(25_000);
  });
});

describe('a change that waited for others', () => {
  const call = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload: object = {}, version?: number) => {
    const headers = version === undefined ? key : { ...key, 'if-match': String(version) };
    return api.app.inject({ method, url: `/api/v1${url}`, headers, ...(method !== 'DELETE' && { payload }) });
  };
  const made = async (url: string, payload: object) => (await call('POST', url, payload)).json().data;

  test('comes after them, though it began before: a removed subtree and the changes in it', async () => {
    const parent = await made('/nodes', { name: 'Parent', node_type: 'unit' });
    const child = await made('/nodes', { name: 'Child', node_type: 'unit', parent_node_id: parent.id });
    const role = await made('/roles', { name: 'Reader of the subtree', permission_keys: [] });
    const { id: person } = await made('/identities', { email: `${randomUUID()}@example.com` });
    const from = await latest();
    await asOwner(async (client) => {
      await client.query('begin');
      await client.query('select from nodes where id = $1 for no key update', [parent.id]);
      const removal = call('DELETE', `/nodes/${parent.id}?cascade=true`, {}, parent.version);
      await untilWaiting(api.database.ownerUrl, 1, '%nodes%');
      const renamed = await call('PATCH', `/nodes/${child.id}`, { name: 'Renamed' }, child.version);
      const assigned = await call('POST', `/identities/${person}/role-assignments`, {
        role_id: role.id,
        node_id: child.id,
      });
      expect([renamed.statusCode, assigned.statusCode]).toEqual([200, 201]);
      await client.query('commit');
      expect((await removal).statusCode).toBe(204);
    }, api.database.ownerUrl);
    const { items } = await read({ cursor: from, limit: 100 });
    const types = items.map(({ type }) => type);
    expect(types.slice(0, 2).sort()).toEqual(['node.updated', 'role_assignment.created']);
    expect(types.slice(2).sort()).toEqual(['node.deleted', 'node.deleted', 'role_assignment.deleted']);
    expect(await reread(from, items)).toEqual(items);
  });

  test.each([
    ['that began later', false],
    ['that began later, when a third that began last has already ended', true],
  ])('comes after one %s, where waiting, change and event are one statement', async (_when, isAnotherOver) => {
    const role = await made('/roles', { name: `Held ${isAnotherOver}`, permission_keys: [] });
    const from = await latest();
    const { scope } = account;
    const writing = (name: string) => {
      const row = eventRow('role.updated', { ...scope, resourceId: role.id, resourceLabel: name });
      const text = `with held as (update roles set description = $2 where id = $3 returning id) ${eventInsert('$1', { from: ', held' })}`;
      return { text, values: [row, name, role.id] };
    };
    const [first, second] = [new pg.Client(api.database.ownerUrl), new pg.Client(api.database.ownerUrl)];
    await Promise.all([first.connect(), second.connect()]);
    try {
      for (const each of [first, second]) {
        await each.query('begin');
        await each.query('select pg_current_xact_id()');
      }
      if (isAnotherOver) await rowsOf(api, 'select pg_current_xact_id()');
      await second.query(writing('by the second'));
      const { text, values } = writing('by the first');
      const waiting = first.query(text, values);
      await untilWaiting(api.database.ownerUrl, 1, '%roles%');
      await second.query('commit');
      await waiting;
      await first.query('commit');
    } finally {
      await Promise.all([first.end(), second.end()]);
    }
    const { items } = await read({ cursor: from, limit: 100 });
    const labels = await rowsOf<{ id: string; label: string }>(
      api,
      `select id, resource_label as label from events where resource_id = '${role.id}' and action = 'role.updated'`,
    );
    const idOf = ({ cursor }: Item) => Buffer.from(cursor, 'base64url').subarray(9, 25).toString('hex');
    const told = items.map((item) => labels.find(({ id }) => id.replaceAll('-', '') === idOf(item))?.label);
    expect(told).toEqual(['by the second', 'by the first']);
    expect(await reread(from, items)).toEqual(items);
  });

  /** Reads one change at a time: each cursor is followed by the changes behind it. */
  async function reread(from: string, items: readonly Item[]): Promise<Item[]> {
    const again: Item[] = [];
    for (const { cursor } of [{ cursor: from }, ...items.slice(0, -1)]) {
      again.push(...(await read({ cursor, limit: 1 })).items);
    }
    return again;
  }
});

test('eight writers and a reader: nothing is missed, repeated or moved, of more than 20 000 events', async () => {
  const other = await newAccount(api);
  const headers = await other.apiKey();
  const { scope } = other;
  const from = await latest(headers);
  const rounds = 56;
  const perRound = 50;
  let writing = 8;

  async function write(): Promise<void> {
    const client = new pg.Client({ connectionString: api.database.ownerUrl });
    await client.connect();
    for (let round = 0; round < rounds; round++) {
      await client.query('begin');
      for (const half of [perRound / 2, perRound / 2]) {
        await client.query(
          `insert into events (id, transaction_id, account_id, application_id, environment_id, actor_type, action, resource_type, resource_id, metadata,
             outcome, category, severity, correlation_id, is_domain_event, customer_visible, identity_visible, created_at)
           select uuidv7(), pg_current_xact_id()::text::bigint, $1, $2, $3, 'system', 'node.updated', 'node', gen_random_uuid()::text, '{}', 'success',
             'structure', 'info', gen_random_uuid(), true, true, false, clock_timestamp() from generate_series(1, $4)`,
          [scope.accountId, scope.applicationId, scope.environmentId, half],
        );
        // Some transactions are slow, so that later ones commit before them.
        if (round % 5 === 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
      }
      await client.query(round % 13 === 0 ? 'rollback' : 'commit');
    }
    await client.end();
  }
  async function writeByApi(): Promise<void> {
    for (let i = 0; writing > 1 && i < 500; i++) {
      await send(api.app, 201, {
        method: 'POST',
        url: '/api/v1/roles',
        headers,
        payload: { name: randomUUID(), permission_keys: [] },
      });
    }
  }
  const writers = [...Array.from({ length: 8 }, write), writeByApi()].map((one) => one.finally(() => writing--));
  writing = writers.length;

  const seen: { id: string }[] = [];
  const feed = api.services.changeFeed;
  let page: Changes = { items: [], nextCursor: from, hasMore: true };
  async function readOn(waitMs: number): Promise<void> {
    page = await feed.read(scope, { cursor: page.nextCursor, limit: 1000, types: null, waitMs });
    for (const item of page.items) {
      const bytes = Buffer.from(item.cursor, 'base64url');
      seen.push({ id: bytes.subarray(9, 25).toString('hex') });
    }
  }
  while (writing > 0) await readOn(20);
  await Promise.all(writers);
  // In the feed's order: by time in a transaction, and by id for equal times.
  const written = await rowsOf<{ id: string }>(
    api,
    `select replace(id::text, '-', '') as id from events where environment_id = $1 and action in ('node.updated', 'role.created')
     order by transaction_id, created_at, id`,
    [scope.environmentId],
  );
  const count = written.length;
  // A transaction of another test on this server holds the feed back until it ends: only then the rest appears.
  const over = performance.now() + patience;
  while (seen.length < count && performance.now() < over) await readOn(250);
  await readOn(0);
  expect(count).toBeGreaterThan(20_000);
  expect(seen.length).toBe(count);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(count);
  const isInItsPlace = ({ id }: { id: string }, i: number) => id === written[i]?.id;
  expect(seen.findIndex((one, i) => !isInItsPlace(one, i))).toBe(-1);
});
