import { decodeJwt } from 'jose';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import { loopback } from '../../../src/platform/outbound/addresses.js';
import { accountUrl } from '../../support/account.js';
import { startBentProvider } from '../../support/bent-provider.js';
import { codeIn, enrollTotp } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { redirectUri, type TestClient } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem, refresh } from '../../support/oauth/tokens.js';
import { setPolicy } from '../../support/organizations.js';
import { partsOf, posted, type ResponseParts, signedResponse } from '../../support/saml/provider.js';
import { answerTo, giveSigningKey, newSamlProvider } from '../../support/saml/sign-in.js';
import { acmeAddress, failureIn, newSsoPlace, type SsoPlace } from '../../support/sso.js';

/** The time of authentication is what a provider reports, and not when the person arrived here. */

const baseUrl = 'http://localhost:3000';
const [idp, saml] = await Promise.all([startBentProvider(), newSamlProvider()]);
const world = await newProvider({ baseUrl, allowedNetworks: loopback, startsAt: new Date() });
afterAll(async () => {
  await world.close();
  await idp.stop();
});

/** Creates an Environment with an organization whose OpenID provider says what a test wants. */
const place = (overrides: Partial<SsoConnection> = {}, settings: Partial<EnvironmentSettings> = {}) =>
  newSsoPlace(world, { issuer: idp.issuer, clientId: 'client', clientSecret: 'a secret' }, overrides, settings);
const samlPlace = async (overrides: Partial<SsoConnection> = {}, settings: Partial<EnvironmentSettings> = {}) => {
  const made = await newSsoPlace(world, null, { ...saml.fields, ...overrides }, settings);
  await giveSigningKey(world, made.connection);
  return made;
};

const pkce = newPkce();
const epoch = (at: Date) => Math.floor(at.getTime() / 1000);
const ago = (ms: number) => new Date(world.now().getTime() - ms);

interface Answering {
  /** The auth_time that the provider reports; null: none. */
  at: Date | null;
  email: string;
  claims?: object;
}

/** Has the provider answer the request that a browser was redirected with. */
async function answer(browser: Browser, away: URL, { at, email, claims = {} }: Answering) {
  const { searchParams: asked } = away;
  const now = epoch(world.now());
  idp.answers(() =>
    idp.idToken({
      nonce: asked.get('nonce'),
      sub: email,
      email,
      iat: now,
      exp: now + 300,
      auth_time: at === null ? undefined : epoch(at),
      ...claims,
    }),
  );
  const query = new URLSearchParams({ code: 'the code', state: asked.get('state') ?? '', iss: idp.issuer });
  const answered = await browser.get(`${new URL(asked.get('redirect_uri') ?? '').pathname}?${query}`);
  expect(answered.statusCode).toBe(303);
  return browser.get(String(answered.headers.location).replace(baseUrl, ''));
}

const awayFrom = async (browser: Browser, url: string) => {
  const away = await browser.get(url);
  expect(away.statusCode).toBe(303);
  return locationOf(away);
};

/** Signs in from the client; returns the answer of `/sso/complete`. */
async function walk(
  browser: Browser,
  { client, organization }: SsoPlace,
  answering: Answering,
  more: Record<string, string> = {},
) {
  const url = authorizeUrl(client, { organization: organization.slug, code_challenge: pkce.challenge, ...more });
  return answer(browser, await awayFrom(browser, url), answering);
}

/** Does the same by SAML. */
async function walkSaml(
  browser: Browser,
  { client, organization }: SsoPlace,
  changes: Partial<ResponseParts>,
  more: Record<string, string> = {},
) {
  const url = authorizeUrl(client, { organization: organization.slug, code_challenge: pkce.challenge, ...more });
  const { path, form } = answerTo(String(await awayFrom(browser, url)), saml, world.now(), changes);
  const answered = await world.browser().post(path, form, { origin: 'https://idp.acme.example' });
  return browser.get(String(answered.headers.location).replace(baseUrl, ''));
}

const claimsOf = async (client: TestClient, page: Awaited<ReturnType<Browser['get']>>) => {
  const redeemed = await redeem(world.app, client, {
    code: codeIn(page),
    verifier: pkce.verifier,
    redirect: redirectUri,
  });
  expect(redeemed.statusCode).toBe(200);
  const { id_token: idToken, refresh_token: token } = redeemed.json();
  return { claims: decodeJwt(idToken), refreshed: async () => (await refresh(world.app, client, token)).json() };
};

describe('a requested max_age', () => {
  test('is measured from when the person was sent, however long they take on the way', async () => {
    const there = await place();
    const browser = world.browser();
    const { client, organization } = there;
    const url = authorizeUrl(client, { organization: organization.slug, max_age: '0' });
    const away = await awayFrom(browser, url);
    world.wait(seconds(5));
    const at = world.now(); // the password, and after it a second factor of the provider's
    world.wait(minutes(3));
    expect(codeIn(await answer(browser, away, { at, email: acmeAddress() }))).toBeTruthy();
  });

  test('refuses an older sign-in, and one whose time the provider does not report', async () => {
    const there = await place();
    const email = acmeAddress();
    const walked = (at: Date | null) => walk(world.browser(), there, { at, email }, { max_age: '300' });
    expect(failureIn(await walked(ago(minutes(7))))).toEqual([403, 'sso.reauthentication_missing']);
    expect(failureIn(await walked(null))).toEqual([403, 'sso.auth_time_missing']);
    expect(codeIn(await walked(ago(minutes(5))))).toBeTruthy();
    const [row] = await world.query('select consecutive_failures from sso_connections where id = $1', [
      there.connection.id,
    ]);
    expect(row).toEqual({ consecutive_failures: 0 }); // the person may have caused it
  });
});

describe('a connection with force_authn', () => {
  const anew = { forceAuthn: true };
  /** A person removes `prompt=login` from the address, and has an hours-old session at the provider. */
  const silently = { at: new Date(Date.now() - hours(8)) };

  test('requires a new sign-in and its time, and accepts no other', async () => {
    const there = await place(anew);
    const email = acmeAddress();
    const { searchParams } = await awayFrom(
      world.browser(),
      authorizeUrl(there.client, { organization: there.organization.slug }),
    );
    expect(searchParams.get('prompt')).toBe('login');
    expect(Number(searchParams.get('max_age'))).toBeGreaterThan(0);
    expect(failureIn(await walk(world.browser(), there, { ...silently, email }))).toEqual([
      403,
      'sso.reauthentication_missing',
    ]);
    expect(failureIn(await walk(world.browser(), there, { at: null, email }))).toEqual([403, 'sso.auth_time_missing']);
    expect(codeIn(await walk(world.browser(), there, { at: world.now(), email }))).toBeTruthy();
  });

  test('is not alone: prompt=login of a client accepts no other either', async () => {
    const there = await place();
    const email = acmeAddress();
    const login = { prompt: 'login' };
    expect(failureIn(await walk(world.browser(), there, { ...silently, email }, login))).toEqual([
      403,
      'sso.reauthentication_missing',
    ]);
    // Entra obeys it, but reports no time unless configured to: the application gets an unknown time.
    const unsaid = await walk(world.browser(), there, { at: null, email }, login);
    expect((await claimsOf(there.client, unsaid)).claims.auth_time).toBe(1);
    expect(codeIn(await walk(world.browser(), there, { ...silently, email }))).toBeTruthy(); // if nobody asks
  });

  test('by SAML accepts no other either, requested or not', async () => {
    const there = await samlPlace({ ...anew, samlAllowIdpInitiated: true });
    const nameId = acmeAddress();
    const walked = (authnInstant: Date) => walkSaml(world.browser(), there, { nameId, authnInstant });
    expect(failureIn(await walked(ago(hours(8))))).toEqual([403, 'sso.reauthentication_missing']);
    expect(codeIn(await walked(world.now()))).toBeTruthy();

    const unasked = async (authnInstant: Date) => {
      const path = `/sso/saml/${there.connection.id}`;
      const basics = { issuer: saml.issuer, acsUrl: `${baseUrl}${path}/acs`, audience: `${baseUrl}${path}/metadata` };
      const parts = partsOf({ ...basics, inResponseTo: null, now: world.now() }, { nameId, authnInstant });
      const form = { SAMLResponse: posted(signedResponse(parts, saml.key)), RelayState: there.client.clientId };
      const browser = world.browser();
      const answered = await browser.post(`${path}/acs`, form, { origin: 'https://idp.acme.example' });
      return browser.get(String(answered.headers.location).replace(baseUrl, ''));
    };
    expect(failureIn(await unasked(ago(hours(8))))).toEqual([403, 'sso.reauthentication_missing']);
    expect(String((await unasked(world.now())).headers.location)).toContain('/oauth/account');
  });
});

describe('a session that a provider began', () => {
  const passwordPage = ({ client }: SsoPlace) => accountUrl(client, {}, '/password');
  /** A request without max_age, as anybody at the browser can start it. */
  const silentlyTo = ({ client, connection }: SsoPlace) => {
    const query = { client_id: client.clientId, destination: 'account/password', connection_id: connection.id };
    return `/oauth/sso?${new URLSearchParams(query)}`;
  };
  /** Opens a page of the account, up to where it is shown or the provider is asked. */
  async function open(browser: Browser, there: SsoPlace) {
    let page = await browser.get(passwordPage(there));
    while (page.statusCode === 303 && locationOf(page).origin === baseUrl)
      page = await browser.get(String(page.headers.location).replace(baseUrl, ''));
    return page.statusCode === 303 ? { asked: locationOf(page) } : { page };
  }

  test('at an unattended browser sets no password: it is as old as the provider says', async () => {
    const there = await place();
    const email = acmeAddress();
    const browser = world.browser();
    const done = await answer(browser, await awayFrom(browser, silentlyTo(there)), { at: ago(hours(8)), email });
    expect(String(done.headers.location)).toContain('/oauth/account/password');
    const { asked } = await open(browser, there);
    if (!asked) throw new Error('the page is shown');
    expect(Number(asked.searchParams.get('max_age'))).toBeLessThan(600);
    const stale = await answer(browser, asked, { at: ago(hours(8)), email });
    expect(failureIn(stale)).toEqual([403, 'sso.reauthentication_missing']);
    const again = await open(browser, there);
    await answer(browser, again.asked as URL, { at: world.now(), email });
    expect((await open(browser, there)).page?.statusCode).toBe(200);
  });

  test('by SAML, long ago at the provider, is not recent either', async () => {
    const there = await samlPlace();
    const browser = world.browser();
    const nameId = acmeAddress();
    expect(codeIn(await walkSaml(browser, there, { nameId, authnInstant: ago(hours(8)) }))).toBeTruthy();
    expect((await open(browser, there)).page).toBeUndefined();
    expect(codeIn(await walkSaml(browser, there, { nameId }, { prompt: 'login' }))).toBeTruthy();
    expect((await open(browser, there)).page?.statusCode).toBe(200);
  });

  test('gives clients the provider’s time, from the first token on', async () => {
    const there = await place();
    const email = acmeAddress();
    const browser = world.browser();
    const at = ago(hours(8));
    const first = await claimsOf(there.client, await walk(browser, there, { at, email }));
    expect(first.claims.auth_time).toBe(epoch(at));
    const { access_token: refreshed } = await first.refreshed();
    expect(decodeJwt(refreshed).auth_time).toBe(epoch(at));
    const url = authorizeUrl(there.client, { organization: there.organization.slug, code_challenge: pkce.challenge });
    const resumed = await claimsOf(there.client, await browser.get(url));
    expect(resumed.claims.auth_time).toBe(epoch(at));
    const aged = await awayFrom(browser, `${url}&max_age=300`); // no sign-in within the last five minutes
    expect(aged.origin).toBe(idp.issuer);
    expect(
      (await claimsOf(there.client, await answer(browser, aged, { at: world.now(), email }))).claims,
    ).toMatchObject({ auth_time: epoch(world.now()) });
  });

  test('does not begin before its provider’s clock, which may be ahead', async () => {
    const there = await place();
    const done = await walk(world.browser(), there, { at: ago(-minutes(3)), email: acmeAddress() });
    expect((await claimsOf(there.client, done)).claims.auth_time).toBe(epoch(world.now()));
  });

  test('lasts from when its person arrived, and not from when the provider authenticated them', async () => {
    const there = await place();
    await setPolicy(world, there.organization, { session_ttl_seconds: 3600 });
    const email = acmeAddress();
    const browser = world.browser();
    const done = await walk(browser, there, { at: ago(hours(8)), email });
    const { refreshed } = await claimsOf(there.client, done);
    const url = authorizeUrl(there.client, { organization: there.organization.slug, code_challenge: pkce.challenge });
    world.wait(minutes(50));
    expect((await refreshed()).access_token).toBeTruthy();
    expect(codeIn(await browser.get(url))).toBeTruthy();
    world.wait(minutes(11));
    expect((await browser.get(url)).headers.location).toContain(idp.issuer);
  });

  test('begins by the provider’s own password, whenever the one here was changed', async () => {
    const there = await place({}, { mfaPolicy: 'optional' });
    const email = acmeAddress();
    const ana = await there.environment.newIdentity({ email, passwordChangedAt: ago(hours(1)) });
    const by = { at: ago(hours(8)), email, claims: { amr: ['pwd'] } };
    expect((await claimsOf(there.client, await walk(world.browser(), there, by))).claims.sub).toBe(ana.id);

    const totp = await enrollTotp(world, there.environment, ana);
    const browser = world.browser();
    const challenge = await walk(browser, there, by);
    expect(challenge.body).toContain('action="/oauth/mfa-challenge"');
    const { claims } = await claimsOf(there.client, await browser.submit(challenge, { code: totp.code() }));
    expect(claims).toMatchObject({ auth_time: epoch(by.at), acr: 'urn:gatehouse:aal2' });
    expect((await open(browser, there)).page).toBeUndefined(); // a second factor makes the first one no newer
  });

  test('becomes a stronger one without becoming newer', async () => {
    const there = await place({}, { mfaPolicy: 'off' });
    await setPolicy(world, there.organization, { session_ttl_seconds: 3600 });
    const email = acmeAddress();
    const browser = world.browser();
    const at = ago(hours(8));
    const { claims } = await claimsOf(there.client, await walk(browser, there, { at, email }));
    const totp = await enrollTotp(world, there.environment, { id: String(claims.sub), email });
    const url = authorizeUrl(there.client, { code_challenge: pkce.challenge, acr_values: 'urn:gatehouse:aal2' });
    const stronger = await browser.submit(await browser.get(url), { code: totp.code() });
    expect((await claimsOf(there.client, stronger)).claims).toMatchObject({
      auth_time: epoch(at),
      acr: 'urn:gatehouse:aal2',
    });
    world.wait(minutes(50));
    expect(codeIn(await browser.get(url))).toBeTruthy();
  });

  test('of a provider without a time is an old one, and does not lead in circles', async () => {
    const there = await place();
    const email = acmeAddress();
    const browser = world.browser();
    const { claims } = await claimsOf(there.client, await walk(browser, there, { at: null, email }));
    expect(claims.auth_time).toBe(1);
    const { asked } = await open(browser, there);
    const page = await answer(browser, asked as URL, { at: null, email });
    expect(failureIn(page)).toEqual([403, 'sso.auth_time_missing']);
    const url = authorizeUrl(there.client, { organization: there.organization.slug, code_challenge: pkce.challenge });
    expect(codeIn(await browser.get(url))).toBeTruthy(); // they are signed in to the application all the same
  });

  test('that its provider found new enough is new enough here, by a clock that is a minute behind', async () => {
    const there = await place();
    const email = acmeAddress();
    const browser = world.browser();
    await walk(browser, there, { at: ago(hours(8)), email });
    const { asked } = await open(browser, there);
    const most = seconds(Number(asked?.searchParams.get('max_age')));
    await answer(browser, asked as URL, { at: ago(most + seconds(58)), email });
    world.wait(seconds(30));
    expect((await open(browser, there)).page?.statusCode).toBe(200);
  });
});

describe('a provider’s end of the session (SAML 2.0 Core §2.7.2, SessionNotOnOrAfter)', () => {
  const inAnHour = () => new Date(world.now().getTime() + hours(1));
  const silently = ({ client, organization }: SsoPlace) =>
    authorizeUrl(client, { organization: organization.slug, code_challenge: pkce.challenge, prompt: 'none' });
  const isSignedIn = async (browser: Browser, at: SsoPlace) =>
    !locationOf(await browser.get(silently(at))).searchParams.has('error');

  test('limits the session here, and what an application got by it', async () => {
    const there = await samlPlace();
    const [bounded, unbounded] = [world.browser(), world.browser()];
    const ofBounded = await claimsOf(there.client, await walkSaml(bounded, there, { sessionNotOnOrAfter: inAnHour() }));
    const ofOther = await claimsOf(there.client, await walkSaml(unbounded, there, {}));
    world.wait(minutes(60)); // and another one, as far as clocks may be off
    expect(await isSignedIn(bounded, there)).toBe(true);
    expect(await ofBounded.refreshed()).toHaveProperty('access_token');
    world.wait(minutes(1));
    expect(await isSignedIn(bounded, there)).toBe(false);
    expect(await isSignedIn(unbounded, there)).toBe(true);
    expect(await ofOther.refreshed()).toHaveProperty('access_token');
  });

  test('may mean "for ever" by the last time that it can write', async () => {
    const there = await samlPlace();
    const page = await walkSaml(world.browser(), there, { sessionNotOnOrAfter: new Date('9999-12-31T23:59:59.999Z') });
    expect(await (await claimsOf(there.client, page)).refreshed()).toHaveProperty('access_token');
  });

  test('refuses a later refresh', async () => {
    const there = await samlPlace();
    const page = await walkSaml(world.browser(), there, { sessionNotOnOrAfter: inAnHour() });
    const { refreshed } = await claimsOf(there.client, page);
    world.wait(minutes(61));
    expect(await refreshed()).toMatchObject({ error: 'invalid_grant' });
  });

  test('is set again by the next sign-in', async () => {
    const there = await samlPlace();
    const nameId = acmeAddress();
    const browser = world.browser();
    await walkSaml(browser, there, { nameId, sessionNotOnOrAfter: inAnHour() });
    world.wait(minutes(30));
    await walkSaml(browser, there, { nameId, sessionNotOnOrAfter: inAnHour() }, { prompt: 'login' });
    world.wait(minutes(45));
    expect(await isSignedIn(browser, there)).toBe(true);
    await walkSaml(browser, there, { nameId }, { prompt: 'login' });
    world.wait(minutes(90));
    expect(await isSignedIn(browser, there)).toBe(true);
  });

  test('may pass before the second factor is shown: no session begins, and no code is issued', async () => {
    const there = await samlPlace({}, { mfaPolicy: 'optional' });
    const nameId = acmeAddress();
    const ana = await there.environment.newIdentity({ email: nameId });
    const totp = await enrollTotp(world, there.environment, ana);
    const browser = world.browser();
    const challenge = await walkSaml(browser, there, { nameId, sessionNotOnOrAfter: ago(-minutes(2)) });
    world.wait(minutes(4));
    const answered = await browser.submit(challenge, { code: totp.code() });
    expect([answered.statusCode, answered.headers.location]).toEqual([400, undefined]);
    expect(answered.body).toContain('href="/oauth/authorize?');
  });

  test('may pass before the code is redeemed, which is then refused', async () => {
    const there = await samlPlace();
    const page = await walkSaml(world.browser(), there, { sessionNotOnOrAfter: ago(seconds(30)) }); // and a minute for clocks
    world.wait(seconds(40));
    const shown = { code: codeIn(page), verifier: pkce.verifier, redirect: redirectUri };
    expect((await redeem(world.app, there.client, shown)).json()).toMatchObject({ error: 'invalid_grant' });
  });
});
