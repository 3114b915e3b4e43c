import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose';
import type { EnvironmentType } from '../../../entities/environment.js';
import type { OAuthClient } from '../../../entities/oauth-client.js';
import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import { follow } from '../../support/account.js';
import { locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, codeFor } from '../../support/oauth/sign-in.js';
import { tokensFor } from '../../support/oauth/tokens.js';
import { newOther } from '../../support/other-environment.js';

const world = await newProvider();
const environment = await world.newEnvironment();
const client = await environment.newClient();
const ana = await environment.newIdentity();
afterAll(() => world.close());

const signedIn = async () => {
  const browser = world.browser();
  await codeFor(browser, client, ana.email);
  return browser;
};
const parametersOf = (response: Parameters<typeof locationOf>[0]) =>
  Object.fromEntries(locationOf(response).searchParams);

describe('the page', () => {
  test('is served with strict headers, in the requested language, and names the client', async () => {
    const page = await world.browser().get(authorizeUrl(client, { ui_locales: 'de', login_hint: 'ana@example.com' }));
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-security-policy']).toContain("form-action 'self' https:;");
    expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'content-language': 'de' });
    expect(page.headers['referrer-policy']).toBe('same-origin');
    expect(page.body).toContain('Shop web');
    expect(page.body).toContain('value="ana@example.com"');
    expect(page.headers['set-cookie']).toBeUndefined();
  });

  test('explains a client’s invalid request in the design and language of its Environment', async () => {
    const branding = {
      name: 'Nordwind',
      logo_url: null,
      primary_color: '#aa0044',
      support_email: 'help@nordwind.example',
    };
    const own = await world.newEnvironment({ defaultLocale: 'de', branding });
    const french = { 'accept-language': 'fr-FR' };
    const url = authorizeUrl(await own.newClient());
    const wrong = await world.browser().get(url.replace('response_type=code', 'response_type=token'), french);
    expect(wrong.statusCode).toBe(400);
    for (const page of [wrong, await world.browser().get(url, french)]) {
      expect(page.headers['content-language']).toBe('de');
      expect(page.body).toContain('Nordwind');
      expect(page.body).toContain('mailto:help@nordwind.example');
    }
    const foreign = await world
      .browser()
      .post(`/oauth/consent?${url.split('?')[1]}`, {}, { ...french, origin: 'https://evil.example' });
    expect(foreign.statusCode).toBe(403); // before its client is looked up
    expect(foreign.body).not.toContain('Nordwind');
    const unknown = await world.browser().get(url.replace(/client_id=[^&]+/, `client_id=${own.environmentId}`), french);
    expect([unknown.statusCode, unknown.headers['content-language']]).toEqual([400, 'en']);
    expect(unknown.body).not.toContain('Nordwind');
  });

  test('the answer carries code, state and issuer, and keeps the query of the redirect URI', async () => {
    const page = await world.browser().get(authorizeUrl(client, { state: 'a b&c=ü"<>%' }));
    const answer = await world.browser().submit(page, { email: ` ${ana.email.toUpperCase()} `, password });
    expect(answer.statusCode).toBe(303);
    expect(String(answer.headers.location)).toMatch(/^https:\/\/app\.example\.com\/callback\?tenant=1&code=/);
    expect(parametersOf(answer)).toEqual({
      tenant: '1',
      state: 'a b&c=ü"<>%',
      iss: world.baseUrl,
      code: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  test('an unknown address, a missing or wrong password, no membership and inactive get the same answer', async () => {
    const people = await Promise.all([
      environment.newIdentity({ passwordHash: null }),
      environment.newIdentity({ isMember: false }),
      environment.newIdentity({ isActive: false }),
      (await world.newEnvironment()).newIdentity(),
    ]);
    const tries = [
      { email: 'nobody@example.com', password },
      { email: 'nul\u0000@example.com', password },
      { email: `${'a'.repeat(400)}@example.com`, password },
      { email: ana.email, password: 'wrong password' },
      { email: ana.email, password: 'a'.repeat(100_000) },
      ...people.map(({ email }) => ({ email, password })),
    ];
    const bodies = new Set<string>();
    for (const attempt of tries) {
      const browser = world.browser();
      const answer = await browser.submit(
        await browser.get(authorizeUrl(client, { state: 's', code_challenge: 'a'.repeat(43) })),
        attempt,
      );
      expect(answer.statusCode).toBe(200);
      expect(browser.cookies.size).toBe(0);
      const shown = answer.body
        .replace(/nonce="[^"]*"/g, '')
        .replace(/id="email"[^>]*value="[^"]*"/, '')
        .replace(/(?:&amp;)?login_hint=[^"&]*/g, '');
      bodies.add(shown);
    }
    expect(bodies.size).toBe(1);
    expect([...bodies][0]).toContain('do not match');
    expect((await world.events('auth.identity_sign_in_failed')).length).toBe(tries.length);
  });

  test('with the right password an unconfirmed address is reported, and not signed in', async () => {
    const eve = await environment.newIdentity({ emailVerifiedAt: null });
    const browser = world.browser();
    const answer = await browser.submit(await browser.get(authorizeUrl(client)), { email: eve.email, password });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('is not confirmed yet');
    expect(browser.cookies.size).toBe(0);
    const wrong = await browser.submit(await browser.get(authorizeUrl(client)), {
      email: eve.email,
      password: 'wrong',
    });
    expect(wrong.body).toContain('do not match');
  });

  test('missing fields are asked for', async () => {
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client));
    expect((await browser.submit(page, { email: '', password })).body).toContain('Enter your email');
    expect((await browser.submit(page, { email: ana.email, password: '' })).body).toContain('Enter your password');
  });

  test('an Environment without password sign-in does not offer it', async () => {
    const off = await world.newEnvironment({ passwordLoginEnabled: false, passkeyLoginEnabled: false });
    const other = await off.newClient();
    const person = await off.newIdentity();
    const browser = world.browser();
    expect((await browser.get(authorizeUrl(other))).statusCode).toBe(403);
    const form = Object.fromEntries(new URL(authorizeUrl(other), world.baseUrl).searchParams);
    expect((await browser.post('/oauth/authorize', { ...form, email: person.email, password })).statusCode).toBe(403);
  });

  test('an old hash is replaced by a stronger one at sign-in', async () => {
    const { default: argon2 } = await import('argon2');
    const weak = await argon2.hash(password, { type: argon2.argon2id, memoryCost: 8192, timeCost: 2, parallelism: 1 });
    const person = await environment.newIdentity({ passwordHash: weak });
    await codeFor(world.browser(), client, person.email);
    const hash = () =>
      world.query<{ h: string }>('select password_hash as h from identities where id = $1', [person.id]);
    while ((await hash())[0]?.h === weak) await new Promise((done) => setTimeout(done, 20));
    expect((await hash())[0]?.h).toContain('m=19456,t=2,p=1');
    expect(world.faults).toEqual([]);
    await codeFor(world.browser(), client, person.email);
  });
});

describe('malformed requests are 400 pages and never redirects', () => {
  test.each<[string, Record<string, string | undefined>]>([
    ['unknown client', { client_id: 'unknown' }],
    ['a client id with NUL', { client_id: 'a\u0000' }],
    ['no client', { client_id: undefined }],
    ['unregistered redirect URI', { redirect_uri: 'https://evil.example/cb' }],
    ['no redirect URI', { redirect_uri: undefined }],
    ['no response type', { response_type: undefined }],
    ['another response type', { response_type: 'token' }],
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }],
    ['plain PKCE', { code_challenge_method: 'plain' }],
    ['bad challenge', { code_challenge: 'short' }],
    ['bad prompt', { prompt: 'none login' }],
    ['bad max_age', { max_age: 'soon' }],
    ['long state', { state: 'x'.repeat(9000) }],
    ['NUL in nonce', { nonce: '\u0000' }],
    ['an id_token_hint that is no ID token', { id_token_hint: 'nonsense' }],
  ])('%s', async (_name, changes) => {
    const url = authorizeUrl(client, changes);
    const fields = Object.fromEntries(new URL(url, world.baseUrl).searchParams);
    const form = { ...fields, email: ana.email, password };
    for (const answer of [
      await world.browser().get(url),
      await world.browser().post('/oauth/authorize', fields),
      await world.browser().post('/oauth/authorize', form),
    ]) {
      expect(answer.statusCode).toBe(400);
      expect(answer.headers['content-type']).toContain('text/html');
      expect(answer.headers.location).toBeUndefined();
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
  });

  test('a parameter that is given twice, in the query, in the form, or once in each', async () => {
    const url = authorizeUrl(client);
    expect((await world.browser().get(`${url}&state=again`)).statusCode).toBe(400);
    expect((await world.browser().get(`${url}&client_id=${client.clientId}`)).statusCode).toBe(400);
    expect((await world.browser().get(`${url}&unknown=1&unknown=2`)).statusCode).toBe(200);
    expect((await world.browser().post(url, { state: 'again' })).statusCode).toBe(400);
    const body = `${url.split('?')[1]}&email=a&email=b&password=c`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await world.app.inject({ method: 'POST', url: '/oauth/authorize', headers, payload: body });
    expect(answer.statusCode).toBe(400);
  });

  test('a body that is neither a form nor JSON', async () => {
    const post = (payload: string, type: string) =>
      world.app.inject({ method: 'POST', url: '/oauth/authorize', payload, headers: { 'content-type': type } });
    expect((await post('{', 'application/json')).statusCode).toBe(400);
    expect((await post('[]', 'application/json')).statusCode).toBe(400);
    expect((await post('"x"', 'application/json')).statusCode).toBe(400);
    expect((await post('{"client_id":{"a":1}}', 'application/json')).statusCode).toBe(400);
    expect((await post('x', 'text/plain')).statusCode).toBe(415);
    expect((await post('x', 'multipart/form-data; boundary=x')).statusCode).toBe(415);
    expect((await post(`a=${'x'.repeat(1_100_000)}`, 'application/x-www-form-urlencoded')).statusCode).toBe(413);
    expect((await post('%ZZ=%ZZ&client_id=%00', 'application/x-www-form-urlencoded')).statusCode).toBe(400);
    expect((await world.app.inject({ method: 'PUT', url: '/oauth/authorize' })).statusCode).toBe(405);
  });
});

describe('answered by redirect', () => {
  test.each([
    ['request', 'request_not_supported'],
    ['request_uri', 'request_uri_not_supported'],
    ['registration', 'registration_not_supported'],
  ])('%s', async (name, error) => {
    const answer = await world.browser().get(authorizeUrl(client, { [name]: 'x' }));
    expect(answer.statusCode).toBe(303);
    expect(parametersOf(answer)).toMatchObject({ error, state: 'the state', iss: world.baseUrl });
  });

  test('prompt=none without a session', async () => {
    const answer = await world.browser().get(authorizeUrl(client, { prompt: 'none' }));
    expect(parametersOf(answer)).toMatchObject({ error: 'login_required', state: 'the state', iss: world.baseUrl });
    expect(parametersOf(answer)).not.toHaveProperty('code');
  });
});

describe('the hosted session', () => {
  test('gives single sign-on between clients of an Environment, and not in another one', async () => {
    const browser = await signedIn();
    const sibling = await environment.newClient();
    const stranger = await (await world.newEnvironment()).newClient();
    expect((await browser.get(authorizeUrl(sibling))).statusCode).toBe(303);
    expect(parametersOf(await browser.get(authorizeUrl(sibling, { prompt: 'none' })))).toHaveProperty('code');
    expect((await browser.get(authorizeUrl(stranger))).statusCode).toBe(200);
  });

  test('its cookie is opaque, lasts twelve hours and is stored as a hash', async () => {
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client));
    const answer = await browser.submit(page, { email: ana.email, password });
    expect(answer.cookies).toEqual([
      {
        name: 'hosted_session',
        value: expect.stringMatching(/^[\w-]{43}$/),
        path: '/',
        httpOnly: true,
        sameSite: 'Lax',
        maxAge: 43_200,
      },
    ]);
    const rows = JSON.stringify(await world.query('select * from sessions'));
    expect(rows).not.toContain(browser.cookies.get('hosted_session'));
  });

  test('over https the cookie is bound to the host', async () => {
    const secure = await newProvider({ baseUrl: 'https://id.example.com' });
    const tenant = await secure.newEnvironment();
    const person = await tenant.newIdentity();
    const browser = secure.browser();
    await codeFor(browser, await tenant.newClient(), person.email);
    expect([...browser.cookies.keys()]).toEqual(['__Host-hosted_session']);
    await secure.close();
  });

  test('has a new value after every sign-in, and one cookie serves several Environments', async () => {
    const elsewhere = await world.newEnvironment();
    const there = await elsewhere.newClient();
    const bob = await elsewhere.newIdentity();
    const browser = await signedIn();
    const before = browser.cookies.get('hosted_session') as string;
    await codeFor(browser, there, bob.email);
    expect(browser.cookies.get('hosted_session')).not.toBe(before);
    expect(parametersOf(await browser.get(authorizeUrl(client, { prompt: 'none' })))).toHaveProperty('code');
    expect(parametersOf(await browser.get(authorizeUrl(there, { prompt: 'none' })))).toHaveProperty('code');
    const thief = world.browser();
    thief.cookies.set('hosted_session', before);
    expect(parametersOf(await thief.get(authorizeUrl(client, { prompt: 'none' })))).toMatchObject({
      error: 'login_required',
    });
  });

  test('goes on if the person signs in again; another person ends it with its refresh tokens', async () => {
    const bob = await environment.newIdentity();
    const browser = world.browser();
    const first = await tokensFor(browser, client, ana.email);
    world.wait(seconds(10));
    const again = await tokensFor(browser, client, ana.email, { prompt: 'login' });
    const sidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
    expect(sidOf(again.id_token).sid).toBe(sidOf(first.id_token).sid);
    expect(sidOf(again.id_token).auth_time).toBe(sidOf(first.id_token).auth_time + 10);
    const other = await tokensFor(browser, client, bob.email, { prompt: 'login' });
    expect(sidOf(other.id_token).sid).not.toBe(sidOf(first.id_token).sid);
    const told = (await world.events('identity.signed_out')).filter(({ resource_id: id }) => id === ana.id);
    expect(told).toMatchObject([{ actor_id: ana.id, metadata: { session_id: sidOf(first.id_token).sid } }]);
    const answer = await world.provider.grants
      .refresh((await world.provider.clients.find(client.clientId))!, again.refresh_token)
      .catch((error) => error);
    expect(answer).toMatchObject({ code: 'invalid_grant' });
  });

  test('ends after twelve hours, while refresh tokens go on', async () => {
    const browser = world.browser();
    const tokens = await tokensFor(browser, client, ana.email);
    world.wait(hours(12) + seconds(1));
    expect((await browser.get(authorizeUrl(client))).statusCode).toBe(200);
    const renewed = await tokensFor(browser, client, ana.email);
    const found = (await world.provider.clients.find(client.clientId))!;
    await expect(world.provider.grants.refresh(found, tokens.refresh_token)).resolves.toBeDefined();
    await expect(world.provider.grants.refresh(found, renewed.refresh_token)).resolves.toBeDefined();
  });

  test('does not count if its person is deactivated', async () => {
    const person = await environment.newIdentity();
    const browser = world.browser();
    await codeFor(browser, client, person.email);
    await world.query('update environment_memberships set is_active = false where identity_id = $1', [person.id]);
    expect((await browser.get(authorizeUrl(client))).statusCode).toBe(200);
  });
});

describe('prompt, max_age and hints', () => {
  test('prompt=login asks again and moves auth_time; prompt=consent does not ask', async () => {
    const browser = await signedIn();
    expect((await browser.get(authorizeUrl(client, { prompt: 'consent' }))).statusCode).toBe(303);
    const page = await browser.get(authorizeUrl(client, { prompt: 'login' }));
    expect(page.statusCode).toBe(200);
    expect(parametersOf(await browser.submit(page, { email: ana.email, password }))).toHaveProperty('code');
  });

  test('select_account offers to continue, or to use another account', async () => {
    const browser = await signedIn();
    const page = await browser.get(authorizeUrl(client, { prompt: 'select_account' }));
    expect(page.body).toContain('Choose an account');
    expect(parametersOf(await browser.submit(page, { choice: 'continue' }))).toHaveProperty('code');
    const other = await browser.submit(page, { choice: 'other' });
    expect(other.body).toContain('name="password"');
    const bob = await environment.newIdentity();
    expect(parametersOf(await browser.submit(other, { email: bob.email, password }))).toHaveProperty('code');
    expect((await world.browser().submit(page, { choice: 'continue' })).body).toContain('name="password"');
  });

  test('the person who continues is the one that the page named, and not one who has signed in at the browser since', async () => {
    const browser = await signedIn();
    const page = await browser.get(authorizeUrl(client, { prompt: 'select_account' }));
    const bob = await environment.newIdentity();
    await codeFor(browser, client, bob.email, { prompt: 'login' }); // in another tab
    const again = await browser.submit(page, { choice: 'continue' });
    expect(again.statusCode).toBe(200);
    expect(again.body.replaceAll('<wbr>', '')).toContain(bob.email);
    expect(parametersOf(await browser.submit(again, { choice: 'continue' }))).toHaveProperty('code');
  });

  test('if the Environment requires confirmation, nobody is signed in to an application without a click', async () => {
    const strict = await world.newEnvironment({ ssoRequireConfirmation: true });
    const [app, other, cara] = [await strict.newClient(), await strict.newClient(), await strict.newIdentity()];
    const browser = world.browser();
    await codeFor(browser, app, cara.email); // a person who has just typed a password is not asked
    const page = await browser.get(authorizeUrl(other));
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('Choose an account');
    const silent = await browser.get(authorizeUrl(other, { prompt: 'none', state: 'x' }));
    expect(parametersOf(silent)).toMatchObject({ error: 'interaction_required', state: 'x' });
    const script = await browser.get(authorizeUrl(other), { accept: 'application/json' });
    expect([script.statusCode, script.json().error]).toEqual([401, 'account_selection_required']);
    expect(parametersOf(await browser.submit(page, { choice: 'continue' }))).toHaveProperty('code');
    expect((await browser.submit(page, { choice: 'other' })).body).toContain('name="password"');
    const nobody = await world.browser().get(authorizeUrl(other, { prompt: 'none' }));
    expect(parametersOf(nobody)).toMatchObject({ error: 'login_required' });
    const away = await browser.get(`/oauth/account?client_id=${other.clientId}`);
    expect(away.statusCode).toBe(200); // the own account is no application
  });

  describe('a program that anything on the device could be (RFC 8252 §8.6) gets no code silently', () => {
    const local = { redirect_uri: 'http://127.0.0.1:6666/cb' };
    async function signedInTo(type: EnvironmentType, more: Partial<OAuthClient> = {}) {
      const { environmentId, applicationId, join } = await newOther(world, environment, { type });
      await join(ana.id);
      const app = await environment.newClient({
        environmentId,
        applicationId,
        redirectUris: [redirectUri, 'http://127.0.0.1/cb', 'com.example.app:/cb'],
        ...more,
      });
      const browser = world.browser();
      await codeFor(browser, app, ana.email, local); // a person who has just typed a password is not asked
      return { app, browser };
    }

    test.each([local, { redirect_uri: 'com.example.app:/cb' }])(
      'in a production environment nobody gets a code without a click: %o',
      async (to) => {
        const { app, browser } = await signedInTo('production');
        const page = await browser.get(authorizeUrl(app, to));
        expect([page.statusCode, page.body]).toEqual([200, expect.stringContaining('Choose an account')]);
        const silent = await browser.get(authorizeUrl(app, { ...to, prompt: 'none' }));
        expect(parametersOf(silent)).toMatchObject({ error: 'interaction_required' });
        expect(parametersOf(await browser.submit(page, { choice: 'continue' }))).toHaveProperty('code');
        const again = await browser.get(authorizeUrl(app, { ...to, prompt: 'login' }));
        expect(parametersOf(await browser.submit(again, { email: ana.email, password }))).toHaveProperty('code');
      },
    );

    test('a site does, and a client that authenticates, and any client in development', async () => {
      const secret = { tokenEndpointAuthMethod: 'client_secret_basic' } as const;
      const places = [
        [await signedInTo('production'), {}],
        [await signedInTo('production', secret), local],
        [await signedInTo('development'), local],
      ] as const;
      for (const [{ app, browser }, to] of places)
        for (const prompt of [undefined, 'none'])
          expect(parametersOf(await browser.get(authorizeUrl(app, { ...to, prompt })))).toHaveProperty('code');
    });

    test('a third-party application’s person is asked once, by the consent', async () => {
      const { app, browser } = await signedInTo('production');
      await world.query('update oauth_clients set consent_required = true where id = $1', [app.id]);
      world.wait(seconds(2));
      const question = await follow(browser, await browser.get(authorizeUrl(app, local)));
      expect(question.body).toContain('name="choice" value="allow"');
      expect(parametersOf(await browser.submit(question, { choice: 'allow' }))).toHaveProperty('code');
    });
  });

  test('max_age asks again for an older sign-in; with prompt=none it is login_required', async () => {
    const browser = await signedIn();
    expect((await browser.get(authorizeUrl(client, { max_age: '60' }))).statusCode).toBe(303);
    expect((await browser.get(authorizeUrl(client, { max_age: '0' }))).statusCode).toBe(200);
    world.wait(minutes(2));
    expect((await browser.get(authorizeUrl(client, { max_age: '60' }))).statusCode).toBe(200);
    const silent = await browser.get(authorizeUrl(client, { max_age: '60', prompt: 'none' }));
    expect(parametersOf(silent)).toMatchObject({ error: 'login_required' });
  });

  test('id_token_hint may be an expired one of the same person, but not another person’s', async () => {
    const browser = world.browser();
    const { id_token: hint } = await tokensFor(browser, client, ana.email);
    world.wait(hours(1));
    const good = await browser.get(authorizeUrl(client, { id_token_hint: hint, prompt: 'none' }));
    expect(parametersOf(good)).toHaveProperty('code');
    const bob = await environment.newIdentity();
    const bobs = world.browser();
    await codeFor(bobs, client, bob.email);
    const silent = await bobs.get(authorizeUrl(client, { id_token_hint: hint, prompt: 'none' }));
    expect(parametersOf(silent)).toMatchObject({ error: 'login_required' });
    const page = await bobs.get(authorizeUrl(client, { id_token_hint: hint }));
    expect(page.statusCode).toBe(200);
    expect(parametersOf(await bobs.submit(page, { email: bob.email, password }))).toMatchObject({
      error: 'login_required',
    });
    expect(parametersOf(await bobs.submit(page, { email: ana.email, password }))).toHaveProperty('code');
  });

  test('id_token_hint whose key is deleted still says who is meant, and lets nobody else continue', async () => {
    const browser = world.browser();
    const { id_token: hint } = await tokensFor(browser, client, ana.email);
    const bobs = world.browser();
    await tokensFor(bobs, client, (await environment.newIdentity()).email);
    await world.query('delete from signing_keys'); // as in the runbook's "A signing key leaked"
    world.wait(minutes(1));
    const silent = authorizeUrl(client, { id_token_hint: hint, prompt: 'none' });
    expect(parametersOf(await browser.get(silent))).toHaveProperty('code');
    expect(parametersOf(await bobs.get(silent))).toMatchObject({ error: 'login_required' });
    expect((await bobs.get(authorizeUrl(client, { id_token_hint: hint }))).body).toContain('Password');
  });

  test('id_token_hint of foreign keys and access tokens are refused', async () => {
    const { access_token: accessToken } = await tokensFor(world.browser(), client, ana.email);
    const { privateKey } = await generateKeyPair('RS256');
    const { kid } = decodeProtectedHeader(accessToken);
    const signed = (typ: string, kid: string | undefined, iss = world.baseUrl) =>
      new SignJWT({ sub: ana.id, iss, aud: client.clientId, exp: 9e9, iat: 1 })
        .setProtectedHeader({ alg: 'RS256', typ, ...(kid && { kid }) })
        .sign(privateKey);
    const foreign = [signed('JWT', kid), signed('JWT', undefined), signed('at+jwt', 'gone')];
    const ofAnother = signed('JWT', 'gone', 'https://other.example');
    for (const hint of [accessToken, ...(await Promise.all([...foreign, ofAnother]))]) {
      expect((await world.browser().get(authorizeUrl(client, { id_token_hint: hint }))).statusCode).toBe(400);
    }
  });
});

describe('POST', () => {
  test('with only OAuth parameters is an authorization request, also from another site', async () => {
    const fields = Object.fromEntries(new URL(authorizeUrl(client), world.baseUrl).searchParams);
    const browser = await signedIn();
    const answer = await world.browser().post('/oauth/authorize', fields, { origin: 'https://app.example.com' });
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toMatch(/^\/oauth\/authorize\?/);
    expect(parametersOf(await browser.get(String(answer.headers.location)))).toMatchObject({ state: 'the state' });
  });

  test.each([
    ['a foreign Origin', { origin: 'https://evil.example' }],
    [
      'a foreign Origin that claims to be the same',
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    ],
    ['Origin null', { origin: 'null' }],
    ['a cross-site request without Origin', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling site', { 'sec-fetch-site': 'same-site' }],
  ])('of a sign-in or choice from %s is 403 and starts no session', async (_name, headers) => {
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client));
    const sessions = await world.query('select id from sessions');
    const forms: Record<string, string>[] = [{ email: ana.email, password }, { choice: 'continue' }];
    for (const fields of forms) {
      const answer = await browser.submit(page, fields, headers as Record<string, string>);
      expect(answer.statusCode).toBe(403);
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
    expect(await world.query('select id from sessions')).toHaveLength(sessions.length);
  });

  test('from our own page is accepted', async () => {
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client));
    const headers = { origin: world.baseUrl, 'sec-fetch-site': 'same-origin' };
    expect((await browser.submit(page, { email: ana.email, password }, headers)).statusCode).toBe(303);
  });

  test('as JSON is answered in JSON if requested', async () => {
    const fields = Object.fromEntries(new URL(authorizeUrl(client), world.baseUrl).searchParams);
    const post = (payload: object) =>
      world.app.inject({ method: 'POST', url: '/oauth/authorize', payload, headers: { accept: 'application/json' } });
    const good = await post({ ...fields, email: ana.email, password });
    expect(good.statusCode).toBe(200);
    expect(new URL(good.json().redirect_to).searchParams.get('code')).toMatch(/^[\w-]{43}$/);
    const wrong = await post({ ...fields, email: ana.email, password: 'wrong' });
    expect([wrong.statusCode, wrong.json().error]).toEqual([401, 'access_denied']);
    const malformed = await post({ ...fields, response_type: 'token' });
    expect([malformed.statusCode, malformed.json().error]).toEqual([400, 'unsupported_response_type']);
    expect((await post(fields)).json().error).toBe('login_required');
  });
});

test('a loopback redirect URI may use any port', async () => {
  const native = 'http://127.0.0.1:53124/cb';
  const flow = await codeFor(world.browser(), client, ana.email, { redirect_uri: native });
  expect(flow.code).toBeDefined();
  const bad = await world.browser().get(authorizeUrl(client, { redirect_uri: 'http://127.0.0.1:53124/other' }));
  expect(bad.statusCode).toBe(400);
});

test('a sign-in is an event without personal data', async () => {
  const person = await environment.newIdentity();
  await codeFor(world.browser(), client, person.email);
  const event = (await world.events('identity.signed_in')).find(({ resource_id: id }) => id === person.id);
  expect(event).toMatchObject({
    outcome: 'success',
    account_id: environment.accountId,
    application_id: environment.applicationId,
  });
  expect(JSON.stringify(event)).not.toContain(person.email);
});
