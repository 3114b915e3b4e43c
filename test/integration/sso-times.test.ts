import type { SsoConnection } from '../../entities/sso-connection.js';
import { hours, minutes, seconds } from '../../src/platform/clock.js';
import { loopback } from '../../src/platform/outbound/addresses.js';
import { type BentProvider, startBentProvider } from '../support/bent-provider.js';
import { codeIn } from '../support/mfa.js';
import { authorizeUrl, type Browser, locationOf, newProvider, type TestProvider } from '../support/oauth.js';
import { partsOf, posted, type ResponseParts, signedResponse } from '../support/saml-provider.js';
import { answerTo, giveSigningKey, newSamlProvider, type SamlProvider } from '../support/saml-sign-in.js';
import { acmeAddress, failureIn, newSsoPlace, type SsoPlace } from '../support/sso.js';

/** When somebody has proved who they are is what their provider says of it, and not when they came. */

const baseUrl = 'http://localhost:3000';
let world: TestProvider;
let idp: BentProvider;
let saml: SamlProvider;
beforeAll(async () => {
  [idp, saml] = await Promise.all([startBentProvider(), newSamlProvider()]);
  world = await newProvider({ baseUrl, allowedNetworks: loopback, startsAt: new Date() });
});
afterAll(async () => {
  await world.close();
  await idp.stop();
});

/** An Environment with an organization whose OpenID provider says what a test has it say. */
const place = (overrides: Partial<SsoConnection> = {}) =>
  newSsoPlace(world, { issuer: idp.issuer, clientId: 'client', clientSecret: 'a secret' }, overrides);
const samlPlace = async (overrides: Partial<SsoConnection> = {}) => {
  const made = await newSsoPlace(world, null, { ...saml.fields, ...overrides });
  await giveSigningKey(world, made.connection);
  return made;
};

const epoch = (at: Date) => Math.floor(at.getTime() / 1000);
const ago = (ms: number) => new Date(world.now().getTime() - ms);

interface Answering {
  /** What the provider says of when it signed them in; null: nothing. */
  at: Date | null;
  email: string;
  claims?: object;
}

/** Has the provider answer the request that a browser was sent away with. */
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

/** The whole way from the client; the answer of `/sso/complete`. */
async function walk(
  browser: Browser,
  { client, organization }: SsoPlace,
  answering: Answering,
  more: Record<string, string> = {},
) {
  const url = authorizeUrl(client, { organization: organization.slug, ...more });
  return answer(browser, await awayFrom(browser, url), answering);
}

/** The same by SAML. */
async function walkSaml(
  browser: Browser,
  { client, organization }: SsoPlace,
  changes: Partial<ResponseParts>,
  more: Record<string, string> = {},
) {
  const url = authorizeUrl(client, { organization: organization.slug, ...more });
  const { path, form } = answerTo(String(await awayFrom(browser, url)), saml, world.now(), changes);
  const answered = await world.browser().post(path, form, { origin: 'https://idp.acme.example' });
  return browser.get(String(answered.headers.location).replace(baseUrl, ''));
}

describe('an age that is asked for', () => {
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

  test('refuses an older sign-in, and one of which the provider does not say when it was', async () => {
    const there = await place();
    const email = acmeAddress();
    const walked = (at: Date | null) => walk(world.browser(), there, { at, email }, { max_age: '300' });
    expect(failureIn(await walked(ago(minutes(7))))).toEqual([403, 'sso.reauthentication_missing']);
    expect(failureIn(await walked(null))).toEqual([403, 'sso.auth_time_missing']);
    expect(codeIn(await walked(ago(minutes(5))))).toBeTruthy();
    const [row] = await world.query('select consecutive_failures from sso_connections where id = $1', [
      there.connection.id,
    ]);
    expect(row).toEqual({ consecutive_failures: 0 }); // it is the person who can have asked for it
  });
});

describe('a connection with force_authn', () => {
  const anew = { forceAuthn: true };
  /** As somebody does who takes `prompt=login` out of the address, and has a session of hours ago at the provider. */
  const silently = { at: new Date(Date.now() - hours(8)) };

  test('asks for a new sign-in and its time, and takes no other', async () => {
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

  test('nor does a client that asks for one by prompt=login', async () => {
    const there = await place();
    const email = acmeAddress();
    const login = { prompt: 'login' };
    expect(failureIn(await walk(world.browser(), there, { at: null, email }, login))).toEqual([
      403,
      'sso.auth_time_missing',
    ]);
    expect(failureIn(await walk(world.browser(), there, { ...silently, email }, login))).toEqual([
      403,
      'sso.reauthentication_missing',
    ]);
    expect(codeIn(await walk(world.browser(), there, { ...silently, email }))).toBeTruthy(); // where nobody asks
  });

  test('by SAML takes no other either, be it asked for or not', async () => {
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
