import type { LightMyRequestResponse } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { apiOf } from '../../support/identity-auth.js';
import { codeIn } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, type TestClient, type TestEnvironment } from '../../support/oauth/environment.js';
import { authorizeUrl, codeFor } from '../../support/oauth/sign-in.js';
import { newOrganization, setPolicy } from '../../support/organizations.js';
import { askedIn, giveSigningKey, newSamlProvider } from '../../support/saml/sign-in.js';
import {
  failureIn,
  newOidcConnection,
  newSsoPlace,
  newVerifiedDomain,
  returnFromProvider,
  startSsoWorld,
} from '../../support/sso.js';

/** How the sign-in page leads to an identity provider, and the sign-in there as another person. */

const baseUrl = 'http://localhost:3000';
const { idp, world, stop, nextConnectionId, newPerson } = await startSsoWorld(40);
afterAll(() => stop());

const nothing = { passwordLoginEnabled: false, emailOtpLoginEnabled: false, passkeyLoginEnabled: false };
/** Creates an Environment with an organization whose provider signs in people of acme.example. */
const place = (settings: Partial<EnvironmentSettings> = {}) =>
  newSsoPlace(world, idp, { id: nextConnectionId() }, settings);
const parametersOf = (client: TestClient, more = {}) =>
  Object.fromEntries(new URL(authorizeUrl(client, more), baseUrl).searchParams);
const queryOf = (client: TestClient, more = {}) => new URLSearchParams(parametersOf(client, more));
const setDefault = async ({ environmentId }: TestEnvironment, { id }: SsoConnection) => {
  await world.db.transaction('system', (tx) =>
    tx.update(EnvironmentSettings, { environmentId }, { defaultSsoConnectionId: id }),
  );
  world.wait(2000); // a process caches a client for at most a second
};
/** Returns where the page after a form leads, since the form itself may not redirect there. */
const awayIn = ({ body, headers }: LightMyRequestResponse) => {
  expect(headers.location).toBeUndefined();
  return new URL(/http-equiv="refresh" content="0;url=([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '');
};
const comeBack = (browser: Browser, away: URL, login: string) => returnFromProvider(browser, away.href, login);
const asksForProvider = (page: LightMyRequestResponse) => ({
  status: page.statusCode,
  form: page.body.includes('<form method="post" action="/oauth/sso">'),
  password: page.body.includes('type="password"'),
});
const asked = { status: 200, form: true, password: false };

describe('where identity providers are the only way to sign in', () => {
  test('the page asks for the address, and the address leads to its provider', async () => {
    const { client } = await place(nothing);
    const { login, email } = newPerson();
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client));
    expect(asksForProvider(page)).toEqual(asked);
    expect(page.body).toMatch(/<label for="email">Email<\/label>\s*<input id="email"[^>]* autocomplete="username"/);
    expect(page.body).not.toContain('navigator.credentials');
    expect(codeIn(await comeBack(browser, awayIn(await browser.submit(page, { email })), login))).toBeTruthy();
  });

  test('an address without a provider is told so, whether or not it is known', async () => {
    const { environment, client } = await place(nothing);
    const known = await environment.newIdentity();
    const url = authorizeUrl(client);
    const shown = async (email: string, headers = {}) => {
      const browser = world.browser();
      const page = await browser.submit(await browser.get(url), { email }, headers);
      return {
        ...asksForProvider(page),
        body: page.body.replaceAll(`value="${email}"`, 'value="typed"').replace(/nonce="[^"]+"/g, ''),
      };
    };
    const unknown = await shown('nobody@nowhere.example');
    expect(unknown).toMatchObject(asked);
    expect(unknown.body).toContain('Sign-in through an organization is not set up for this address. Check it');
    expect(unknown.body).toContain('aria-invalid="true" aria-describedby="message"');
    expect(unknown.body).toContain('value="typed"');
    expect(await shown(known.email)).toEqual(unknown);
    expect((await shown('')).body).toContain('Enter your email address.');
    const german = await shown('nobody@nowhere.example', { 'accept-language': 'de' });
    expect(german.body).toContain(
      'Für diese Adresse ist keine Anmeldung über eine Organisation eingerichtet. Prüfen Sie',
    );
  });

  test('every page without a way of its own shows the field', async () => {
    const { client, organization } = await place({ ...nothing, allowSelfSignup: true });
    const query = queryOf(client);
    const browser = world.browser();
    const form = { ...parametersOf(client), email: 'ana@nowhere.example' };
    const pages = [
      await browser.get(authorizeUrl(client, { method: 'code' })),
      await browser.get(authorizeUrl(client, { method: 'password', organization: organization.id })),
      await browser.get(`/oauth/register?${query}`),
      await browser.post('/oauth/register', { ...form, password: 'correct horse battery' }),
      await browser.get(`/oauth/password/forgot?${query}`),
      await browser.post('/oauth/password/forgot', form),
      await browser.post('/oauth/login/email-otp/start', form),
      await browser.post('/oauth/login/email-otp/verify', { ...form, code: '123456', login_token: 'x' }),
      await browser.post('/oauth/authorize', { ...form, password: 'correct horse battery' }),
    ];
    expect(pages.map(asksForProvider)).toEqual(pages.map(() => asked));
  });

  test('a script gets where to send the address', async () => {
    const { client } = await place(nothing);
    const inJson = { accept: 'application/json' };
    const told = await world.browser().get(authorizeUrl(client), inJson);
    expect([told.statusCode, told.json()]).toEqual([
      401,
      {
        error: 'login_required',
        error_description: 'send email with the same parameters to /oauth/sso',
        methods: [],
      },
    ]);
    const form = { ...parametersOf(client), email: 'ana@nowhere.example' };
    const wrong = await world.browser().post('/oauth/sso', form, inJson);
    expect([wrong.statusCode, wrong.json().reason]).toEqual([401, 'sign_in.error.no_provider']);
  });

  test('the page has the field beside passkeys too, and without a provider only the button', async () => {
    const { client } = await place({ ...nothing, passkeyLoginEnabled: true });
    const { login, email } = newPerson();
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client));
    expect(asksForProvider(page)).toEqual(asked);
    expect(page.body).toMatch(/data-webauthn="get"[^>]* data-suggest/);
    expect(page.body).toContain('autocomplete="username webauthn"');
    expect(page.body).toContain('data-no-webauthn');
    const wrong = await browser.submit(page, { email: 'ana@nowhere.example' });
    expect(wrong.body).toContain('is not set up for this address. Check it, or sign in another way.');
    expect(codeIn(await comeBack(browser, awayIn(await browser.submit(page, { email })), login))).toBeTruthy();

    const alone = await world.newEnvironment({ ...nothing, passkeyLoginEnabled: true });
    const button = await browser.get(authorizeUrl(await alone.newClient()));
    expect([button.statusCode, button.body.includes('id="email"')]).toEqual([200, false]);
  });

  test('an organization that requires SSO and has no own connection uses that of the address', async () => {
    const { environment, client, organization, connection } = await place(nothing);
    const other = await newOrganization(world, environment, { policy: { require_sso: true } });
    await newVerifiedDomain(world, environment, 'own.example');
    const own = await newOidcConnection(world, environment, idp, { id: nextConnectionId() });
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client, { organization: other.id }));
    expect(asksForProvider(page)).toEqual(asked);
    const away = awayIn(await browser.submit(page, { email: 'mia@own.example' }));
    expect(away.searchParams.get('redirect_uri')).toContain(own.id);
    // An organization with its own connection uses that, and if it is disabled, no address helps.
    await setPolicy(world, organization, { require_sso: true });
    await world.query(`update sso_connections set status = 'disabled' where id = $1`, [connection.id]);
    const barred = await browser.get(authorizeUrl(client, { organization: organization.id }));
    expect(asksForProvider(barred)).toEqual({ status: 403, form: false, password: false });
  });

  test('a disabled provider is not replaced by the default one, which would not be enough', async () => {
    const { environment, client, organization, connection } = await place(nothing);
    await setDefault(environment, await newOidcConnection(world, environment, idp, { id: nextConnectionId() }));
    await setPolicy(world, organization, { require_sso: true });
    await world.query(`update sso_connections set status = 'disabled' where id = $1`, [connection.id]);
    const barred = await world.browser().get(authorizeUrl(client, { organization: organization.id }));
    expect(barred.statusCode).toBe(403);
    expect(barred.body).not.toContain('connection_id=');
    expect(barred.body).toContain('none can be used here');
  });

  test('after the default connection has refused a person, "another way" leads to the page that asks for an address', async () => {
    const { environment, client, connection } = await place(nothing);
    const own = await newOidcConnection(world, environment, idp, { id: nextConnectionId() });
    await setDefault(environment, own);
    const browser = world.browser();
    const failed = await comeBack(browser, locationOf(await browser.get(authorizeUrl(client))), 'nobody there');
    expect(failureIn(failed)).toEqual([403, 'sso.provider_error']);
    const url = /<a class="button quiet" href="([^"]+)"/.exec(failed.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const page = await browser.get(url);
    expect(asksForProvider(page)).toEqual(asked);
    const away = awayIn(await browser.submit(page, { email: newPerson().email }));
    expect(away.searchParams.get('redirect_uri')).toContain(connection.id);
  });
});

test('beside a password, an address alone leads to its provider; nobody else may omit the password', async () => {
  const { client } = await place();
  const { login, email } = newPerson();
  const browser = world.browser();
  const page = await browser.get(authorizeUrl(client));
  expect(page.body).toMatch(/<input id="password"(?![^>]* required)[^>]*>/);
  const missing = await browser.submit(page, { email: 'ana@nowhere.example', password: '' });
  expect([missing.statusCode, missing.body.includes('Enter your password.')]).toEqual([200, true]);
  expect(
    codeIn(await comeBack(browser, awayIn(await browser.submit(page, { email, password: '' })), login)),
  ).toBeTruthy();
  const without = await (await world.newEnvironment()).newClient();
  expect((await browser.get(authorizeUrl(without))).body).toMatch(/<input id="password"[^>]* required/);
});

describe('an organization that requires SSO accepts a connection of the Environment that is not the default', () => {
  /** Creates a person for whose address the Account's connection is responsible, with a password that is not enough. */
  async function held() {
    const { environment, client } = await place();
    const email = `mia@${uuidv7()}.example`;
    idp.people.set(email, { email, email_verified: true });
    await newVerifiedDomain(world, environment, email.slice(email.indexOf('@') + 1));
    const own = await newOidcConnection(world, environment, idp, { id: nextConnectionId() });
    const mia = await environment.newIdentity({ email });
    const organization = await newOrganization(world, environment, { policy: { require_sso: true }, members: [mia] });
    return { environment, client, email, own, mia, organization };
  }
  const inJson = { accept: 'application/json' };

  test('a person after the first factor is led to it, and let in by it', async () => {
    const { client, email, own, mia } = await held();
    const browser = world.browser();
    const page = await browser.submit(await browser.get(authorizeUrl(client)), { email, password });
    expect(page.statusCode).toBe(403);
    const [, link = ''] =
      /<a class="button" href="([^"]+)">With your organization’s identity provider</.exec(page.body) ?? [];
    const away = locationOf(await browser.get(link.replaceAll('&amp;', '&')));
    expect(away.searchParams.get('redirect_uri')).toContain(own.id);
    expect(codeIn(await comeBack(browser, away, email))).toBeTruthy();
    const told = await world.browser().post(authorizeUrl(client), { email, password }, inJson);
    expect(told.json()).toMatchObject({
      error: 'sso_required',
      sso_connections: [{ id: own.id, name: null, url: expect.stringContaining(own.id) }],
    });
    expect((await apiOf(world).login(client, mia)).json().error).toMatchObject({
      code: 'sso_required',
      details: [{ field: 'connection_id', code: own.id, message: expect.stringContaining('the environment') }],
    });
  });

  test('of several the one that knows the person is used, then the default, then the oldest', async () => {
    const { environment, client, email, own } = await held();
    const offered = async () => {
      const told = await world.browser().post(authorizeUrl(client), { email, password }, inJson);
      return told.json().sso_connections.map(({ id }: { id: string }) => id);
    };
    const later = (ms: number) => ({ id: nextConnectionId(), createdAt: new Date(world.now().getTime() + ms) });
    const [second, third] = [
      await newOidcConnection(world, environment, idp, later(1000)),
      await newOidcConnection(world, environment, idp, later(2000)),
    ];
    expect(await offered()).toEqual([own.id]);
    await setDefault(environment, second);
    expect(await offered()).toEqual([second.id]);
    const browser = world.browser();
    const asked = `/oauth/sso?${queryOf(client, { connection_id: third.id })}`;
    expect(codeIn(await comeBack(browser, locationOf(await browser.get(asked)), email))).toBeTruthy();
    expect(await offered()).toEqual([third.id]);
    await world.query(`update sso_connections set status = 'disabled' where id = $1`, [third.id]);
    expect(await offered()).toEqual([second.id]);
  });

  test('a person before the first factor is asked for the address, and may continue to a recovery code', async () => {
    const { client, email, own, organization } = await held();
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client, { organization: organization.id }));
    expect(asksForProvider(page)).toEqual(asked);
    expect(page.body).toContain('With a recovery code of your organization');
    const away = awayIn(await browser.submit(page, { email }));
    expect(away.searchParams.get('redirect_uri')).toContain(own.id);
  });
});

describe('another person than the session’s', () => {
  /** Creates an Environment whose default connection has signed a person in. */
  async function signedIn(settings: Partial<EnvironmentSettings> = nothing) {
    const { environment, client } = await place(settings);
    const domain = `${uuidv7()}.example`;
    await newVerifiedDomain(world, environment, domain);
    const connection = await newOidcConnection(world, environment, idp, { id: nextConnectionId() });
    await setDefault(environment, connection);
    const [ana, bob] = [`ana@${domain}`, `bob@${domain}`];
    for (const email of [ana, bob]) idp.people.set(email, { email, email_verified: true });
    const browser = world.browser();
    const away = await browser.get(authorizeUrl(client));
    expect(codeIn(await comeBack(browser, locationOf(away), ana))).toBeTruthy();
    return { environment, client, connection, browser, ana, bob };
  }
  const whoIsIn = async ({ environmentId }: TestEnvironment) => {
    const rows = await world.query<{ email: string }>(
      `select i.email from sessions s join identities i on i.id = s.identity_id
       where s.environment_id = $1 and s.revoked_at is null`,
      [environmentId],
    );
    return rows.map(({ email }) => email);
  };

  test.each([
    ['prompt=select_account', nothing, { prompt: 'select_account' }],
    ['a click that the Environment requires', { ...nothing, ssoRequireConfirmation: true }, {}],
    ['passkeys as another method', { ...nothing, passkeyLoginEnabled: true }, { prompt: 'select_account' }],
  ])('goes to the default provider, which lets them choose: %s', async (_, settings, more) => {
    const { environment, client, browser, bob } = await signedIn(settings);
    const choice = await browser.get(authorizeUrl(client, more));
    expect(choice.body).toContain('Choose an account');
    const away = awayIn(await browser.submit(choice, { choice: 'other' }));
    expect(away.searchParams.get('prompt')).toBe('login'); // the only value that this provider knows
    expect(codeIn(await comeBack(browser, away, bob))).toBeTruthy();
    expect(await whoIsIn(environment)).toEqual([bob]);
  });

  test('does so in JSON as well; and a hint of the session’s own account is ignored', async () => {
    const { client, connection, browser, ana, bob } = await signedIn();
    const chosen = async (hint: string) => {
      const form = { ...parametersOf(client, { prompt: 'select_account', login_hint: hint }), choice: 'other' };
      const answer = await browser.post('/oauth/authorize', form, { accept: 'application/json' });
      return new URL(answer.json().redirect_to).searchParams;
    };
    const own = await chosen(ana.toUpperCase());
    expect([own.get('login_hint'), own.get('redirect_uri')]).toEqual([null, expect.stringContaining(connection.id)]);
    expect((await chosen(bob)).get('login_hint')).toBe(bob);
  });

  test('is authenticated again by SAML', async () => {
    const saml = await newSamlProvider();
    const { environment, client, connection } = await newSsoPlace(world, null, {
      ...saml.fields,
      scope: 'identity',
      organizationId: null,
    });
    await giveSigningKey(world, connection);
    const ana = await environment.newIdentity();
    const browser = world.browser();
    await codeFor(browser, client, ana.email, { method: 'password' });
    await setDefault(environment, connection);
    const url = authorizeUrl(client, { prompt: 'select_account' });
    const away = awayIn(await browser.submit(await browser.get(url), { choice: 'other' }));
    expect(askedIn(away.href).xml).toContain('ForceAuthn="true"');
    const first = locationOf(await world.browser().get(authorizeUrl(client)));
    expect(askedIn(first.href).xml).not.toContain('ForceAuthn="true"');
  });

  test('who is a member is not sent to the organization’s provider, which allows another person', async () => {
    const { environment, client, organization, connection } = await place();
    const stranger = await environment.newIdentity();
    const { login } = newPerson();
    const browser = world.browser();
    await codeFor(browser, client, stranger.email);
    const away = await browser.get(authorizeUrl(client, { organization: organization.id }));
    expect([away.statusCode, locationOf(away).searchParams.get('prompt')]).toEqual([303, 'login']);
    expect(locationOf(away).searchParams.get('redirect_uri')).toContain(connection.id);
    const question = await comeBack(browser, locationOf(away), login);
    expect(question.body).toContain(`Stay signed in as ${stranger.email}`);
    expect(codeIn(await browser.submit(question, {}))).toBeTruthy();
    // Without a provider the page shows the reason, as usual.
    const other = await newOrganization(world, environment);
    const page = await browser.get(authorizeUrl(client, { organization: other.id }));
    expect(page.body).toContain('You are signed in with an account that does not belong to this organization.');
  });

  test('a person whom the provider names without asking, and who may not sign in here, can choose another account there', async () => {
    const { client, environment, connection, bob } = await signedIn();
    idp.people.set('eve@elsewhere.example', { email: 'eve@elsewhere.example', email_verified: true });
    const hinted = authorizeUrl(client, { login_hint: 'eve@elsewhere.example', prompt: 'consent' });
    const browser = world.browser();
    const away = locationOf(await browser.get(hinted));
    expect(away.searchParams.get('prompt')).toBeNull();
    const failed = await comeBack(browser, away, 'eve@elsewhere.example');
    expect(failureIn(failed)).toEqual([403, 'sso.domain_not_verified']);
    const another = /<a class="button" href="([^"]+)">Use another account</.exec(failed.body)?.[1] ?? '';
    const again = locationOf(await browser.get(another.replaceAll('&amp;', '&')));
    expect(again.searchParams.get('redirect_uri')).toContain(connection.id);
    expect([again.searchParams.get('prompt'), again.searchParams.get('login_hint')]).toEqual(['login', null]);
    expect(codeIn(await comeBack(browser, again, bob))).toBeTruthy();
    expect(await whoIsIn(environment)).toContain(bob);
  });

  test('who requested the page gets it', async () => {
    const { client, browser } = await signedIn();
    const url = authorizeUrl(client, { prompt: 'select_account', method: 'password' });
    const page = await browser.submit(await browser.get(url), { choice: 'other' });
    expect(asksForProvider(page)).toEqual(asked);
  });

  test('whose session has ended is not led to the provider by the form itself', async () => {
    const { client, browser } = await signedIn();
    const choice = await browser.get(authorizeUrl(client, { prompt: 'select_account' }));
    await world.query('update sessions set revoked_at = now()');
    expect(awayIn(await browser.submit(choice, { choice: 'continue' })).origin).toBe(idp.issuer);
  });
});

test('who came by a page although there is a default provider is led back to that page, from wherever', async () => {
  const { environment, client } = await place();
  await setDefault(environment, await newOidcConnection(world, environment, idp, { id: nextConnectionId() }));
  const ana = await environment.newIdentity();
  const browser = world.browser();
  expect(locationOf(await browser.get(authorizeUrl(client))).origin).not.toBe(baseUrl);
  const page = await browser.get(authorizeUrl(client, { method: 'password' }));
  const linkIn = ({ body }: LightMyRequestResponse, path: string) =>
    (new RegExp(`href="(${path}[^"]*)"`).exec(body)?.[1] ?? '').replaceAll('&amp;', '&');
  const forgot = await browser.get(linkIn(page, '/oauth/password/forgot'));
  const back = linkIn(forgot, '/oauth/authorize');
  expect(new URLSearchParams(back.split('?')[1]).get('method')).toBe('password');
  expect((await browser.get(back)).body).toContain('name="password"');
  expect((await browser.submit(forgot, { email: ana.email })).statusCode).toBe(200);
  const [mail] = await world.query<{ parameters: Record<string, string> }>(
    'select parameters from identity_links where identity_id = $1',
    [ana.id],
  );
  expect(mail?.parameters.method).toBe('password');
});
