import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  authorizeUrl,
  newProvider,
  password,
  type TestClient,
  type TestEnvironment,
  type TestProvider,
} from '../support/oauth.js';

let world: TestProvider;
let environment: TestEnvironment;
let client: TestClient;

beforeAll(async () => {
  world = await newProvider({ rateLimits: true });
  environment = await world.newEnvironment();
  client = await environment.newClient();
});
afterAll(() => world.close());

const attempt = async (email: string, typed: string, of = client, remoteAddress = '198.51.100.7') => {
  const fields = Object.fromEntries(new URL(authorizeUrl(of), world.baseUrl).searchParams);
  return world.app.inject({
    method: 'POST',
    url: '/oauth/authorize',
    remoteAddress,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ ...fields, email, password: typed }).toString(),
  });
};
const statuses = async (answers: ReturnType<typeof attempt>[]) =>
  (await Promise.all(answers)).map(({ statusCode }) => statusCode);

test('ten failures lock an address in its Environment, exactly, also in parallel; the right password too', async () => {
  const ana = await environment.newIdentity();
  const seen = await statuses(Array.from({ length: 15 }, () => attempt(ana.email, 'wrong')));
  expect(seen.filter((status) => status === 200)).toHaveLength(10);
  expect(seen.filter((status) => status === 429)).toHaveLength(5);
  const locked = await attempt(ana.email.toUpperCase(), password);
  expect(locked.statusCode).toBe(429);
  expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0);
  expect(Number(locked.headers['retry-after'])).toBeLessThanOrEqual(900);
  expect(locked.headers['ratelimit-policy']).toBe('"sign-in";q=10;w=900');
  expect(locked.headers['content-type']).toContain('text/html');
  expect(locked.headers['set-cookie']).toBeUndefined();
  const unknown = await statuses(Array.from({ length: 11 }, () => attempt('nobody@example.com', 'wrong')));
  expect(unknown.filter((status) => status === 429)).toHaveLength(1);
  const elsewhere = await world.newEnvironment();
  expect((await attempt(ana.email, 'wrong', await elsewhere.newClient())).statusCode).toBe(200);
});

test('successes do not count', async () => {
  const ana = await environment.newIdentity();
  for (let i = 0; i < 12; i++)
    expect((await attempt(ana.email, password, client, '198.51.100.8')).statusCode).toBe(303);
});

test('a hundred failures lock a network address, whoever is tried', async () => {
  const from = '198.51.100.9';
  const guesses = Array.from({ length: 104 }, (_, i) => attempt(`guess-${i}@example.com`, 'wrong', client, from));
  expect((await statuses(guesses)).filter((status) => status === 429)).toHaveLength(4);
  const ana = await environment.newIdentity();
  expect((await attempt(ana.email, password, client, from)).statusCode).toBe(429);
  expect((await attempt(ana.email, password, client, '198.51.100.10')).statusCode).toBe(303);
});

test('the counters hold no address in the clear', async () => {
  const keys = await world.query<{ key: string }>('select key from rate_limits');
  expect(keys.length).toBeGreaterThan(0);
  expect(JSON.stringify(keys)).not.toMatch(/@|198\.51/);
});
