import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { asOwner, rowsAsOwner } from '../support/database.js';
import { newToken } from '../support/scim.js';
import { until } from '../support/until.js';

let api: TestApi;
/** An api on the same database with a time limit of three seconds. */
let hasty: TestApi;
const lines: string[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
let account: TestAccount;
let headers: Record<string, string>;
let directory: Record<string, string>;
beforeAll(async () => {
  api = await startApi({}, log);
  hasty = await startApi({ REQUEST_TIMEOUT: '3s' }, log, api.database);
  account = await newAccount(api);
  headers = await account.apiKey();
  directory = { authorization: `Bearer ${(await newToken(api, account)).token}` };
  await Promise.all([api, hasty].map(({ app }) => app.listen({ host: '127.0.0.1', port: 0 })));
});
afterAll(async () => {
  await hasty?.stop();
  await api?.stop();
});

interface Asked {
  method?: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** Sends a request over a socket, as callers do: an injected request has no connection to close. */
function ask({ app }: TestApi, path: string, { method = 'GET', headers, body }: Asked) {
  const { port } = app.server.address() as AddressInfo;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = request({ host: '127.0.0.1', port, path, method, headers: { ...headers, ...type } });
  const answer = new Promise<{ status: number; retryAfter: string | undefined; body: string }>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', async (response) => {
      const body = Buffer.concat(await response.toArray()).toString();
      resolve({ status: response.statusCode as number, retryAfter: response.headers['retry-after'], body });
    });
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const leave = async () => {
    sent.destroy();
    await expect(answer).rejects.toThrow('socket hang up');
  };
  return { answer, leave };
}

/** Returns the first words of the statements that wait for a lock. */
const waiting = async () =>
  (
    await rowsAsOwner<{ query: string }>(
      api.database.ownerUrl,
      `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' order by query`,
    )
  ).map(({ query }) => query.trim().split(/\s/, 1)[0]?.toLowerCase());
const numberWaiting = (count: number) => async () => (await waiting()).length === count;

/** @returns the result of `work`, which runs while nothing else can read or write these tables */
const whileLocked = <T>(table: string, work: () => Promise<T>): Promise<T> =>
  asOwner(async (client) => {
    await client.query('begin');
    await client.query(`lock table ${table} in access exclusive mode`);
    try {
      return await work();
    } finally {
      await client.query('rollback');
    }
  }, api.database.ownerUrl);

const newIdentity = { email: 'ana@example.com', first_name: 'Ana', last_name: 'Brandt' };
const search = () => ask(api, '/api/v1/identities/with-roles?q=brandt', { headers });
const reads: Record<string, () => ReturnType<typeof ask>> = {
  'a search': search,
  'a list of one statement': () => ask(api, '/api/v1/roles', { headers }),
  "a directory's search": () =>
    ask(api, '/scim/v2/Users/.search', { method: 'POST', headers: directory, body: { filter: 'title eq "Engineer"' } }),
};

test.each(Object.entries(reads))(
  '%s whose caller has disconnected ends in PostgreSQL, and frees its turn',
  async (_, read) => {
    await whileLocked('identities, roles', async () => {
      const { leave } = read();
      await until('it waits for the lock', numberWaiting(1));
      expect(api.services.broadReads.load().running).toBe(1);
      await leave();
      await until('it has been stopped', numberWaiting(0));
      await until('its turn is over', () => api.services.broadReads.load().running === 0);
    });
    expect((await read().answer).status).toBe(200);
  },
);

test('a change whose caller has disconnected is made all the same', async () => {
  await whileLocked('identities', async () => {
    const found = search();
    const change = ask(api, '/api/v1/identities', { method: 'POST', headers, body: newIdentity });
    await until('both wait for the lock', numberWaiting(2));
    await Promise.all([found.leave(), change.leave()]);
    await until('the search has been stopped', numberWaiting(1));
  });
  const found = async () => (await ask(api, '/api/v1/identities?q=brandt', { headers }).answer).body;
  await until('it is made', async () => JSON.parse(await found()).pagination.item_count === 1);
});

test('a request whose caller has disconnected is logged and counted like all others', async () => {
  lines.length = 0;
  const left = { method: 'POST', route: '/api/v1/identities', status: 499 };
  const shows = [`_count{`, `route="${left.route}"`, `status="${left.status}"`];
  const count = async () =>
    (await api.registry.metrics()).split('\n').find((line) => shows.every((part) => line.includes(part))) ?? null;
  const before = await count();
  await whileLocked('identities', async () => {
    const body = { ...newIdentity, email: 'cora@example.com' };
    const change = ask(api, '/api/v1/identities', { method: 'POST', headers, body });
    await until('it waits for the lock', numberWaiting(1));
    await change.leave();
    await until('it is counted', async () => (await count()) !== before);
  });
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ ...left, msg: 'the caller was gone before the answer', ms: expect.any(Number) }),
  );
});

test('a request that has run out of time is told so, with a body or without: a search has ended, a change may still happen', async () => {
  const body = { ...newIdentity, email: 'ben@example.com' };
  const change = { method: 'POST', headers: { ...headers, 'idempotency-key': 'late' }, body };
  const answers = await whileLocked('identities', async () => {
    const asked = [
      ask(hasty, '/api/v1/identities/with-roles?q=brandt', { headers }),
      ask(hasty, '/scim/v2/Users?filter=title%20pr', { headers: directory }),
      ask(hasty, '/api/v1/identities', change),
    ];
    await until('they wait for the lock', numberWaiting(3));
    const answers = await Promise.all(asked.map(({ answer }) => answer));
    await until('the change waits alone', numberWaiting(1));
    return answers;
  });
  expect(answers.map(({ status, retryAfter }) => [status, retryAfter])).toEqual(answers.map(() => [503, '5']));
  // It is not known yet whether the change was made, so its key is not free.
  const again = await ask(api, '/api/v1/identities', change).answer;
  expect([again.status, JSON.parse(again.body).error.code]).toEqual([409, 'idempotency.in_progress']);
});

test('what a request that ran out of time asked is never logged, whatever its outcome', async () => {
  lines.length = 0;
  const path = `/sso/oidc/${randomUUID()}/callback?state=${'s'.repeat(43)}&code=`;
  const late = await whileLocked('sso_requests', () => ask(hasty, `${path}first`, { headers: {} }).answer);
  expect([late.status, late.retryAfter]).toEqual([503, '5']);
  // It runs to its end, which comes before the end of one that is requested now.
  expect((await ask(hasty, `${path}second`, { headers: {} }).answer).status).toBe(400);
  expect(lines.length).toBeGreaterThanOrEqual(2);
  expect(lines.filter((line) => /code=|already sent/.test(line))).toEqual([]);
});
