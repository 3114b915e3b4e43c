import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { after, minutes, seconds } from '../../../src/platform/clock.js';
import { accountUrl, openAccount } from '../../support/account.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import type { TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, codeFor } from '../../support/oauth/sign-in.js';
import { refresh, tokensFor } from '../../support/oauth/tokens.js';

const idleSeconds = 900;
let ana: TestIdentity;
let laptop: Browser;

const world = await newProvider();
const environment = await world.newEnvironment({ sessionIdleTtlSeconds: idleSeconds });
const client = await environment.newClient();
afterAll(() => world.close());
beforeEach(async () => {
  ana = await environment.newIdentity();
  laptop = world.browser();
});

/** Returns what the browser gets with prompt=none: a code, or the reason for none. */
const silently = async (browser: Browser, of = client) => {
  const { searchParams } = locationOf(await browser.get(authorizeUrl(of, { prompt: 'none' })));
  return searchParams.get('error') ?? (searchParams.has('code') ? 'code' : 'nothing');
};
const sessionsOf = ({ id }: { id: string }) =>
  world.query<{ id: string; used_at: Date | null; revoked_at: Date | null }>(
    'select id, used_at, revoked_at from sessions where identity_id = $1 order by created_at',
    [id],
  );

test('a session that is used goes on, and ends when it is idle for as long as the environment says', async () => {
  const tokens = await tokensFor(laptop, client, ana.email);
  for (let i = 0; i < 3; i++) {
    world.wait(seconds(idleSeconds) - minutes(1));
    expect(await silently(laptop)).toBe('code');
  }
  world.wait(seconds(idleSeconds));
  expect(await silently(laptop)).toBe('login_required');
  expect((await laptop.get(authorizeUrl(client))).body).toContain('name="email"');
  expect(locationOf(await laptop.get(accountUrl(client))).pathname).toBe('/oauth/authorize');
  // An application's tokens have their own lifetime, and do not prolong the browser's session.
  expect((await refresh(world.app, client, tokens.refresh_token)).statusCode).toBe(200);
  expect(await silently(laptop)).toBe('login_required');
  await codeFor(laptop, client, ana.email);
  expect(await silently(laptop)).toBe('code');
});

test('refreshing does not count as a use, nor does another browser’s or environment’s session', async () => {
  const { refresh_token: token } = await tokensFor(laptop, client, ana.email);
  const elsewhere = await world.newEnvironment();
  const there = await elsewhere.newClient();
  await codeFor(laptop, there, (await elsewhere.newIdentity()).email);
  world.wait(minutes(10));
  const phone = world.browser();
  await codeFor(phone, client, ana.email);
  expect((await refresh(world.app, client, token)).statusCode).toBe(200);
  expect(await silently(laptop, there)).toBe('code');
  world.wait(minutes(5));
  expect(await silently(laptop)).toBe('login_required');
  expect(await silently(phone)).toBe('code');
  expect(await silently(laptop, there)).toBe('code'); // no limit there
});

test('a use is recorded once a minute, and never without a limit', async () => {
  await codeFor(laptop, client, ana.email);
  const begun = (await sessionsOf(ana))[0]?.used_at;
  world.wait(seconds(59));
  await silently(laptop);
  expect((await sessionsOf(ana))[0]?.used_at).toEqual(begun);
  world.wait(seconds(1));
  await Promise.all([silently(laptop), silently(laptop), laptop.get(accountUrl(client))]);
  expect((await sessionsOf(ana))[0]?.used_at).toEqual(after(begun as Date, minutes(1)));

  const unlimited = await world.newEnvironment();
  const [there, eva] = [await unlimited.newClient(), await unlimited.newIdentity()];
  await codeFor(laptop, there, eva.email);
  const before = await sessionsOf(eva);
  world.wait(minutes(5));
  expect(await silently(laptop, there)).toBe('code');
  expect(await sessionsOf(eva)).toEqual(before);
});

test('signing out of an expired session ends what applications hold of it', async () => {
  const tokens = await tokensFor(laptop, client, ana.email);
  world.wait(seconds(idleSeconds));
  await laptop.get(`/oauth/logout?${new URLSearchParams({ id_token_hint: tokens.id_token })}`);
  expect((await sessionsOf(ana))[0]?.revoked_at).not.toBeNull();
  expect((await refresh(world.app, client, tokens.refresh_token)).statusCode).toBe(400);
});

test('a session’s owner sees that it has ended', async () => {
  await tokensFor(laptop, client, ana.email);
  world.wait(seconds(idleSeconds));
  const page = await openAccount(world.browser(), accountUrl(client), ana);
  expect(page.body).toContain('Only applications are still signed in');
});

test('a session without a recorded use is idle since its sign-in; if the sign-in took long, since the end of it', async () => {
  await codeFor(laptop, client, ana.email);
  await world.query('update sessions set used_at = null where identity_id = $1', [ana.id]);
  world.wait(minutes(14));
  expect(await silently(laptop)).toBe('code');
  await world.query('update sessions set used_at = null where identity_id = $1', [ana.id]);
  world.wait(minutes(1));
  expect(await silently(laptop)).toBe('login_required');

  const { accountId, applicationId, environmentId } = environment;
  const { browser } = await world.provider.sessions.signIn({
    scope: { accountId, applicationId, environmentId },
    identityId: ana.id,
    amr: ['pwd', 'otp', 'mfa'],
    acr: 'urn:gatehouse:aal2',
    authenticatedAt: after(world.now(), -minutes(20)),
    lifeSeconds: 3600,
    browser: null,
    ipAddress: '127.0.0.1',
    userAgent: null,
  });
  await expect(world.provider.sessions.find(browser, environmentId, idleSeconds)).resolves.not.toBeNull();
});

test('a limit applies to existing sessions, and its removal too', async () => {
  const place = await world.newEnvironment();
  const [app, eva] = [await place.newClient(), await place.newIdentity()];
  await codeFor(laptop, app, eva.email);
  world.wait(minutes(20));
  const limit = (idle: number | null) =>
    world.query('update environment_settings set session_idle_ttl_seconds = $2 where environment_id = $1', [
      place.environmentId,
      idle,
    ]);
  await limit(idleSeconds);
  world.wait(seconds(2)); // a process may cache the settings for one
  expect(await silently(laptop, app)).toBe('login_required');
  await limit(null);
  world.wait(seconds(2));
  expect(await silently(laptop, app)).toBe('code');
});
