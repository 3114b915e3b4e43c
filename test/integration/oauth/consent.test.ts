import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import { decodeJwt } from 'jose';
import { hours, seconds } from '../../../src/platform/clock.js';
import { follow, openAccount, send } from '../../support/account.js';
import { hidden } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri, type TestClient, type TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem, refresh, type TokenBody, userinfo } from '../../support/oauth/tokens.js';
import { newOrganization, setPolicy } from '../../support/organizations.js';

/** Third-party applications ask for consent before they get anything (docs/decisions/0063). */
let client: TestClient;
let ana: TestIdentity;
let browser: Browser;

const world = await newProvider();
const environment = await world.newEnvironment();
afterAll(() => world.close());
beforeEach(async () => {
  client = await environment.newClient({ name: 'Partner', consentRequired: true });
  ana = await environment.newIdentity();
  browser = world.browser();
});

const json = { accept: 'application/json' };
const isQuestion = (page: LightMyRequestResponse) => page.body.includes('name="choice" value="allow"');
const open = async (more: Record<string, string | undefined> = {}, of = client) =>
  follow(browser, await browser.get(authorizeUrl(of, more)));
/** Signs in, and reaches the consent page. */
const asked = async (more: Record<string, string | undefined> = {}, of = client) => {
  const page = await follow(browser, await browser.submit(await open(more, of), { email: ana.email, password }));
  if (!isQuestion(page)) throw new Error(`nobody was asked: ${page.statusCode} ${page.body}`);
  return page;
};
const answer = async (page: LightMyRequestResponse, choice: string) =>
  locationOf(await browser.submit(page, { choice })).searchParams;
const codeOf = async (page: LightMyRequestResponse) => {
  const code = (await answer(page, 'allow')).get('code');
  if (code === null) throw new Error('no code');
  return code;
};
const rows = () =>
  world.query<{ oauth_client_id: string; scope: string[] }>(
    'select oauth_client_id, array(select unnest(scope) order by 1) as scope from consents where identity_id = $1',
    [ana.id],
  );
const events = (action: string) =>
  world.query<{ metadata: object; actor_id: string }>(
    'select metadata, actor_id from events where action = $1 and resource_id = $2 order by created_at',
    [action, ana.id],
  );
const codes = async () =>
  (await world.query('select from authorization_codes where oauth_client_id = $1', [client.id])).length;
/** Runs the whole flow, with a known verifier. */
const tokens = async (more: Record<string, string> = {}) => {
  const { verifier, challenge } = newPkce();
  const code = await codeOf(await asked({ code_challenge: challenge, ...more }));
  return { code, verifier, redirect: redirectUri };
};

describe('the question', () => {
  test('says who asks, for what and for how long, before there is a code, in the reader’s language', async () => {
    const page = await asked({ scope: 'openid email permissions', state: 'x', ui_locales: 'en' });
    for (const words of ['Partner', ana.email, 'Your email address', 'allowed to do', '90 days', 'app.example.com'])
      expect(page.body).toContain(words);
    expect(page.body).not.toContain('organizations');
    expect(page.headers['content-security-policy']).toContain("form-action 'self' https:;");
    expect([await codes(), await rows()]).toEqual([0, []]);
    const german = await browser.get(`/oauth/consent${authorizeUrl(client, { ui_locales: 'de' }).slice(16)}`);
    expect(german.body).toContain('Erlauben');
  });

  test('is not shown to a browser without cookies, which is told so and not asked to sign in again', async () => {
    const { pathname, search } = locationOf(await browser.submit(await open(), { email: ana.email, password }));
    const told = await world.browser().get(pathname + search);
    expect([told.statusCode, isQuestion(told)]).toEqual([400, false]);
    expect(told.body).toContain('Your browser does not keep cookies');
    const unmarked = locationOf(await browser.get(pathname + search));
    expect([unmarked.pathname, unmarked.searchParams.has('signed_in')]).toEqual([pathname, false]);
    const question = await browser.get(unmarked.pathname + unmarked.search);
    expect(isQuestion(question)).toBe(true);
    expect(question.body).not.toContain('signed_in');
    const late = await world.browser().submit(question, { choice: 'allow' });
    expect([late.statusCode, locationOf(late).pathname]).toEqual([303, '/oauth/authorize']);
  });

  test('leads back with a code if allowed, is recorded with an event, and not asked again', async () => {
    const back = await answer(await asked({ scope: 'openid email' }), 'allow');
    expect(Object.fromEntries(back)).toMatchObject({
      state: 'the state',
      iss: world.baseUrl,
      code: expect.any(String),
    });
    expect(await rows()).toEqual([{ oauth_client_id: client.id, scope: ['email', 'openid'] }]);
    expect(await events('identity.consent_given')).toEqual([
      { actor_id: ana.id, metadata: { oauth_client_id: client.id, scopes: ['openid', 'email'] } },
    ]);
    for (const scope of ['openid email', 'openid', undefined]) {
      const again = await browser.get(authorizeUrl(client, { scope }));
      expect(locationOf(again).searchParams.get('code')).not.toBeNull();
    }
    const elsewhere = world.browser();
    const signedIn = await elsewhere.submit(await elsewhere.get(authorizeUrl(client, { scope: 'openid' })), {
      email: ana.email,
      password,
    });
    expect(locationOf(signedIn).searchParams.get('code')).not.toBeNull();
  });

  test('if denied, leads back with an error, and nothing is kept', async () => {
    const back = await answer(await asked(), 'deny');
    expect(Object.fromEntries(back)).toMatchObject({ error: 'access_denied', state: 'the state', iss: world.baseUrl });
    expect([await codes(), await rows(), await events('identity.consent_given')]).toEqual([0, [], []]);
    expect(isQuestion(await open())).toBe(true);
  });

  test('is asked for new scopes, which it adds to the earlier ones, and again with prompt=consent', async () => {
    await codeOf(await asked({ scope: 'openid' }));
    const more = await open({ scope: 'openid profile' });
    expect(isQuestion(more)).toBe(true);
    await codeOf(more);
    expect((await rows())[0]?.scope).toEqual(['openid', 'profile']);
    const again = await open({ scope: 'openid', prompt: 'consent' });
    expect(isQuestion(again)).toBe(true);
    await codeOf(again);
    expect((await rows())[0]?.scope).toEqual(['openid', 'profile']);
    expect(await events('identity.consent_given')).toHaveLength(3);
  });

  test('cannot be asked with prompt=none, and the client gets an error', async () => {
    const errorOf = async () =>
      locationOf(await browser.get(authorizeUrl(client, { prompt: 'none' }))).searchParams.get('error');
    expect(await errorOf()).toBe('login_required');
    const page = await asked();
    expect(await errorOf()).toBe('consent_required');
    const silent = `/oauth/consent${authorizeUrl(client, { prompt: 'none' }).slice(16)}`;
    expect(locationOf(await browser.get(silent)).pathname).toBe('/oauth/authorize');
    await codeOf(page);
    expect(await errorOf()).toBeNull();
  });

  test('is not asked for the Account’s own applications, nor for the person’s own account', async () => {
    const own = await environment.newClient();
    const back = await browser.submit(await open({ prompt: 'consent' }, own), { email: ana.email, password });
    expect(locationOf(back).searchParams.get('code')).not.toBeNull();
    const stray = await browser.get(`/oauth/consent${authorizeUrl(own).slice(16)}`);
    expect(locationOf(stray).pathname).toBe('/oauth/authorize');
    const account = await openAccount(browser, `/oauth/account?client_id=${client.clientId}`, ana);
    expect(account.body).toContain('Your account');
  });

  test('shows and records what the client may be granted, even if that grows while it is read', async () => {
    await world.query(`update oauth_clients set scopes = '{openid}' where id = $1`, [client.id]);
    const page = await asked({ scope: 'openid email' });
    expect(page.body).not.toContain('Your email address');
    await world.query(`update oauth_clients set scopes = '{openid,email}' where id = $1`, [client.id]);
    world.wait(seconds(2));
    await codeOf(page);
    expect((await rows())[0]?.scope).toEqual(['openid']);
  });
});

describe('nobody gets past the question', () => {
  test('without a session, or with another one than the request requires', async () => {
    const fields = { choice: 'allow', session: '0190b0a0-0000-7000-8000-000000000000' };
    const url = (more: Record<string, string> = {}) => `/oauth/consent${authorizeUrl(client, more).slice(16)}`;
    for (const stranger of [await browser.get(url()), await browser.post(url(), fields)])
      expect([stranger.statusCode, locationOf(stranger).pathname]).toEqual([303, '/oauth/authorize']);
    const page = await asked({ prompt: 'login' });
    world.wait(hours(1));
    const late = await browser.submit(page, { choice: 'allow' });
    expect(locationOf(late).pathname).toBe('/oauth/authorize');
    expect((await follow(browser, late)).body).toContain('name="password"');
    expect([await codes(), await rows()]).toEqual([0, []]);
  });

  test('from another site, with another session’s form, or without a choice', async () => {
    const page = await asked();
    const foreign = await browser.submit(page, { choice: 'allow' }, { origin: 'https://evil.example' });
    expect(foreign.statusCode).toBe(403);
    expect((await browser.submit(page, { choice: 'maybe' })).statusCode).toBe(400);
    const ben = await environment.newIdentity();
    await browser.submit(await open({ prompt: 'login' }), { email: ben.email, password });
    const again = await browser.submit(page, { choice: 'allow' });
    expect(isQuestion(again)).toBe(true);
    expect(again.body).toContain(ben.email);
    const [script] = [await browser.submit(page, { choice: 'allow' }, json)];
    expect([script?.statusCode, script?.json().error]).toEqual([409, 'consent_required']);
    expect([await codes(), await rows()]).toEqual([0, []]);
  });

  test('while the sign-in has to be stronger than when the question was shown', async () => {
    const page = await asked();
    await world.query(
      `update environment_settings set mfa_policy = 'required', mfa_grace_period_days = 0 where environment_id = $1`,
      [environment.environmentId],
    );
    world.wait(seconds(2));
    const barred = await browser.submit(page, { choice: 'allow' });
    await world.query(`update environment_settings set mfa_policy = 'optional' where environment_id = $1`, [
      environment.environmentId,
    ]);
    world.wait(seconds(2));
    expect(locationOf(barred).pathname).toBe('/oauth/authorize');
    expect([await codes(), await rows()]).toEqual([0, []]);
  });

  test('after a postponed second factor, which is not offered again', async () => {
    const place = await world.newEnvironment({ mfaPolicy: 'required' });
    const ben = await place.newIdentity();
    const partner = await place.newClient({ consentRequired: true });
    const offer = await browser.submit(await open({}, partner), { email: ben.email, password });
    expect(offer.body).toContain('value="later"');
    const page = await follow(browser, await browser.submit(offer, { choice: 'later' }));
    expect(isQuestion(page)).toBe(true);
    await codeOf(page);
  });

  test('by the API: scripts are led to the question, and passwords are for first parties', async () => {
    const page = await browser.get(authorizeUrl(client));
    const { redirect_to: to } = (await browser.submit(page, { email: ana.email, password }, json)).json();
    expect(to).toMatch(/^\/oauth\/consent\?/);
    const question = (await browser.get(to, json)).json();
    expect(question).toMatchObject({
      error: 'consent_required',
      session: expect.any(String),
      scope: 'openid profile email',
    });
    const { session } = question;
    const done = await browser.post(to, { session, choice: 'allow' }, json);
    expect(new URL(done.json().redirect_to).searchParams.get('code')).not.toBeNull();
    const login = await world.app.inject({
      method: 'POST',
      url: '/v1/identity/auth/login',
      payload: { client_id: client.clientId, email: ana.email, password },
    });
    expect([login.statusCode, login.json().error.code]).toEqual([403, 'login.consent_required']);
  });
});

describe('a withdrawn consent', () => {
  const account = () => openAccount(browser, `/oauth/account?client_id=${client.clientId}`, ana);
  const takeBack = async () => send(browser, await account(), 'applications', { revoke: client.id });

  test('is withdrawn in the account, which shows its scopes, and ends with all that it granted', async () => {
    const given = (await redeem(world.app, client, await tokens({ scope: 'openid email' }))).json();
    expect((await userinfo(world.app, given.access_token)).json()).toMatchObject({ email: ana.email });
    expect((await account()).body).toContain('Your email address');
    const shown = (await browser.get(`/oauth/account?client_id=${client.clientId}`, json)).json();
    expect(shown.applications).toMatchObject([{ id: client.id, scopes: ['openid', 'email'] }]);
    expect((await takeBack()).statusCode).toBe(303);
    expect((await userinfo(world.app, given.access_token)).statusCode).toBe(401);
    expect((await refresh(world.app, client, given.refresh_token)).statusCode).toBe(400);
    expect([await rows(), await events('identity.consent_withdrawn')]).toEqual([
      [],
      [
        {
          actor_id: ana.id,
          metadata: { oauth_client_id: client.id, scopes: expect.arrayContaining(['openid', 'email']) },
        },
      ],
    ]);
    expect(locationOf(await takeBack()).searchParams.get('done')).toBe('gone');
    expect(isQuestion(await open())).toBe(true);
  });

  test('is shown and can end even if it has granted nothing yet, and an earlier code is void', async () => {
    const used = await tokens();
    expect(hidden(await account(), 'session')).not.toBe('');
    expect((await takeBack()).statusCode).toBe(303);
    const refused = await redeem(world.app, client, used);
    expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_grant']);
    expect(await world.query('select revoked_reason from grants where identity_id = $1', [ana.id])).toEqual([
      { revoked_reason: 'consent_missing' },
    ]);
  });

  test('has tokens for userinfo and for no account', async () => {
    const { access_token: token } = (await redeem(world.app, client, await tokens())).json();
    const headers = { authorization: `Bearer ${token}` };
    const me = await world.app.inject({ url: '/v1/identity/auth/me', headers });
    const out = await world.app.inject({ method: 'POST', url: '/v1/identity/auth/logout', headers });
    expect([me.statusCode, out.statusCode]).toEqual([403, 403]);
    expect((await userinfo(world.app, token)).statusCode).toBe(200);
  });

  test('does not sign the person out', async () => {
    const { refresh_token: token } = (await redeem(world.app, client, await tokens())).json();
    const payload = { client_id: client.clientId, refresh_token: token };
    const signOut = () => world.app.inject({ method: 'POST', url: '/v1/identity/auth/logout', payload });
    const isSignedIn = async () => locationOf(await browser.get(authorizeUrl(own))).searchParams.has('code');
    const own = await environment.newClient();
    await world.query('update grants set revoked_at = $2 where oauth_client_id = $1', [client.id, world.now()]);
    expect([(await signOut()).statusCode, await isSignedIn()]).toEqual([204, true]);
    // A live grant does.
    await world.query('update grants set revoked_at = null where oauth_client_id = $1', [client.id]);
    expect([(await signOut()).statusCode, await isSignedIn()]).toEqual([204, false]);
  });
});

test('another person can sign in where the signed-in person would be asked', async () => {
  const page = await asked();
  const [, other = ''] = /<a href="([^"]+)">Use another account</.exec(page.body) ?? [];
  const anew = await browser.get(other.replaceAll('&amp;', '&').replaceAll('&#38;', '&'));
  expect(anew.body).toContain('name="password"');
});

describe('a person’s organizations', () => {
  const errorOf = async (more: Record<string, string>) =>
    locationOf(await browser.get(authorizeUrl(client, { prompt: 'none', ...more }))).searchParams.get('error');

  test('are asked for with the scope that is about them, or not at all', async () => {
    const mine = await newOrganization(world, environment, { members: [ana] });
    await codeOf(await asked({ scope: 'openid' }));
    for (const scope of ['openid', 'email', undefined]) {
      const back = locationOf(await browser.get(authorizeUrl(client, { organization: mine.id, scope }))).searchParams;
      expect(Object.fromEntries(back)).toMatchObject({
        error: 'invalid_scope',
        state: 'the state',
        iss: world.baseUrl,
      });
      expect(await errorOf({ organization: mine.slug, scope: scope ?? 'profile' })).toBe('invalid_scope');
    }
    const narrow = await environment.newClient({ consentRequired: true, scopes: ['openid'] });
    const answer = await browser.get(authorizeUrl(narrow, { organization: mine.id, scope: 'openid org' }));
    expect(locationOf(answer).searchParams.get('error')).toBe('invalid_scope');
    const own = await environment.newClient();
    const code = locationOf(await browser.get(authorizeUrl(own, { organization: mine.id, scope: 'openid' })));
    expect(code.searchParams.get('code')).toBeTruthy();
  });

  test('are in no answer before the consent, and in the tokens after', async () => {
    const [mine, other] = [
      await newOrganization(world, environment, { members: [ana] }),
      await newOrganization(world, environment),
    ];
    await codeOf(await asked({ scope: 'openid' }));
    const scope = 'openid org';
    for (const organization of [mine.id, other.id])
      expect(await errorOf({ organization, scope })).toBe('consent_required');
    await setPolicy(world, mine, { require_sso: true });
    expect(await errorOf({ organization: mine.id, scope })).toBe('consent_required');
    await setPolicy(world, mine, {});
    const { verifier, challenge } = newPkce();
    const page = await open({ organization: mine.id, scope, code_challenge: challenge });
    expect(page.body).toContain('organizations');
    const back = { code: await codeOf(page), verifier, redirect: redirectUri };
    const given: TokenBody = (await redeem(world.app, client, back)).json();
    for (const token of [given.access_token, given.id_token]) expect(decodeJwt(token).organization_id).toBe(mine.id);
    expect([await errorOf({ organization: mine.id, scope }), await errorOf({ organization: other.id, scope })]).toEqual(
      [null, 'login_required'],
    );
    const less: TokenBody = (await refresh(world.app, client, given.refresh_token, { scope: 'openid' })).json();
    for (const token of [less.access_token, less.id_token])
      expect(decodeJwt(token)).not.toHaveProperty('organization_id');
  });

  test('get the same answer if they deny it and if they are no member', async () => {
    const scope = 'openid org';
    const [mine, other] = [
      await newOrganization(world, environment, { members: [ana] }),
      await newOrganization(world, environment),
    ];
    const denied = await answer(await asked({ organization: mine.id, scope }), 'deny');
    const page = await open({ organization: other.id, scope, prompt: 'login' });
    const stranger = locationOf(await browser.submit(page, { email: ana.email, password })).searchParams;
    expect(Object.fromEntries(stranger)).toEqual(Object.fromEntries(denied));
    expect(denied.get('error')).toBe('access_denied');
  });
});

describe('a program that anything could be (RFC 8252 §8.6)', () => {
  const redirects = ['http://127.0.0.1:6666/cb', 'com.partner.app:/cb', 'http://localhost:4000/cb'];
  const registered = ['http://127.0.0.1/cb', 'com.partner.app:/cb', 'http://localhost:4000/cb', redirectUri];

  test('is asked about each time, and gets nothing with prompt=none', async () => {
    client = await environment.newClient({ consentRequired: true, redirectUris: registered });
    await codeOf(await asked({ redirect_uri: redirects[0] }));
    for (const redirect_uri of redirects) {
      const page = await open({ redirect_uri });
      expect([redirect_uri, isQuestion(page)]).toEqual([redirect_uri, true]);
      const silent = await browser.get(authorizeUrl(client, { redirect_uri, prompt: 'none' }));
      expect(locationOf(silent).searchParams.get('error')).toBe('consent_required');
      expect(await codeOf(page)).toBeTruthy();
    }
    // A person who has just typed a password is asked once, and not on two pages.
    expect(isQuestion(await asked({ redirect_uri: redirects[1], prompt: 'login' }))).toBe(true);
  });

  test('does not include an answer to a site, or a client that authenticates', async () => {
    client = await environment.newClient({ consentRequired: true, redirectUris: registered });
    await codeOf(await asked());
    const site = await browser.get(authorizeUrl(client, { prompt: 'none' }));
    expect(locationOf(site).searchParams.get('code')).toBeTruthy();
    client = await environment.newClient({
      consentRequired: true,
      redirectUris: registered,
      tokenEndpointAuthMethod: 'client_secret_basic',
    });
    const local = { redirect_uri: redirects[0] };
    await codeOf(await open(local));
    const proved = await browser.get(authorizeUrl(client, { ...local, prompt: 'none' }));
    expect(locationOf(proved).searchParams.get('code')).toBeTruthy();
  });
});
