import { afterAll, beforeEach, expect, test } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import { days, hours, minutes } from '../../../src/platform/clock.js';
import { accountUrl, follow, openAccount, send } from '../../support/account.js';
import { enrollTotp, hidden } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri, type TestClient, type TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { refresh, type TokenBody, tokensFor, userinfo } from '../../support/oauth/tokens.js';

let ana: TestIdentity;
let laptop: Browser;
let phone: Browser;

const world = await newProvider();
const environment = await world.newEnvironment();
const client = await environment.newClient();
afterAll(() => world.close());
beforeEach(async () => {
  ana = await environment.newIdentity();
  laptop = world.browser();
  phone = world.browser();
});

const url = (of: Pick<TestClient, 'clientId'> = client, more: Record<string, string> = {}) => accountUrl(of, more);
const visit = async (browser: Browser, address: string) => follow(browser, await browser.get(address));
const signedIn = (browser: Browser, email = ana.email) => openAccount(browser, url(), { email });
const values = (page: LightMyRequestResponse, name: string) =>
  [...page.body.matchAll(new RegExp(`<button[^>]* name="${name}" value="([^"]*)"`, 'g'))].map(
    ([, value]) => value as string,
  );
const events = (action: string) =>
  world.query<{ metadata: Record<string, unknown>; resource_id: string }>(
    'select metadata, resource_id from events where action = $1 and actor_id = $2 order by created_at',
    [action, ana.id],
  );
const isAlive = async ({ access_token, refresh_token }: TokenBody) => {
  const [info, refreshed] = [await userinfo(world.app, access_token), await refresh(world.app, client, refresh_token)];
  expect(info.statusCode === 200).toBe(refreshed.statusCode === 200);
  return info.statusCode === 200;
};

test('a person who is not signed in signs in first, and is led to the page', async () => {
  const away = await laptop.get(url());
  expect(away.statusCode).toBe(303);
  expect(locationOf(away).pathname).toBe('/oauth/authorize');
  const form = await visit(laptop, url());
  expect(form.body).toContain('name="password"');
  const wrong = await laptop.submit(form, { email: ana.email, password: 'not hers at all' });
  expect(wrong.statusCode).toBe(200);
  const back = await laptop.submit(wrong, { email: ana.email, password });
  expect(back.headers.location).toBe(`http://localhost:3000${url(client, { signed_in: 'yes' })}`);
  const page = await laptop.get(url());
  expect(page.statusCode).toBe(200);
  expect(page.body).toContain(`Ana Arendt · ${ana.email}`);
  expect(page.headers['content-security-policy']).not.toContain('script-src');
  expect(page.headers['cache-control']).toBe('no-store');
});

test('a browser without cookies is told so after the sign-in, and not asked to sign in again and again', async () => {
  const form = await visit(laptop, url(client, { ui_locales: 'de' }));
  const back = locationOf(await laptop.submit(form, { email: ana.email, password }));
  const told = await world.browser().get(back.pathname + back.search);
  expect(told.statusCode).toBe(400);
  expect(told.body).toContain('Ihr Browser speichert keine Cookies');
  expect(told.body).toContain(`href="${url(client, { ui_locales: 'de' }).replaceAll('&', '&amp;')}"`);
  // The address to return to after a sign-out contains no error message.
  const arrived = await laptop.get(back.pathname + back.search);
  expect([arrived.statusCode, arrived.headers.location]).toEqual([303, url(client, { ui_locales: 'de' })]);
  expect((await laptop.get(url(client, { ui_locales: 'de' }))).statusCode).toBe(200);
  // A browser with the cookie keeps cookies: its session has ended. A link may be followed without one; scripts get no
  // pages.
  await world.query('update sessions set expires_at = created_at where identity_id = $1', [ana.id]);
  expect((await laptop.get(back.pathname + back.search)).statusCode).toBe(303);
  expect((await world.browser().get(url())).statusCode).toBe(303);
  const script = await world.browser().get(back.pathname + back.search, { accept: 'application/json' });
  expect(script.json().redirect_to).toMatch(/^\/oauth\/authorize\?/);
});

test('the sign-in leads to no other place, and gives no code', async () => {
  const sign = (more: Record<string, string>) =>
    laptop.get(`/oauth/authorize?${new URLSearchParams({ client_id: client.clientId, ...more })}`);
  for (const destination of [
    'https://evil.example/',
    '//evil.example',
    'account/../logout',
    'account@evil.example',
    'logout',
    'account/x',
  ]) {
    expect((await sign({ destination })).statusCode).toBe(400);
  }
  await signedIn(laptop);
  const answer = await sign({ destination: 'account', state: 's', ui_locales: 'de' });
  expect(answer.headers.location).toBe(`http://localhost:3000${url(client, { ui_locales: 'de' })}`);
  expect(
    await world.query(
      'select 1 from authorization_codes where session_id in (select id from sessions where identity_id = $1)',
      [ana.id],
    ),
  ).toEqual([]);
  // With a parameter that only client requests have, it is the client's request, whatever else it names.
  const ofClient = await sign({ destination: 'account', redirect_uri: 'https://evil.example/', response_type: 'code' });
  expect(ofClient.statusCode).toBe(400);
  expect((await sign({ destination: 'account', prompt: 'none' })).statusCode).toBe(303);
});

test('an unknown client gets an error page', async () => {
  expect((await laptop.get(url({ clientId: 'nobody' }))).statusCode).toBe(400);
  expect((await laptop.get('/oauth/account')).statusCode).toBe(400);
  expect((await laptop.get(`${url()}&client_id=twice`)).statusCode).toBe(400);
});

test('the page names browsers in words, and the application that has access', async () => {
  await laptop.get('/oauth/account', {});
  await tokensFor(phone, client, ana.email);
  const agent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0';
  const form = await visit(laptop, url());
  await laptop.submit(form, { email: ana.email, password }, { 'user-agent': agent });
  world.wait(hours(3));
  const page = await laptop.get(url());
  expect(page.body).toContain('Firefox on Windows');
  expect(page.body).toContain('this browser');
  expect(page.body).toContain('3 hours ago');
  expect(page.body).toContain('Shop web');
  expect(page.body).toMatch(/<a href="https:\/\/[^"]+">Back to Shop web<\/a>/);
  const german = await laptop.get(url(client, { ui_locales: 'de' }));
  expect(german.body).toContain('Firefox auf Windows');
  expect(german.body).toContain('vor 3 Stunden');
});

test('a session that another browser ends stops at once, with its tokens', async () => {
  const tokens = await tokensFor(phone, client, ana.email);
  const page = await signedIn(laptop);
  const [end, ...rest] = values(page, 'end').filter((value) => value !== 'others');
  expect(rest).toEqual([]);
  expect(await isAlive(tokens)).toBe(true);
  const done = await send(laptop, page, 'sessions', { end: end as string });
  expect(done.headers.location).toBe(`http://localhost:3000${url(client, { done: 'session_ended' })}`);
  expect(await isAlive(tokens)).toBe(false);
  expect((await phone.get(url())).statusCode).toBe(303); // to sign in
  expect((await laptop.get(url())).statusCode).toBe(200);
  expect((await visit(laptop, locationOf(done).pathname + locationOf(done).search)).body).toContain(
    'The other browser is signed out.',
  );
  expect(await events('auth.identity_signed_out')).toMatchObject([
    { resource_id: end, metadata: { reason: 'ended_by_person' } },
  ]);
  expect(await events('identity.sessions_revoked')).toMatchObject([
    { resource_id: ana.id, metadata: { session_ids: [end] } },
  ]);
  const twice = await send(laptop, page, 'sessions', { end: end as string });
  expect(locationOf(twice).searchParams.get('done')).toBe('gone');
});

test('all other sessions end, and this one continues with its tokens', async () => {
  const lost = [await tokensFor(phone, client, ana.email), await tokensFor(world.browser(), client, ana.email)];
  const kept = await tokensFor(laptop, client, ana.email);
  const page = await signedIn(laptop);
  expect(values(page, 'end')).toHaveLength(3);
  const done = await send(laptop, page, 'sessions', { end: 'others' });
  expect(done.statusCode).toBe(303);
  for (const tokens of lost) expect(await isAlive(tokens)).toBe(false);
  expect(await isAlive(kept)).toBe(true);
  expect(values(await laptop.get(url()), 'end')).toEqual([]);
  expect(await events('auth.identity_signed_out')).toHaveLength(2);
  await send(laptop, page, 'sessions', { end: 'others' }); // no session is left to end
  expect(await events('identity.sessions_revoked')).toHaveLength(1);
});

test('an expired session is still shown, and can be ended, while an application lives on it', async () => {
  const tokens = await tokensFor(phone, client, ana.email);
  world.wait(hours(13));
  const page = await signedIn(laptop);
  expect(page.body).toContain('Only applications are still signed in');
  const [end] = values(page, 'end');
  await send(laptop, page, 'sessions', { end: end as string });
  expect((await refresh(world.app, client, tokens.refresh_token)).statusCode).toBe(400);
  world.wait(days(91));
  expect(values(await signedIn(laptop), 'end')).toEqual([]);
});

test.each([
  ['its access was ended', 'update grants set revoked_at = now() where oauth_client_id = $1'],
  [
    'its tokens have expired',
    `update refresh_tokens set expires_at = created_at
     where family_id in (select id from grants where oauth_client_id = $1)`,
  ],
  ['it was deleted', 'delete from oauth_clients where id = $1'],
])('an expired session and the application that lived on it are shown no more once %s', async (_, ended) => {
  const other = await environment.newClient();
  await tokensFor(phone, other, ana.email);
  world.wait(hours(13));
  await signedIn(laptop);
  const shown = async () => {
    const page = await laptop.get(url());
    return [values(page, 'end').filter((value) => value !== 'others').length, values(page, 'revoke')];
  };
  expect(await shown()).toEqual([1, [other.id]]);
  await world.query(ended, [other.id]);
  expect(await shown()).toEqual([0, []]);
});

test('an application loses its access in every browser, and only that application', async () => {
  const other = await environment.newClient({ name: 'Other app' });
  const tokens = [await tokensFor(phone, client, ana.email), await tokensFor(laptop, client, ana.email)];
  const kept = await tokensFor(laptop, other, ana.email);
  const page = await signedIn(laptop);
  expect(page.body).toContain('Other app');
  expect(values(page, 'revoke')).toHaveLength(2);
  const done = await send(laptop, page, 'applications', { revoke: client.id });
  expect(locationOf(done).searchParams.get('done')).toBe('access_ended');
  for (const one of tokens) expect(await isAlive(one)).toBe(false);
  expect((await userinfo(world.app, kept.access_token)).statusCode).toBe(200);
  expect(values(await laptop.get(url()), 'revoke')).toEqual([other.id]);
  expect(await events('auth.grant_revoked')).toHaveLength(2);
  const twice = await send(laptop, page, 'applications', { revoke: client.id });
  expect(locationOf(twice).searchParams.get('done')).toBe('gone');
});

test('an application has no access left by a session that ended when another person signed in at its browser', async () => {
  await tokensFor(phone, client, ana.email);
  const page = await signedIn(laptop);
  expect(values(page, 'revoke')).toEqual([client.id]);
  const bob = await environment.newIdentity();
  const bobs = await tokensFor(phone, client, bob.email, { prompt: 'login' });
  expect(values(await laptop.get(url()), 'revoke')).toEqual([]);
  expect(await isAlive(bobs)).toBe(true);
  const late = await send(laptop, page, 'applications', { revoke: client.id }); // the page was shown before
  expect(late.statusCode).toBe(303);
});

test('applications of one name are distinguished by their site, or else by their client_id', async () => {
  const elsewhere = await environment.newClient({ name: 'Twins', redirectUris: [redirectUri, 'https://twin.example'] });
  const there = { name: 'Twins', redirectUris: ['https://other.example:8443/cb', redirectUri] };
  const [one, two] = [await environment.newClient(there), await environment.newClient(there)];
  const named = async () =>
    [...(await signedIn(laptop)).body.matchAll(/name="revoke" value="([^"]*)" aria-label="End access: ([^"]*)"/g)]
      .map(([, id, name]) => [id, name])
      .sort();
  await tokensFor(laptop, elsewhere, ana.email);
  expect(await named()).toEqual([[elsewhere.id, 'Twins']]);
  await tokensFor(laptop, one, ana.email);
  await tokensFor(laptop, client, ana.email);
  const here = [
    [elsewhere.id, 'Twins (app.example.com)'],
    [client.id, 'Shop web'],
  ];
  expect(await named()).toEqual([...here, [one.id, 'Twins (other.example:8443)']].sort());
  await tokensFor(laptop, two, ana.email);
  const marked = [one, two].map(({ id, clientId }) => [id, `Twins (${clientId})`]);
  expect(await named()).toEqual([...here, ...marked].sort());
});

test('if the Environment requires a recent sign-in, neither sessions nor access end without one', async () => {
  const strict = await world.newEnvironment({ sessionEndRequireRecentSignIn: true });
  const [app, bob] = [await strict.newClient(), await strict.newIdentity()];
  const tokens = await tokensFor(phone, app, bob.email);
  const open = () => openAccount(laptop, url(app), { email: bob.email });
  const page = await open();
  world.wait(minutes(10));
  for (const [where, what] of [
    ['sessions', { end: 'others' }],
    ['applications', { revoke: app.id }],
  ] as const) {
    const away = locationOf(await send(laptop, page, where, what));
    expect([away.pathname, away.searchParams.get('max_age')]).toEqual(['/oauth/authorize', '480']);
  }
  const isThere = async () => (await userinfo(world.app, tokens.access_token)).statusCode;
  expect(await isThere()).toBe(200);
  const asked = await visit(laptop, `${locationOf(await send(laptop, page, 'sessions', { end: 'others' }))}`.slice(21));
  const again = await follow(laptop, await laptop.submit(asked, { email: bob.email, password }));
  const done = await send(laptop, again, 'sessions', { end: 'others' });
  expect(locationOf(done).searchParams.get('done')).toBe('sessions_ended');
  expect(await isThere()).toBe(401);
});

test('a recent sign-in by what the Environment allows is enough, whatever else the person has enrolled', async () => {
  const strict = await world.newEnvironment({
    sessionEndRequireRecentSignIn: true,
    mfaPolicy: 'optional',
    mfaAllowedFactors: ['email_otp'],
  });
  const [app, bob] = [await strict.newClient(), await strict.newIdentity()];
  const tokens = await tokensFor(phone, app, bob.email);
  await enrollTotp(world, strict, bob);
  const page = await openAccount(laptop, url(app), { email: bob.email });
  expect((await send(laptop, page, 'password', {})).statusCode).toBe(403); // protected by factors
  world.wait(minutes(10));
  const away = locationOf(await send(laptop, page, 'sessions', { end: 'others' }));
  expect([away.searchParams.get('max_age'), away.searchParams.get('acr_values')]).toEqual(['480', null]);
  const form = await visit(laptop, `${away.pathname}${away.search}`);
  const again = await follow(laptop, await laptop.submit(form, { email: bob.email, password }));
  const done = await send(laptop, again, 'sessions', { end: 'others' });
  expect(locationOf(done).searchParams.get('done')).toBe('sessions_ended');
  expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(401);
});

test('sessions, browsers and applications of other people and Environments are not found', async () => {
  const ben = await environment.newIdentity();
  const tokens = await tokensFor(phone, client, ben.email);
  const [bens] = await world.query<{ id: string }>('select id from sessions where identity_id = $1', [ben.id]);
  const page = await signedIn(laptop);
  for (const end of [bens?.id as string, ana.id]) {
    const away = await send(laptop, page, 'sessions', { end });
    expect(locationOf(away).searchParams.get('done')).toBe('gone');
  }
  for (const end of ['x', "'", '%00', '0'.repeat(5000)]) {
    const refused = await send(laptop, page, 'sessions', { end });
    expect(refused.statusCode).toBe(404);
    expect(refused.body).toContain('Page not found');
    expect(refused.body).not.toContain(ben.email);
  }
  for (const revoke of [client.id, ana.id]) {
    const away = await send(laptop, page, 'applications', { revoke });
    expect(locationOf(away).searchParams.get('done')).toBe('gone');
  }
  expect((await send(laptop, page, 'applications', { revoke: 'x' })).statusCode).toBe(404);
  expect(await isAlive(tokens)).toBe(true);

  const elsewhere = await world.newEnvironment();
  const foreign = await elsewhere.newClient();
  expect((await laptop.get(url(foreign))).statusCode).toBe(303); // not signed in there
  const sent = await laptop.post('/oauth/account/sessions', {
    client_id: foreign.clientId,
    session: hidden(page, 'session'),
    end: 'others',
  });
  expect(locationOf(sent).pathname).toBe('/oauth/authorize');
});

test('another site’s form is refused, and one that was shown to another session changes nothing', async () => {
  const tokens = await tokensFor(phone, client, ana.email);
  const page = await signedIn(laptop);
  for (const headers of <Record<string, string>[]>[
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ]) {
    for (const path of ['sessions', 'applications']) {
      expect((await send(laptop, page, path, { end: 'others', revoke: client.id }, headers)).statusCode).toBe(403);
    }
  }
  const ben = await environment.newIdentity();
  const other = world.browser();
  const bens = await signedIn(other, ben.email);
  const stale = await send(other, page, 'sessions', { end: 'others' });
  expect(locationOf(stale).searchParams.get('done')).toBe('session_changed');
  const script = await send(other, page, 'sessions', { end: 'others' }, { accept: 'application/json' });
  expect([script.statusCode, script.json().error]).toEqual([409, 'session_changed']);
  expect(await isAlive(tokens)).toBe(true);
  expect(bens.statusCode).toBe(200);
});

test('a script gets the same in JSON', async () => {
  const json = { accept: 'application/json' };
  const refused = await laptop.get(url(), json);
  expect(locationOf(await laptop.get(url())).pathname).toBe('/oauth/authorize');
  expect(refused.json().redirect_to).toMatch(/^\/oauth\/authorize\?client_id=/);
  await signedIn(laptop);
  const { statusCode, headers, body } = await laptop.get(url(), json);
  expect([statusCode, headers['cache-control']]).toEqual([200, 'no-store']);
  expect(JSON.parse(body)).toMatchObject({
    email: ana.email,
    has_password: true,
    sessions: [{ is_current: true }],
    applications: [],
  });
  expect(body).not.toContain('argon2');
});

test('a notice is shown only after its form, and only one of ours', async () => {
  await signedIn(laptop);
  const address = url(client, { done: 'session_ended' });
  expect((await laptop.get(address, { 'sec-fetch-site': 'same-origin' })).body).toContain(
    'The other browser is signed out.',
  );
  for (const site of ['cross-site', 'same-site', 'none']) {
    expect((await laptop.get(address, { 'sec-fetch-site': site })).body).not.toContain(
      'The other browser is signed out.',
    );
  }
  expect((await laptop.get(url(client, { done: '<b>x' }))).body).not.toContain('role="status"');
});

test('a person who was deactivated is signed out of the page too', async () => {
  await signedIn(laptop);
  await world.query('update environment_memberships set is_active = false where identity_id = $1', [ana.id]);
  world.wait(minutes(1));
  expect((await laptop.get(url())).statusCode).toBe(303);
});

test('the latest fifty trusted browsers and applications are shown, with the number of others', async () => {
  const page = await signedIn(laptop);
  const { accountId, environmentId } = environment;
  await world.query(
    `insert into trusted_devices (id, account_id, environment_id, identity_id, device_hash, created_at, last_used_at, expires_at)
     select gen_random_uuid(), $1, $2, $3, sha256(gen_random_uuid()::text::bytea), now(), now(), now() + interval '1 year'
     from generate_series(1, 53)`,
    [accountId, environmentId, ana.id],
  );
  const rows = await world.query<{ id: string }>(
    `with made as (
       insert into oauth_clients select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(),
         'client_id', 'many-' || n || gen_random_uuid(), 'name', 'Many ' || n))).*
       from oauth_clients c, generate_series(1, 52) n where c.id = $1 returning id, account_id, environment_id)
     insert into consents (account_id, environment_id, identity_id, oauth_client_id, scope, created_at, updated_at)
     select account_id, environment_id, $2, id, '{openid}', now() + interval '1 hour', now() from made returning oauth_client_id as id`,
    [client.id, ana.id],
  );
  expect(page.statusCode).toBe(200);
  const full = await laptop.get(url());
  expect(values(full, 'forget')).toHaveLength(51); // and “all”
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(values(full, 'revoke')));
  expect(values(full, 'revoke')).toHaveLength(50);
  expect([...full.body.matchAll(/Not shown here: (\d+)/g)].map(([, count]) => count)).toEqual(['3', '2']);
});
