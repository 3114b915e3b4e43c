import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OAuthClient } from '../../../entities/oauth-client.js';
import { type ThrottledRoute, throttles } from '../../../src/http/oauth/throttles.js';
import { newAccount, startApi, type TestApi } from '../../support/api.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { newPublicClient } from '../../support/public-client.js';

/** The part of the specification's table of limits that concerns `/oauth`. */
const specified: Partial<Record<ThrottledRoute, [points: number, seconds: number]>> = {
  'POST /oauth/login/email-otp/start': [5, 900],
  'POST /oauth/login/email-otp/verify': [10, 600],
  'POST /oauth/register': [10, 900],
  'POST /oauth/mfa-challenge': [10, 60],
  'POST /oauth/mfa/email-otp/send': [3, 60],
  'POST /oauth/mfa/email-otp/verify': [10, 60],
  'POST /oauth/mfa/webauthn/options': [10, 60],
  'POST /oauth/mfa/webauthn/verify': [10, 60],
  'POST /oauth/mfa/webauthn/enroll/options': [5, 60],
  'POST /oauth/mfa/webauthn/enroll/verify': [10, 60],
};
const routes = Object.keys(throttles) as ThrottledRoute[];

const first = await newProvider({ rateLimits: true });
const processes = [first, await newProvider({ rateLimits: true, beside: first })] as const;
const environment = await first.newEnvironment({ emailOtpLoginEnabled: true, allowSelfSignup: true });
const url = new URL(authorizeUrl(await environment.newClient()), first.baseUrl);
const parameters = Object.fromEntries(url.searchParams);
afterAll(async () => {
  await processes[1].close();
  await processes[0].close();
});

let addresses = 0;
/** Returns an address of a new subscriber each: they choose the last 64 bits themselves. */
const newAddress = () => `2001:db8:0:${(++addresses).toString(16)}::1`;

function send(route: ThrottledRoute, remoteAddress: string, { process = 0, headers = {} as object, fields = {} } = {}) {
  const [method, url] = route.split(' ') as ['POST', string];
  const payload = { ...parameters, ...fields };
  return processes[process === 0 ? 0 : 1].app.inject({
    method,
    url,
    remoteAddress,
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(payload).toString(),
  });
}

test('the table has every limit of the specification', () => {
  expect(throttles).toMatchObject(
    Object.fromEntries(
      Object.entries(specified).map(([route, [points, windowSeconds]]) => [route, { points, windowSeconds }]),
    ),
  );
  const names = Object.values(throttles).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length); // otherwise two would share a counter
});

describe.each(routes)('%s', (route) => {
  const { name, points, windowSeconds } = throttles[route];

  test('refuses one more than its limit, whichever process is asked, and says when to come back', async () => {
    const from = newAddress();
    const requests = Array.from({ length: points + 2 }, (_, i) => send(route, from, { process: i % 2 }));
    const answers = await Promise.all(requests);
    const refused = answers.filter(({ statusCode }) => statusCode === 429);
    expect(refused).toHaveLength(2);
    for (const { statusCode, headers } of answers) {
      expect(statusCode).not.toBe(404);
      expect(statusCode).toBeLessThan(500);
      expect(headers['ratelimit-policy']).toBe(`"${name}";q=${points};w=${windowSeconds}`);
    }
    for (const { headers } of refused) {
      const wait = Number(headers['retry-after']);
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(windowSeconds);
      expect(headers.ratelimit).toBe(`"${name}";r=0;t=${wait}`);
      expect(headers['set-cookie']).toBeUndefined();
    }
    expect((await send(route, newAddress())).statusCode).not.toBe(429);
  });

  test('refuses a script in JSON', async () => {
    const from = newAddress();
    await Promise.all(Array.from({ length: points }, () => send(route, from)));
    const refused = await send(route, from, { process: 1, headers: { accept: 'application/json' } });
    expect(refused.statusCode).toBe(429);
    expect(refused.json()).toMatchObject({ error: 'rate_limit.exceeded' });
    expect(refused.headers['cache-control']).toBe('no-store');
  });
});

test('a browser is refused with a page in the requested language', async () => {
  const from = newAddress();
  const route = 'POST /oauth/login/email-otp/start';
  await Promise.all(Array.from({ length: throttles[route].points }, () => send(route, from)));
  const page = await send(route, from, { fields: { ui_locales: 'de' } });
  expect(page.statusCode).toBe(429);
  expect(page.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'content-language': 'de' });
  expect(page.body).toContain('Zu viele Versuche');
  expect(page.body).toMatch(/in \d+ Minuten/);
});

test('the refusal page leads back to the form’s sign-in, in another way if preferred', async () => {
  const from = newAddress();
  const route = 'POST /oauth/login/email-otp/start';
  await Promise.all(Array.from({ length: throttles[route].points }, () => send(route, from)));
  const { body } = await send(route, from, { fields: { email: 'ana@example.com', method: 'code', state: 'a"b' } });
  const href = /<a [^>]*href="(\/oauth\/authorize\?[^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const asked = Object.fromEntries(new URL(href, processes[0].baseUrl).searchParams);
  expect(asked).toEqual({ ...parameters, state: 'a"b' });
  expect((await processes[0].app.inject({ url: href, headers: { accept: 'text/html' } })).statusCode).toBe(200);
  // A request without a client leads nowhere.
  const lost = await send(route, from, { fields: { client_id: '' } });
  expect(lost.statusCode).toBe(429);
  expect(lost.body).not.toContain('/oauth/authorize');
});

test('the general limit of a process refuses pages alike, and names itself', async () => {
  const api = await startApi({ RATE_LIMITS: 'on', REQUESTS_PER_MINUTE_ADDRESS: '3' });
  const get = (headers: Record<string, string>) => api.app.inject({ url: '/oauth/authorize?ui_locales=de', headers });
  for (let i = 0; i < 3; i++) expect((await get({ accept: 'text/html' })).statusCode).toBe(400);
  const page = await get({ accept: 'text/html' });
  expect(page.statusCode).toBe(429);
  expect(page.headers).toMatchObject({ 'content-language': 'de', 'ratelimit-policy': '"anonymous";q=3;w=60' });
  expect(Number(page.headers['retry-after'])).toBeGreaterThan(0);
  const script = await get({ accept: 'application/json' });
  expect(script.statusCode).toBe(429);
  expect(script.json()).toMatchObject({ error: 'rate_limit.exceeded' });
  await api.stop();
});

describe('what clients call has the general limits', () => {
  let api: TestApi;
  let client: OAuthClient;
  beforeAll(async () => {
    api = await startApi({ RATE_LIMITS: 'on', REQUESTS_PER_MINUTE_ADDRESS: '3', REQUESTS_PER_MINUTE_API_KEY: '5' });
    client = await newPublicClient(api, (await newAccount(api)).scope);
  });
  afterAll(() => api.stop());

  const ask = async (times: number, url: string, fields: Record<string, string>, remoteAddress: string) => {
    const answers = [];
    for (let i = 0; i < times; i++) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const payload = new URLSearchParams(fields).toString();
      answers.push(await api.app.inject({ method: 'POST', url, headers, payload, remoteAddress }));
    }
    return answers.map(({ statusCode }) => statusCode);
  };
  const forged = { client_id: 'nobody', access_token: 'e30.e30.AA', token: 'x', grant_type: 'refresh_token' };

  test.each(['token', 'revoke', 'introspect', 'userinfo'])('/oauth/%s without valid credentials', async (name) => {
    expect(await ask(4, `/oauth/${name}`, forged, newAddress())).toEqual([401, 401, 401, 429]);
  });

  test.each([
    ['a malformed body', '/oauth/token', '{', 400],
    ['a parameter sent twice', '/oauth/token', '{"grant_type":["refresh_token","refresh_token"]}', 400],
    ['no token', '/oauth/userinfo', '{}', 401],
    ['a malformed body', '/v1/identity/auth/refresh', '{', 400],
    ['a missing field', '/v1/identity/auth/login', '{"client_id":"nobody"}', 400],
  ])('with %s, at %s', async (_what, url, payload, status) => {
    const from = newAddress();
    const headers = { 'content-type': 'application/json' };
    const seen = [];
    for (let i = 0; i < 4; i++) {
      const answer = await api.app.inject({ method: 'POST', url, headers, payload, remoteAddress: from });
      seen.push(answer.statusCode);
      if (i === 3) expect(answer.headers['ratelimit-policy']).toBe('"anonymous";q=3;w=60');
    }
    expect(seen).toEqual([status, status, status, 429]);
  });

  test.each(['/api/v1/identities', '/v1/identity/auth/me'])('%s for the token of an administrator', async (url) => {
    const account = await newAccount(api);
    const headers = await account.as('owner');
    const from = newAddress();
    const seen = [];
    for (let i = 0; i < 4; i++) seen.push((await api.app.inject({ url, headers, remoteAddress: from })).statusCode);
    expect(seen).toEqual([403, 403, 403, 429]);
  });

  test.each([
    ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x' }, 400],
    ['/oauth/revoke', { token: 'x' }, 200],
  ])('%s of a public client per address: no caller uses up the limit of others', async (url, fields, status) => {
    const [one, other] = [newAddress(), newAddress()];
    const sent = { ...fields, client_id: client.clientId } as Record<string, string>;
    expect(await ask(6, url, sent, one)).toEqual([...Array(5).fill(status), 429]);
    expect(await ask(1, url, sent, other)).toEqual([status]);
  });
});

describe('per address, wherever the requests come from', () => {
  const start = (email: string, i: number) =>
    send('POST /oauth/login/email-otp/start', newAddress(), { process: i % 2, fields: { email } });
  const statuses = async (answers: ReturnType<typeof send>[]) =>
    (await Promise.all(answers)).map(({ statusCode }) => statusCode);

  test('ten codes an hour are mailed to an address, known or not', async () => {
    const ana = await environment.newIdentity();
    for (const email of [ana.email, `nobody-${ana.id}@example.com`]) {
      const seen = await statuses(Array.from({ length: 13 }, (_, i) => start(i % 2 ? email : email.toUpperCase(), i)));
      expect(seen.filter((status) => status === 200)).toHaveLength(10);
      expect(seen.filter((status) => status === 429)).toHaveLength(3);
      const refused = await start(email, 0);
      expect(refused.headers['ratelimit-policy']).toBe('"email-otp-address";q=10;w=3600');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500);
    }
  });

  test('five sign-ups an hour are mailed to an address, known or not, however it is written', async () => {
    const ana = await environment.newIdentity();
    for (const email of [ana.email, `iris-${ana.id}@example.com`]) {
      const seen = [];
      for (let i = 0; i < 7; i++) {
        const fields = { email: i % 2 ? email : email.replace('i', 'I'), password: 'a long and quiet evening' };
        seen.push(await send('POST /oauth/register', newAddress(), { process: i % 2, fields }));
      }
      expect(seen.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200, 429, 429]);
      expect(seen.at(-1)?.headers['ratelimit-policy']).toBe('"sign-up-address";q=5;w=3600');
    }
  });

  test('wrong codes count together with wrong passwords, known or not, also over several pages', async () => {
    const ana = await environment.newIdentity();
    for (const email of [ana.email, `nobody-${ana.id}@example.com`]) {
      const seen: number[] = [];
      for (let page = 0; page < 3; page++) {
        const sent = await start(email, page);
        const [, login_token = ''] = /name="login_token" value="([^"]+)"/.exec(sent.body) ?? [];
        const guess = (i: number) =>
          send('POST /oauth/login/email-otp/verify', newAddress(), {
            process: i % 2,
            fields: { login_token, code: '12345' },
          });
        seen.push(...(await statuses(Array.from({ length: 3 }, (_, i) => guess(i)))));
      }
      const password = (of: string) => ({ email, password: of });
      const authorize = (fields: Record<string, string>) =>
        send('POST /oauth/authorize' as ThrottledRoute, newAddress(), { fields });
      seen.push((await authorize(password('wrong'))).statusCode);
      expect(seen).toEqual(Array(10).fill(200));
      const refused = await authorize(password('correct horse battery'));
      expect(refused.statusCode).toBe(429);
      expect(refused.headers['ratelimit-policy']).toBe('"sign-in-address";q=10;w=900');
    }
  });
});
