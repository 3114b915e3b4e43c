import { Event } from '../../../entities/event.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';
import { expectEqualTimes } from '../../support/equal-times.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth({ rateLimits: true, anonymousPerMinute: 30 }); // few enough for a slow machine to send in a minute
});
afterAll(() => auth.close());

const from = (address: string) => ({ 'x-forwarded-for': address });

test.each([
  ['/login', 900],
  ['/register', 3600],
])('%s answers five requests in its window, and then 429 with Retry-After', async (url, windowSeconds) => {
  for (let i = 0; i < 5; i++) {
    const answer = await auth.post(url, {}, from('203.0.113.1'));
    expect(answer.statusCode).toBe(400); // counts all the same
    expect(answer.headers['ratelimit-policy']).toContain(`q=5;w=${windowSeconds}`);
  }
  const refused = await auth.post(url, {}, from('203.0.113.1'));
  expect([refused.statusCode, refused.json().error.code]).toEqual([429, 'rate_limit.exceeded']);
  const retryAfter = Number(refused.headers['retry-after']);
  expect(retryAfter).toBeGreaterThan(windowSeconds - 30);
  expect(retryAfter).toBeLessThanOrEqual(windowSeconds);
  // Another address is not affected.
  expect((await auth.post(url, {}, from('203.0.113.2'))).statusCode).toBe(400);
});

describe('guesses at one address, each from another network,', () => {
  let networks = 0;
  const guess = (email: string, password: string) =>
    auth.post('/login', { email, password }, from(`2001:db8:${(++networks).toString(16)}::1`));
  const times = (count: number) => Array.from({ length: count });
  const statuses = async (answers: ReturnType<typeof guess>[]) =>
    (await Promise.all(answers)).map(({ statusCode }) => statusCode).sort();
  const forget = (like: string) => auth.db.pool.query('delete from rate_limits where key like $1', [like]);
  /** Returns all of a refusal but its time. */
  const told = ({ statusCode, headers, body }: Awaited<ReturnType<typeof guess>>) => {
    const { error } = JSON.parse(body);
    return [statusCode, headers['ratelimit-policy'], { ...error, timestamp: null }];
  };
  const locksOf = (resourceId: string) =>
    auth.db.transaction('system', (tx) => tx.findBy(Event, { resourceId, action: 'auth.admin_locked' }));
  /** Makes a day's guesses, of which ten are verified in each quarter of an hour. */
  async function guesses(email: string, count: number) {
    for (let left = count; left > 0; left -= 10) {
      const now = Math.min(left, 10);
      expect(await statuses(times(now).map(() => guess(email, 'wrong')))).toEqual(Array(now).fill(401));
      await forget('admin-sign-in-address:%');
    }
  }

  test('stop at ten in a quarter of an hour, exactly, also in parallel; the right password does not count; unknown addresses look alike', async () => {
    const { email, password } = await auth.addUser();
    for (const _ of times(12)) expect((await guess(email, password)).statusCode).toBe(200);
    const refusals = [];
    for (const address of [email, `nobody-${email}`]) {
      const seen = await statuses(times(14).map((_, i) => guess(i % 2 ? address : address.toUpperCase(), 'wrong')));
      expect(seen).toEqual([...Array(10).fill(401), ...Array(4).fill(429)]);
      const refused = await guess(address, password);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800);
      expect(refused.headers.ratelimit).toBe(`"admin-sign-in-address";r=0;t=${refused.headers['retry-after']}`);
      refusals.push(told(refused));
    }
    expect(refusals[0]?.slice(0, 2)).toEqual([429, '"admin-sign-in-address";q=10;w=900']);
    expect(refusals[1]).toEqual(refusals[0]);
  });

  test('stop at fifty in a day, known or not; a known address gets an event, and a right password resets the count', async () => {
    const { id, email, password } = await auth.addUser();
    await guesses(email, 49);
    expect((await guess(email, password)).statusCode).toBe(200);
    await guesses(email, 49);
    expect(await locksOf(id)).toEqual([]);
    await guesses(email, 1);
    const [refused, nobody] = [await guess(email, password), `nobody-${email}`];
    expect(told(refused).slice(0, 2)).toEqual([429, '"admin-sign-in-day";q=50;w=86400']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000);
    const [lock, ...more] = await locksOf(id);
    expect([lock?.outcome, more]).toEqual(['success', []]);
    const { locked_until: until } = lock!.metadata as { locked_until: string };
    expect(new Date(until).getTime()).toBeGreaterThan(auth.now().getTime() + 86_000_000);
    await guesses(nobody, 50);
    expect(told(await guess(nobody, password))).toEqual(told(refused));
    const all = await auth.db.transaction('system', (tx) => tx.findBy(Event, { action: 'auth.admin_locked' }));
    expect(all).toHaveLength(1);
  });

  test('do not lock out the mailbox’s owner: a new password by its link ends the lock', async () => {
    const { id, email } = await auth.addUser();
    await guesses(email, 50);
    const next = 'a new one that nobody knows 7';
    expect((await auth.post('/password/forgot', { email }, from('203.0.113.40'))).statusCode).toBe(200);
    const token = await auth.passwordTokenFor(id);
    expect((await guess(email, next)).statusCode).toBe(429);
    const reset = await auth.post('/password/reset', { token, password: next }, from('203.0.113.40'));
    expect(reset.statusCode).toBe(200);
    expect((await guess(email, next)).statusCode).toBe(200);
  });

  test('for mails count the address however its domain is written', async () => {
    const { email } = await auth.addUser();
    const [name, domain] = email.split('@') as [string, string];
    const wide = (i: number) =>
      domain.slice(0, i) + String.fromCharCode(domain.charCodeAt(i) + 0xfee0) + domain.slice(i + 1);
    const forgot = (address: string, i: number) =>
      auth.post('/password/forgot', { email: address }, from(`203.0.113.${50 + i}`));
    const addresses = [email, ...[0, 1, 2].map((i) => `${name}@${wide(i)}`)];
    const statuses = [];
    for (const [i, address] of addresses.entries()) statuses.push((await forgot(address, i)).statusCode);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  test('lock nobody if they were refused for their network, or by a burst', async () => {
    const { email, password } = await auth.addUser();
    const there = from('203.0.113.41');
    for (const _ of times(60)) await auth.post('/login', { email, password: 'wrong' }, there);
    for (const _ of times(5)) expect((await guess(email, 'wrong')).statusCode).toBe(401);
    for (const _ of times(60)) expect((await guess(email, 'wrong')).statusCode).toBe(429);
    await forget('admin-sign-in-address:%');
    expect((await guess(email, password)).statusCode).toBe(200);
  });

  test('take as long for an unknown address, whether verified or not', async () => {
    const { email } = await auth.addUser();
    const wrong = (address: string, prepare: () => Promise<unknown>) => ({
      prepare,
      run: () => guess(address, 'wrong'),
    });
    const nobody = `nobody-${email}`;
    await expectEqualTimes(
      wrong(email, () => forget('admin-sign-in-%')),
      wrong(nobody, () => forget('admin-sign-in-%')),
    );
    for (const address of [email, nobody]) await Promise.all(times(10).map(() => guess(address, 'wrong')));
    const nothing = async () => {};
    await expectEqualTimes(wrong(email, nothing), wrong(nobody, nothing));
  });
});

test('an address gets five registration mails an hour, wherever they were requested', async () => {
  const { email } = await auth.addUser();
  for (const address of [email, `nobody-${email}`]) {
    const seen: number[] = [];
    for (let i = 0; i < 6; i++) {
      const names = { first_name: 'Ana', last_name: 'Lim', account_name: 'Acme', application_name: 'Portal' };
      const body = { ...names, email: i % 2 ? address.toUpperCase() : address, password: 'a long and quiet evening' };
      seen.push((await auth.post('/register', body, from(`198.51.100.${i}`))).statusCode);
    }
    expect(seen).toEqual([201, 201, 201, 201, 201, 429]);
  }
});

test('a request that two limits count reports the one that is closer to its end', async () => {
  const names = { first_name: 'Ana', last_name: 'Lim', account_name: 'Acme', application_name: 'Portal' };
  const told = [];
  for (let i = 0; i < 4; i++) {
    const body = { ...names, email: `nearer-${i % 3}@example.com`, password: 'a long and quiet evening' };
    const { headers } = await auth.post('/register', body, from('203.0.113.6'));
    told.push([headers.ratelimit, headers['ratelimit-policy']]);
  }
  expect(told).toEqual(
    [4, 3, 2, 1].map((left) => [expect.stringContaining(`"admin-register";r=${left};`), '"admin-register";q=5;w=3600']),
  );
});

test('windows that began before PostgreSQL’s clock was set back an hour lock nobody out', async () => {
  const { email, password } = await auth.addUser();
  const login = (last: number, tried = password) =>
    auth.post('/login', { email, password: tried }, from(`198.51.100.${last}`));
  for (let i = 0; i < 6; i++) await login(1);
  for (let i = 0; i < 10; i++) await login(10 + i, 'wrong');
  expect([(await login(1)).statusCode, (await login(2)).statusCode]).toEqual([429, 429]); // by network, and by address
  await auth.db.pool.query('update rate_limits set expire = expire + 3600000');
  expect([(await login(1)).statusCode, (await login(2)).statusCode]).toEqual([200, 200]);
});

test('five of twenty parallel sign-ins are let through', async () => {
  const user = await auth.addUser();
  const credentials = { email: user.email, password: user.password };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => auth.post('/login', credentials, from('203.0.113.3'))),
  );
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(5);
  expect(answers.filter(({ statusCode }) => statusCode === 429)).toHaveLength(15);
});

test('ten requests an hour for an account count for their user, invalid ones too', async () => {
  const create = async () => {
    const { email, password } = await auth.addUser();
    const signedIn = await auth.post('/login', { email, password }, from('203.0.113.7'));
    const headers = bearer(signedIn.json().data.access_token);
    return async () => (await auth.post('/accounts', {}, headers)).statusCode;
  };
  const [one, other] = [await create(), await create()];
  const statuses = [];
  for (let i = 0; i < 11; i++) statuses.push(await one());
  expect(statuses).toEqual([...Array(10).fill(400), 429]);
  expect(await other()).toBe(400);
});

test('a token of the wrong principal counts like none', async () => {
  const at = Math.floor(Date.now() / 1000);
  const claims = { sub: 'x', aud: auth.baseUrl, iat: at, exp: at + 900, principal_type: 'identity' };
  const token = await auth.keys.sign(claims, { typ: 'at+jwt' });
  const headers = { ...bearer(token), ...from('203.0.113.5') };
  const answers = [];
  for (let i = 0; i < 31; i++) answers.push((await auth.get('/me', headers)).statusCode);
  expect(answers.slice(0, 30).every((status) => status === 403)).toBe(true);
  expect(answers[30]).toBe(429);
});

test('a route without its own limit has the general one', async () => {
  const answers = [];
  for (let i = 0; i < 31; i++) answers.push((await auth.post('/refresh', undefined, from('203.0.113.4'))).statusCode);
  expect(answers.slice(0, 30).every((status) => status === 401)).toBe(true);
  expect(answers[30]).toBe(429);
});
