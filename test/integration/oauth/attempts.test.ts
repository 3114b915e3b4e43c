import { afterAll, expect, test } from '@jest/globals';
import { password, type TestClient } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { newOther } from '../../support/other-environment.js';

const world = await newProvider({ rateLimits: true });
const environment = await world.newEnvironment();
const client = await environment.newClient();
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

test('ten failures lock an address in its Account, exactly, also in parallel; the right password too', async () => {
  const ana = await environment.newIdentity();
  const seen = await statuses(Array.from({ length: 15 }, () => attempt(ana.email, 'wrong')));
  expect(seen.filter((status) => status === 200)).toHaveLength(10);
  expect(seen.filter((status) => status === 429)).toHaveLength(5);
  const locked = await attempt(ana.email.toUpperCase(), password);
  expect(locked.statusCode).toBe(429);
  expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0);
  expect(Number(locked.headers['retry-after'])).toBeLessThanOrEqual(900);
  expect(locked.headers['ratelimit-policy']).toBe('"sign-in-address";q=10;w=900');
  expect(locked.headers.ratelimit).toBe(`"sign-in-address";r=0;t=${locked.headers['retry-after']}`);
  expect(locked.headers['content-type']).toContain('text/html');
  expect(locked.headers['set-cookie']).toBeUndefined();
  const unknown = await statuses(Array.from({ length: 11 }, () => attempt('nobody@example.com', 'wrong')));
  expect(unknown.filter((status) => status === 429)).toHaveLength(1);
  const blog = await newOther(world, environment, { type: 'production' });
  expect((await attempt(ana.email, password, blog.client)).statusCode).toBe(429);
  const elsewhere = await world.newEnvironment(); // another Account with another password
  expect((await attempt(ana.email, 'wrong', await elsewhere.newClient())).statusCode).toBe(200);
});

test('successful sign-ins do not count as attempts', async () => {
  const ana = await environment.newIdentity();
  for (let i = 0; i < 12; i++)
    expect((await attempt(ana.email, password, client, '198.51.100.8')).statusCode).toBe(303);
});

test('a hundred failures lock a network address, whatever addresses they try', async () => {
  const from = '198.51.100.9';
  const guesses = Array.from({ length: 104 }, (_, i) => attempt(`guess-${i}@example.com`, 'wrong', client, from));
  expect((await statuses(guesses)).filter((status) => status === 429)).toHaveLength(4);
  const ana = await environment.newIdentity();
  const refused = await Promise.all(Array.from({ length: 12 }, () => attempt(ana.email, password, client, from)));
  for (const { statusCode, headers } of refused) {
    expect(statusCode).toBe(429);
    expect(headers['ratelimit-policy']).toBe('"sign-in-ip";q=100;w=900');
  }
  // A refusal because of the network locks no address.
  expect((await attempt(ana.email, password, client, '198.51.100.10')).statusCode).toBe(303);
});

test('failures from anywhere in one IPv6 network of 64 bits count together', async () => {
  const guess = (i: number) => attempt(`guess-v6-${i}@example.com`, 'wrong', client, `2001:db8:9:9::${i.toString(16)}`);
  const guesses = Array.from({ length: 104 }, (_, i) => guess(i + 1));
  expect((await statuses(guesses)).filter((status) => status === 429)).toHaveLength(4);
  expect((await attempt('guess-v6@example.com', 'wrong', client, '2001:db8:9:a::1')).statusCode).toBe(200);
});

/** Guesses wrongly in several quarters of an hour, in each of which ten more guesses are verified. */
async function guessing(email: string, times: number, of: TestClient, from: string) {
  const another = () =>
    world.query(`delete from rate_limits where key like 'sign-in-address:%' or key like 'sign-in-ip:%'`);
  const seen: number[] = [];
  for (let left = times; left > 0; left -= 10) {
    await another();
    seen.push(...(await statuses(Array.from({ length: Math.min(left, 10) }, () => attempt(email, 'wrong', of, from)))));
  }
  await another();
  return seen;
}

test('fifty failures in a day lock an address, known or not, until the day is over; the known one gets an event', async () => {
  const from = '198.51.100.20';
  const guess = (email: string, times: number) => guessing(email, times, client, from);
  const lockOf = async (id: string) =>
    (
      await world.query<{ at: Date | null }>(
        'select locked_until as at from environment_memberships where identity_id = $1',
        [id],
      )
    )[0]?.at;
  const ana = await environment.newIdentity();
  expect(await guess(ana.email, 49)).toEqual(Array(49).fill(200));
  expect(await lockOf(ana.id)).toBeNull();
  expect((await attempt(ana.email, password, client, from)).statusCode).toBe(303); // and the day's guesses are forgotten
  expect(await guess(ana.email, 50)).toEqual(Array(50).fill(200));
  const refused = await attempt(ana.email, password, client, from);
  expect(refused.statusCode).toBe(429);
  expect(refused.headers['ratelimit-policy']).toBe('"sign-in-day";q=50;w=86400');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000);
  const until = (await lockOf(ana.id))?.getTime() ?? 0;
  expect(until).toBeGreaterThan(world.now().getTime() + 86_000_000);
  expect(until).toBeLessThanOrEqual(world.now().getTime() + 86_400_000);
  expect(await world.events('identity.locked')).toMatchObject([{ resource_id: ana.id, outcome: 'success' }]);

  const nobody = `nobody-${ana.id}@example.com`;
  expect(await guess(nobody, 50)).toEqual(Array(50).fill(200));
  const unknown = await attempt(nobody, password, client, from);
  expect(unknown.statusCode).toBe(429);
  expect(unknown.headers['ratelimit-policy']).toBe(refused.headers['ratelimit-policy']);
  expect(await world.events('identity.locked')).toHaveLength(1);

  await world.logins.attempts.forgive(environment, { identityId: ana.id, email: ana.email });
  expect((await attempt(ana.email, password, client, from)).statusCode).toBe(303);
  expect(await lockOf(ana.id)).toBeNull();
});

test('the password of an unconfirmed sign-up is no failure, and does not reset the day’s count', async () => {
  const from = '198.51.100.21';
  const shop = await world.newEnvironment({ allowSelfSignup: true, emailOtpLoginEnabled: true });
  const of = await shop.newClient();
  const email = `ida.${shop.environmentId}@example.com`;
  const mallory = world.browser(from);
  const form = await mallory.get(authorizeUrl(of).replace('/oauth/authorize?', '/oauth/register?'));
  await mallory.submit(form, { email, password: 'chosen by mallory' });
  expect(await guessing(email, 48, of, from)).toEqual(Array(48).fill(200));
  for (let i = 0; i < 3; i++) {
    expect((await attempt(email, 'chosen by mallory', of, from)).body).toContain('is not confirmed yet');
  }
  expect(await guessing(email, 2, of, from)).toEqual([200, 200]);
  const locked = await attempt(email, 'chosen by mallory', of, from);
  expect([locked.statusCode, locked.headers['ratelimit-policy']]).toEqual([429, '"sign-in-day";q=50;w=86400']);
});

test('a day’s fifty are counted in the Account: in all its Environments, by pages and by JSON alike, known or not', async () => {
  const from = '198.51.100.23';
  const others = await Promise.all([1, 2, 3].map(() => newOther(world, environment)));
  const clients = [client, ...others.map((other) => other.client)];
  const json = (email: string, typed: string, of: Pick<TestClient, 'clientId'>) =>
    world.app.inject({
      method: 'POST',
      url: '/v1/identity/auth/login',
      remoteAddress: from,
      payload: { client_id: of.clientId, email, password: typed },
    });
  const another = () => world.query(`delete from rate_limits where key not like 'sign-in-day:%'`);
  const ana = await environment.newIdentity();
  for (const { join } of others.slice(1)) await join(ana.id);
  const refusals = [];
  for (const email of [ana.email, `nobody-${ana.email}`]) {
    const seen = { page: [] as number[], json: [] as number[] };
    for (let i = 0; i < 52; i++) {
      await another();
      const of = clients[i % clients.length] as TestClient;
      if (i % 3) seen.page.push((await attempt(email, 'wrong', of, from)).statusCode);
      else seen.json.push((await json(email, 'wrong', of)).statusCode);
    }
    expect(seen.page).toEqual([...Array(33).fill(200), 429]);
    expect(seen.json).toEqual([...Array(17).fill(401), 429]);
    await another();
    const { statusCode, headers, body } = await json(email, password, client);
    expect(headers['ratelimit-policy']).toBe('"sign-in-day";q=50;w=86400');
    refusals.push([statusCode, JSON.parse(body).error.code, JSON.parse(body).error.message]);
    await another();
    expect((await attempt(email, password, clients[1], from)).statusCode).toBe(429);
  }
  expect(refusals[0]).toEqual(refusals[1]);
  const events = await world.query<{ id: string }>(
    `select environment_id as id from events where action = 'identity.locked' and resource_id = $1`,
    [ana.id],
  );
  expect(events.map(({ id }) => id).sort()).toEqual(
    [environment, ...others.slice(1)].map(({ environmentId }) => environmentId).sort(),
  );
});

test('attempts that are refused as part of a burst do not count for the day', async () => {
  const ana = await environment.newIdentity();
  const from = '198.51.100.21';
  await statuses(Array.from({ length: 60 }, () => attempt(ana.email, 'wrong', client, from)));
  await world.query(`delete from rate_limits where key like 'sign-in-address:%' or key like 'sign-in-ip:%'`);
  expect((await attempt(ana.email, password, client, from)).statusCode).toBe(303);
});

test('what is typed for a used or expired code locks nobody, known or not', async () => {
  const mailed = await world.newEnvironment({ emailOtpLoginEnabled: true, passwordLoginEnabled: false });
  const of = await mailed.newClient();
  let networks = 0;
  const network = () => world.browser(`2001:db8:7:${(++networks).toString(16)}::1`);
  const asked = async (email: string) => {
    const browser = network();
    return browser.submit(await browser.get(authorizeUrl(of)), { email });
  };
  const wrong = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');
  const [ana, nobody] = [(await mailed.newIdentity()).email, `nobody.${mailed.environmentId}@example.com`];
  for (const email of [ana, nobody]) {
    const stranger = await asked(email);
    const guess = { code: wrong(await world.mailedCode('login')) };
    // At once, they exceed a burst for that moment.
    await Promise.all(Array.from({ length: 60 }, () => network().submit(stranger, guess)));
    for (let times = 0; times < 60; times++) {
      const { statusCode, body } = await network().submit(stranger, guess);
      expect([statusCode, body.includes('This code no longer works')]).toEqual([200, true]);
    }
    const own = await asked(email);
    const code = await world.mailedCode('login');
    for (let times = 0; times < 4; times++) await network().submit(own, { code: wrong(code) });
    expect((await network().submit(own, { code })).statusCode).toBe(email === ana ? 303 : 200);
  }
});

test('a right code that the day’s cap makes void is no failed attempt, and the address need not be typed again', async () => {
  const settings = { emailOtpLoginEnabled: true, passwordLoginEnabled: false, allowSelfSignup: true };
  const closed = await world.newEnvironment({ ...settings, dailySelfSignupCap: 0 });
  const of = await closed.newClient();
  const email = `new.${closed.environmentId}@example.com`;
  for (let times = 0; times < 12; times++) {
    const browser = world.browser(`2001:db8:8:${times.toString(16)}::1`);
    const sent = await browser.submit(await browser.get(authorizeUrl(of)), { email });
    const capped = await browser.submit(sent, { code: await world.mailedCode('login') });
    expect([capped.statusCode, capped.body.includes('No more accounts can be created here today.')]).toEqual([
      200,
      true,
    ]);
    expect(capped.body).toContain(`value="${email}"`);
    await world.query(`delete from rate_limits where key like 'email-otp-address:%'`); // its mails have their own limit
  }
});

test('a refusal is a page in the language that the request asks for', async () => {
  const from = '198.51.100.22';
  const fields = {
    ...Object.fromEntries(new URL(authorizeUrl(client), world.baseUrl).searchParams),
    ui_locales: 'de',
    email: 'sprache@example.com',
    password: 'wrong',
  };
  const post = (accept: string) =>
    world.app.inject({
      method: 'POST',
      url: '/oauth/authorize',
      remoteAddress: from,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept },
      payload: new URLSearchParams(fields).toString(),
    });
  for (let i = 0; i < 10; i++) await post('text/html');
  const page = await post('text/html');
  expect(page.statusCode).toBe(429);
  expect(page.headers['content-language']).toBe('de');
  expect(page.body).toContain('Zu viele Versuche');
  const script = await post('application/json');
  expect(script.statusCode).toBe(429);
  expect(script.json()).toMatchObject({ error: 'rate_limit.exceeded' });
  expect(Number(script.headers['retry-after'])).toBeGreaterThan(0);
});

test('a person who has guessed too often is offered the sign-in page and a new password; no code is mailed while none would be accepted', async () => {
  const ana = await environment.newIdentity();
  const coded = await world.newEnvironment({ emailOtpLoginEnabled: true });
  const codedClient = await coded.newClient();
  for (const [of, email] of [
    [client, ana.email],
    [codedClient, (await coded.newIdentity()).email],
    [codedClient, 'nobody-at-all@example.com'],
  ] as const) {
    const from = '198.51.100.23';
    for (let i = 0; i < 10; i++) await attempt(email, 'wrong', of, from);
    const page = await attempt(email, password, of, from);
    expect(page.statusCode).toBe(429);
    const links = [...page.body.matchAll(/href="([^"]+)"/g)].map(([, url = '']) => url.replaceAll('&amp;', '&'));
    const [back, forgot] = ['/oauth/authorize?', '/oauth/password/forgot?'].map((start) =>
      links.find((url) => url.startsWith(start)),
    );
    const browser = world.browser('198.51.100.24');
    expect((await browser.get(back ?? '')).body).toContain('name="password"');
    expect((await browser.get(forgot ?? '')).body).toContain('name="email"');
    if (of === client) continue;
    const before = await world.query('select id from emailed_codes');
    const form = await browser.get(authorizeUrl(of, { method: 'code' }));
    const refused = await browser.submit(form, { email });
    expect([refused.statusCode, refused.headers['ratelimit-policy']]).toEqual([429, '"sign-in-address";q=10;w=900']);
    expect(await world.query('select id from emailed_codes')).toEqual(before);
  }
});

test('a typed address is kept for whatever asks for it next', async () => {
  const typed = 'ana+shop@example.com';
  const linksOf = (page: { body: string }) =>
    [...page.body.matchAll(/href="([^"]+)"/g)].map(([, url = '']) => url.replaceAll('&amp;', '&'));
  const open = await world.newEnvironment({ allowSelfSignup: true });
  const opened = await open.newClient();
  for (const start of ['/oauth/password/forgot?', '/oauth/register?']) {
    const next = async (email: string) =>
      linksOf(await attempt(email, 'wrong', opened)).find((url) => url.startsWith(start));
    expect((await world.browser().get((await next(typed)) ?? '')).body).toContain(`value="${typed}"`);
    expect(await next('no address')).not.toContain('login_hint');
  }
});

test('the counters hold no address in the clear', async () => {
  const keys = await world.query<{ key: string }>('select key from rate_limits');
  expect(keys.length).toBeGreaterThan(0);
  expect(JSON.stringify(keys)).not.toMatch(/@|198\.51/);
});
