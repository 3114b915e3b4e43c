import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { hours, minutes } from '../../../src/platform/clock.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { loggedOutUri, redirectUri, type TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { refresh, type TokenBody, tokensFor, userinfo } from '../../support/oauth/tokens.js';

let ana: TestIdentity;
let browser: Browser;
let tokens: TokenBody;

const world = await newProvider();
const environment = await world.newEnvironment();
const client = await environment.newClient();
afterAll(() => world.close());
beforeEach(async () => {
  ana = await environment.newIdentity();
  browser = world.browser();
  tokens = await tokensFor(browser, client, ana.email);
});

const url = (parameters: Record<string, string>) => `/oauth/logout?${new URLSearchParams(parameters)}`;
const holdings = async (of = tokens, by = client) => [
  (await refresh(world.app, by, of.refresh_token)).statusCode,
  (await userinfo(world.app, of.access_token)).statusCode,
];
const [living, ended] = [
  [200, 200],
  [400, 401],
];
const isSignedIn = async () => (await browser.get(authorizeUrl(client))).statusCode === 303;

test('the hint of this session ends session and grants at once, and leads where the client registered', async () => {
  world.wait(hours(1)); // the hint may have expired
  const answer = await browser.get(
    url({ id_token_hint: tokens.id_token, post_logout_redirect_uri: loggedOutUri, state: 'a b' }),
  );
  expect(answer.statusCode).toBe(303);
  expect(answer.headers.location).toBe(`${loggedOutUri}?state=a+b`);
  expect(browser.cookies.size).toBe(0);
  expect((await refresh(world.app, client, tokens.refresh_token)).json().error).toBe('invalid_grant');
  expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(401);
  expect(await isSignedIn()).toBe(false);
  const events = await world.query(
    `select action, metadata from events where action like '%signed_out' and actor_id = $1 order by action`,
    [ana.id],
  );
  const { sid } = decodeJwt(tokens.id_token);
  // The event that webhooks deliver, with which an application ends its own session.
  expect(events).toEqual([
    { action: 'auth.identity_signed_out', metadata: {} },
    { action: 'identity.signed_out', metadata: { session_id: sid } },
  ]);
});

test('a HEAD request, as of a link checker, ends nothing (RFC 9110 §9.2.1)', async () => {
  const hinted = url({ id_token_hint: tokens.id_token, post_logout_redirect_uri: loggedOutUri });
  for (const by of [browser, world.browser()]) {
    const looked = await by.head(hinted);
    expect([looked.statusCode, looked.body]).toEqual([200, '']);
  }
  const codes = () =>
    world.query('select from authorization_codes where environment_id = $1', [environment.environmentId]);
  const before = await codes();
  expect((await browser.head(authorizeUrl(client))).statusCode).toBe(200);
  expect(await codes()).toHaveLength(before.length);
  expect(await isSignedIn()).toBe(true);
  expect(await holdings()).toEqual(living);
});

test('without a hint the person is asked; yes ends it, no does not', async () => {
  const page = await browser.get(
    url({ client_id: client.clientId, post_logout_redirect_uri: loggedOutUri, state: 'x', ui_locales: 'de' }),
  );
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-language']).toBe('de');
  const stayed = await browser.submit(page, { confirm: 'no' });
  // To the application, and not to its page for signed-out people.
  expect([stayed.statusCode, stayed.headers.location]).toEqual([303, new URL(redirectUri).origin]);
  expect(await isSignedIn()).toBe(true);
  const left = await browser.submit(page, { confirm: 'yes' });
  expect(left.headers.location).toBe(`${loggedOutUri}?state=x`);
  expect(await isSignedIn()).toBe(false);
});

test('with a hint whose key is deleted the person is asked, and then goes where its client registered', async () => {
  await world.query('delete from signing_keys');
  world.wait(minutes(1));
  const page = await browser.get(url({ id_token_hint: tokens.id_token, post_logout_redirect_uri: loggedOutUri }));
  expect(page.body).toContain('Sign out?');
  expect(await isSignedIn()).toBe(true);
  const answer = await browser.submit(page, { confirm: 'yes' });
  expect(answer.headers.location).toBe(loggedOutUri);
  expect(await isSignedIn()).toBe(false);
});

test('with another person’s hint the browser’s user is asked, and nobody is signed out before', async () => {
  const bob = await environment.newIdentity();
  const bobs = await tokensFor(world.browser(), client, bob.email);
  const page = await browser.get(url({ id_token_hint: bobs.id_token }));
  expect(page.body).toContain('Sign out?');
  expect(page.body).toContain(`You are signed in as ${ana.email}.`);
  await browser.submit(page, { confirm: 'no' });
  expect(await isSignedIn()).toBe(true);
  expect([await holdings(), await holdings(bobs)]).toEqual([living, living]);
  // The application asked to end the tokens that it holds of Bob.
  await browser.submit(page, { confirm: 'yes' });
  expect([await holdings(), await holdings(bobs)]).toEqual([ended, ended]);
});

describe('a session ends by its ID token as the hint, even if the browser never had the session or has it no longer', () => {
  const byHint = (who: Browser) =>
    who.get(url({ id_token_hint: tokens.id_token, post_logout_redirect_uri: loggedOutUri }));
  /** The browser's session ends, and the application's tokens survive it. */
  async function outlived() {
    world.wait(hours(13));
    const refreshed = await refresh(world.app, client, tokens.refresh_token);
    tokens = { ...tokens, access_token: refreshed.json().access_token };
    expect(await holdings()).toEqual(living);
  }

  test('also after its person has signed in again, to another application', async () => {
    await outlived();
    const other = await environment.newClient();
    const others = await tokensFor(browser, other, ana.email);
    const sid = (token: string) => decodeJwt(token).sid;
    expect(sid(others.id_token)).not.toBe(sid(tokens.id_token));
    expect((await byHint(browser)).headers.location).toBe(loggedOutUri);
    expect(await holdings()).toEqual(ended);
    expect(await holdings(others, other)).toEqual(ended);
    expect(browser.cookies.size).toBe(0);
    const events = await world.query(
      `select resource_id from events where action = 'auth.identity_signed_out' and actor_id = $1 order by resource_id`,
      [ana.id],
    );
    expect(events).toEqual([tokens, others].map(({ id_token }) => ({ resource_id: sid(id_token) })));
  });

  test.each<[string, () => Browser]>([
    ['in a request with its cookie', () => browser],
    ['in a request without its cookie', () => world.browser()],
  ])('if nobody has signed in since in that browser, %s', async (_name, who) => {
    await outlived();
    const answer = await byHint(who());
    expect([answer.statusCode, answer.headers.location]).toEqual([303, loggedOutUri]);
    expect(await holdings()).toEqual(ended);
    expect((await byHint(who())).headers.location).toBe(loggedOutUri);
  });

  test('also if two tabs began a session each at the same time, and the browser has only kept the cookie of the other one', async () => {
    const kept = world.browser();
    const others = await tokensFor(kept, client, ana.email);
    expect((await byHint(kept)).statusCode).toBe(303);
    expect([await holdings(), await holdings(others)]).toEqual([ended, ended]);
  });

  test('but no other of the same person, without the cookie', async () => {
    const others = await tokensFor(world.browser(), client, ana.email);
    expect((await byHint(world.browser())).statusCode).toBe(303);
    expect([await holdings(), await holdings(others)]).toEqual([ended, living]);
  });

  test('but not if the hint’s key is deleted', async () => {
    await world.query('delete from signing_keys');
    world.wait(minutes(1));
    expect((await byHint(world.browser())).statusCode).toBe(303);
    expect((await refresh(world.app, client, tokens.refresh_token)).statusCode).toBe(200);
  });
});

test('without a client all of the browser’s sessions end after a question', async () => {
  const page = await browser.get('/oauth/logout');
  expect(page.body).toContain('Sign out?');
  const stayed = await browser.submit(page, { confirm: 'no' });
  expect([stayed.statusCode, stayed.body.includes('You are still signed in')]).toEqual([200, true]);
  const done = await browser.submit(page, { confirm: 'yes' });
  expect(done.body).toContain('You are signed out');
  expect(browser.cookies.size).toBe(0);
});

test('sessions in other Environments stay, and with them the cookie', async () => {
  const elsewhere = await world.newEnvironment();
  const there = await elsewhere.newClient();
  await tokensFor(browser, there, (await elsewhere.newIdentity()).email);
  const answer = await browser.get(url({ id_token_hint: tokens.id_token }));
  expect(answer.body).toContain('You are signed out');
  expect(await isSignedIn()).toBe(false);
  expect(locationOf(await browser.get(authorizeUrl(there))).searchParams.has('code')).toBe(true);
});

test('a POST, also from another site, is answered like a GET', async () => {
  const fields = { id_token_hint: tokens.id_token, post_logout_redirect_uri: loggedOutUri };
  const answer = await world.browser().post('/oauth/logout', fields, { origin: 'https://app.example.com' });
  expect(answer.statusCode).toBe(303);
  expect((await browser.get(String(answer.headers.location))).headers.location).toBe(loggedOutUri);
  expect(await isSignedIn()).toBe(false);
});

test('a confirmation from another site is refused', async () => {
  const fields = { client_id: client.clientId, confirm: 'yes' };
  const answer = await browser.post('/oauth/logout', fields, { origin: 'https://evil.example' });
  expect(answer.statusCode).toBe(403);
  expect(await isSignedIn()).toBe(true);
});

test('a person who is signed out already is sent on', async () => {
  const stranger = world.browser();
  const answer = await stranger.get(url({ client_id: client.clientId, post_logout_redirect_uri: loggedOutUri }));
  expect(answer.headers.location).toBe(loggedOutUri);
  expect((await stranger.get('/oauth/logout')).body).toContain('You are signed out');
});

test.each<[string, string[], string | null]>([
  ['a site', ['https://shop.example/cb', 'https://other.example/cb'], 'https://shop.example'],
  ['a site also in development', ['http://localhost:5173/cb', 'https://shop.example/cb'], 'https://shop.example'],
  ['a site in development', ['http://localhost:5173/cb'], 'http://localhost:5173'],
  ['a native application', ['http://127.0.0.1/cb', 'http://[::1]/cb', 'com.example.app:/cb'], null],
  ['a native application with a site', ['http://127.0.0.1/cb', 'https://shop.example/cb'], 'https://shop.example'],
])('the sign-out pages of %s lead back to its website, if it has one', async (_name, redirectUris, home) => {
  const { clientId } = await environment.newClient({ redirectUris });
  const question = await browser.get(url({ client_id: clientId }));
  const stayed = await browser.submit(question, { confirm: 'no' });
  expect([stayed.statusCode, stayed.headers.location]).toEqual(home === null ? [200, undefined] : [303, home]);
  const out = await browser.submit(question, { confirm: 'yes' });
  expect(/<a class="button" href="([^"]*)"/.exec(out.body)?.[1] ?? null).toBe(home);
});

test.each<[string, () => Record<string, string>, string]>([
  [
    'an unregistered address',
    () => ({ client_id: client.clientId, post_logout_redirect_uri: 'https://evil.example' }),
    'post_logout_redirect_uri is not registered for this client',
  ],
  [
    'an address without a client',
    () => ({ post_logout_redirect_uri: loggedOutUri }),
    'post_logout_redirect_uri needs id_token_hint or client_id',
  ],
  ['an unknown client', () => ({ client_id: 'unknown' }), 'client_id is unknown'],
  ['a hint that is nonsense', () => ({ id_token_hint: 'nonsense' }), 'id_token_hint is not an ID token of this issuer'],
  [
    'an access token as hint',
    () => ({ id_token_hint: tokens.access_token }),
    'id_token_hint is not an ID token of this issuer',
  ],
  [
    'a hint of another client',
    () => ({ id_token_hint: tokens.id_token, client_id: 'other' }),
    'id_token_hint was issued to another client',
  ],
])('a sign-out link with %s gets a 400 page that says so, and signs nobody out', async (_name, parameters, detail) => {
  const answer = await browser.get(url(parameters()));
  expect(answer.statusCode).toBe(400);
  expect(answer.body).toMatch(/<h1>\s*This link does not work/); // nothing about signing in
  expect(answer.body).toContain(detail);
  // In the design of the client that it names.
  const isKnown = parameters().client_id === client.clientId;
  expect(/<title>[^<]* · ([^<]+)</.exec(answer.body)?.[1]).toBe(isKnown ? 'Acme' : 'Gatehouse');
  expect(answer.headers.location).toBeUndefined();
  expect(await isSignedIn()).toBe(true);
  expect((await browser.get(`${url({ client_id: client.clientId })}&client_id=again`)).statusCode).toBe(400);
});

test('a link that anybody can make does not tell anybody that they are signed out', async () => {
  const links = [
    '/sso/signed-out',
    `/sso/signed-out?request=${uuidv7()}`,
    '/sso/leave?token=none',
    `/sso/saml/${uuidv7()}/slo?SAMLResponse=x&RelayState=y`,
    `/sso/oidc/${uuidv7()}/signed-out?state=x`,
  ];
  for (const link of links) {
    const page = await browser.get(link);
    expect([link, page.body.includes('You are signed out')]).toEqual([link, false]);
    expect(page.body).toContain('This sign-out has already ended');
  }
  expect(await isSignedIn()).toBe(true);
});

test('a script gets in JSON what a browser is shown: the question, where to continue, or that nothing follows', async () => {
  const json = { accept: 'application/json' };
  const asked = await browser.get(url({ client_id: client.clientId }), json);
  expect([asked.statusCode, asked.json().error]).toEqual([409, 'confirmation_required']);
  expect(await isSignedIn()).toBe(true);
  const hinted = { id_token_hint: tokens.id_token, post_logout_redirect_uri: loggedOutUri };
  expect((await browser.get(url(hinted), json)).json()).toEqual({ redirect_to: loggedOutUri });
  expect((await browser.get(url({ client_id: client.clientId }), json)).json()).toEqual({ redirect_to: null });
  const nowhere = { redirect_to: null, is_unconfirmed: false };
  expect((await browser.get('/sso/signed-out', json)).json()).toEqual(nowhere);
  expect((await browser.get('/sso/leave?token=none', json)).json()).toEqual(nowhere);
});
