import { baseUrl, newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { asOwner } from '../support/database.js';
import { newToken, scimOf } from '../support/scim.js';
import { until } from '../support/until.js';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  // No test's event loop is that late; the callers of one connection may wait for the database.
  api = await startApi({ MAX_EVENT_LOOP_DELAY: '60s', DATABASE_POOL_SIZE: '1' });
  account = await newAccount(api);
});
afterAll(() => api.stop());

const list = (headers: Record<string, string>) => api.app.inject({ url: '/api/v1/identities', headers });
/** Retries, since after a test's load some requests are refused for a while longer. */
const untilServed = (headers: Record<string, string>) =>
  until('twenty at once are served', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => list(headers)));
    return answers.every(({ statusCode }) => statusCode === 200);
  });
const metric = async (reason: string) =>
  (await api.registry.getSingleMetric('gatehouse_requests_shed_total')?.get())?.values.find(
    ({ labels }) => labels.reason === reason,
  )?.value ?? 0;

test('while the maximum of broad searches runs, tokens and decisions are answered', async () => {
  const headers = await account.apiKey();
  const owner = await account.as('owner');
  const payload = { email: 'ana@example.com', first_name: 'Ana', last_name: 'Brandt' };
  const made = await api.app.inject({ method: 'POST', url: '/api/v1/identities', headers, payload });
  const check = { identity_id: made.json().data.id, permission: 'identities.view' };
  const decide = () =>
    api.app.inject({ method: 'POST', url: '/api/v1/authorization/evaluate', headers, payload: check });
  expect((await decide()).statusCode).toBe(200);
  const connections = api.database.db.pool.options.max as number;
  const answers = await asOwner(async (client) => {
    await client.query('begin');
    await client.query('lock table identities in access exclusive mode'); // searches for names take long
    const searches = Array.from({ length: 2 * connections }, () =>
      api.app.inject({ url: '/api/v1/identities/with-roles?q=brandt', headers }),
    );
    await until('one searches, and others wait', () => {
      const { running, waiting } = api.services.broadReads.load();
      return running === 1 && waiting > 0;
    });
    const [decided, shown] = await Promise.all([
      decide(),
      api.app.inject({ url: account.portalPath('/oauth-clients'), headers: owner }),
    ]);
    expect([decided.statusCode, shown.statusCode]).toEqual([200, 200]);
    await client.query('rollback');
    return Promise.all(searches);
  }, api.database.ownerUrl);
  // One Account's searches may fill half of the queue; the rest of them is refused.
  for (const { statusCode, headers } of answers.filter(({ statusCode }) => statusCode !== 200)) {
    expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
  }
  expect(answers.some(({ statusCode }) => statusCode === 200)).toBe(true);
});

test("a directory's searches, those of the audit log and counts of invites wait for their turn, and its look-ups do not", async () => {
  const { broadReads } = api.services;
  const owner = await account.as('owner');
  const call = scimOf(api, (await newToken(api, account)).token);
  const inPortal = (path: string) => api.app.inject({ url: path, headers: owner });
  const filtered = (path: string, filter: string) => call('GET', `${path}?filter=${encodeURIComponent(filter)}`);
  const ofAccount = `/portal/v1/accounts/${account.accountSlug}/audit-log`;
  const ofInvites = `/portal/v1/accounts/${account.accountSlug}/identity-invites/summary`;
  let isOver = false;
  const answers = await broadReads(async () => {
    const waiting = [
      filtered('/Users', 'userName co "bran"'),
      filtered('/Users', 'title eq "Engineer"'),
      filtered('/Users', 'userName eq "ana" or userName eq "ben"'),
      call('GET', '/Users?startIndex=101'),
      call('GET', '/Groups?sortBy=displayName'),
      call('POST', '/Users/.search', { sortBy: 'userName' }),
      ...[ofAccount, `${ofAccount}/identities?q=login`, account.portalPath('/audit-logs')].map(inPortal),
      ...[ofInvites, account.portalPath('/identity-invites/summary')].map(inPortal),
      ...[`${ofAccount}/export`, account.portalPath('/audit-logs/export?format=csv')].map(inPortal),
    ];
    void Promise.race(waiting).then(() => {
      isOver = true;
    });
    await until('they wait', () => broadReads.load().waiting === waiting.length);
    const keys = ['userName', 'externalId', 'emails.value', 'id'].map((key) => `${key} eq "ana@example.com"`);
    const soon = await Promise.all([
      ...keys.map((filter) => filtered('/Users', filter)),
      filtered('/Groups', 'displayName eq "People" and externalId pr'),
      ...['/Users', '/Groups', '/Users?count=0'].map((path) => call('GET', path)),
    ]);
    expect(soon.map(({ statusCode }) => statusCode)).toEqual(soon.map(() => 200));
    expect(isOver).toBe(false);

    const more = Array.from({ length: 50 }, () => filtered('/Users', 'userName co "bran"'));
    const { statusCode, headers, body } = await Promise.race(more);
    expect([statusCode, headers['retry-after'], headers['content-type']]).toEqual([
      503,
      '1',
      'application/scim+json; charset=utf-8',
    ]);
    expect(JSON.parse(body)).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: '503',
      detail: expect.any(String),
    });
    expect((await inPortal(ofAccount)).statusCode).toBe(503);
    expect((await inPortal(`${ofAccount}/export`)).json()).toMatchObject({ error: { code: 'service.unavailable' } });
    return [waiting, more] as const;
  }, 'somebody else');
  const [waiting, more] = await Promise.all(answers.map((each) => Promise.all(each)));
  // On a slow machine some have waited too long, though all were let in.
  for (const { statusCode } of [...(waiting ?? []), ...(more ?? [])]) expect([200, 503]).toContain(statusCode);
  expect(waiting?.some(({ statusCode }) => statusCode === 200)).toBe(true);
});

test('if too many requests wait for the database, some are refused with 503, but not health', async () => {
  const headers = await account.apiKey();
  await untilServed(headers);
  const { pool } = api.database.db;
  const held = await Promise.all(Array.from({ length: pool.options.max as number }, () => pool.connect()));
  const waiting = Array.from({ length: 100 }, () => pool.query('select 1'));
  try {
    // Requests accepted meanwhile wait for a connection, so nothing waits for their answers here.
    const refused = await until('somebody is refused', async () => {
      const answer = await Promise.race([list(headers), new Promise<null>((resolve) => setTimeout(resolve, 20, null))]);
      return answer?.statusCode === 503 ? answer : null;
    });
    expect(refused.json()).toMatchObject({ error: { statusCode: 503, code: 'service.unavailable' } });
    expect(refused.headers['retry-after']).toMatch(/^[1-9]$/);
    for (let i = 0; i < 50; i++) expect((await api.app.inject('/healthz')).statusCode).toBe(200);
    expect(await metric('load')).toBeGreaterThan(0);
  } finally {
    for (const client of held) client.release();
  }
  await Promise.all(waiting);
  await untilServed(headers);
});

test('a burst of sign-ins beyond the queue is refused, and requests without a password to hash overtake it', async () => {
  const headers = await account.apiKey();
  const payload = { email: 'nobody@example.com', password: 'not the right one' };
  let answered = 0;
  const burst = Array.from({ length: 300 }, () =>
    api.app.inject({ method: 'POST', url: '/v1/auth/login', payload }).finally(() => answered++),
  );
  await until('somebody is refused', () => answered > 0);
  // So many at once wait for the database as well, for a moment.
  await until('another is served', async () => (await list(headers)).statusCode === 200);
  expect(answered).toBeLessThan(300);
  const answers = await Promise.all(burst);
  const statuses = new Set(answers.map(({ statusCode }) => statusCode));
  expect([...statuses].sort()).toEqual([401, 503]);
  for (const answer of answers.filter(({ statusCode }) => statusCode === 503)) {
    expect(answer.headers['retry-after']).toMatch(/^[1-9]$/);
  }
  await until(
    'it is over',
    async () => (await api.app.inject({ method: 'POST', url: '/v1/auth/login', payload })).statusCode === 401,
  );
});

test('on the hosted page, too, a request that cannot be served is refused before anything is read', async () => {
  const payload = { email: 'nobody@example.com', password: 'not the right one' };
  let isOver = false;
  const burst = Promise.all(
    Array.from({ length: 300 }, () => api.app.inject({ method: 'POST', url: '/v1/auth/login', payload })),
  ).finally(() => {
    isOver = true;
  });
  const form = new URLSearchParams({ client_id: 'there-is-no-such-client', ...payload }).toString();
  const refused = await until('the form is refused', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: baseUrl };
    const answer = await api.app.inject({ method: 'POST', url: '/oauth/authorize', headers, payload: form });
    return answer.statusCode === 503 || isOver ? answer : null;
  });
  expect(refused.statusCode).toBe(503); // otherwise the answer would be 400, as there is no such client
  await burst;
});
