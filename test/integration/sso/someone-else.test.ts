import { afterAll, describe, expect, test } from '@jest/globals';
import { codeIn } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri, type TestClient } from '../../support/oauth/environment.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem, refresh } from '../../support/oauth/tokens.js';
import { signInThere } from '../../support/openid-provider.js';
import { newOther } from '../../support/other-environment.js';
import { newSsoPlace, returnFromProvider, type SsoPlace, startSsoWorld } from '../../support/sso.js';

const baseUrl = 'http://localhost:3000';
const { idp, world, stop, nextConnectionId, newPerson } = await startSsoWorld(8);
afterAll(() => stop());

const { verifier, challenge } = newPkce();

const signIn = async (browser: Browser, client: TestClient, { email }: { email: string }) =>
  browser.submit(await browser.get(authorizeUrl(client, { code_challenge: challenge })), { email, password });

/** Creates an organization with its own provider, and another person of the Environment, signed in by password. */
async function place() {
  const at = await newSsoPlace(world, idp, { id: nextConnectionId() });
  const ana = await at.environment.newIdentity();
  const browser = world.browser();
  const code = codeIn(await signIn(browser, at.client, ana)) as string;
  const tokens = (await redeem(world.app, at.client, { code, verifier, redirect: redirectUri })).json();
  return { ...at, ana, browser, refreshToken: tokens.refresh_token as string };
}

const by = async (browser: Browser, url: string, login: string) =>
  returnFromProvider(browser, String((await browser.get(url)).headers.location), login);

const whoseSession = async (browser: Browser, { client }: Pick<SsoPlace, 'client'>) => {
  const code = codeIn(await browser.get(authorizeUrl(client, { code_challenge: challenge, scope: 'openid email' })));
  const answer = await redeem(world.app, client, { code: code ?? '', verifier, redirect: redirectUri });
  const [, claims = ''] = String(answer.json().id_token).split('.');
  return JSON.parse(Buffer.from(claims, 'base64url').toString()).email;
};

describe('a link that leads to a provider, in a browser where another person is signed in', () => {
  test('changes nothing until its person confirms: they stay signed in, with all that applications hold', async () => {
    const at = await place();
    const { client, organization, connection, browser, ana } = at;
    const { login, email } = newPerson();
    const query = authorizeUrl(client).replace('/oauth/authorize?', '');
    for (const url of [
      authorizeUrl(client, { organization: organization.slug, prompt: 'login' }),
      authorizeUrl(client, { login_hint: email, prompt: 'login' }),
      `/oauth/sso?${query}&connection_id=${connection.id}`,
    ]) {
      const page = await by(browser, url, login);
      expect([page.statusCode, page.body.includes(ana.email), page.body.includes(email)]).toEqual([200, true, true]);
    }
    expect(await whoseSession(browser, at)).toBe(ana.email);
    expect((await refresh(world.app, client, at.refreshToken)).statusCode).toBe(200);
    expect(await world.query('select id from identities where email = $1', [email])).toEqual([]);
  });

  test('leads on as the other person once they confirm, from a page of ours alone', async () => {
    const at = await place();
    const { login, email } = newPerson();
    const page = await by(at.browser, authorizeUrl(at.client, { login_hint: email, prompt: 'login' }), login);
    const foreign = await at.browser.submit(page, {}, { origin: 'https://evil.example' });
    expect(foreign.statusCode).toBe(403);
    const done = await at.browser.submit(page, {}, { origin: baseUrl });
    expect([done.statusCode, codeIn(done) !== null]).toEqual([303, true]);
    expect(await whoseSession(at.browser, at)).toBe(email);
    // Sent twice, it continues by the present session.
    const again = await at.browser.submit(page, {}, { origin: baseUrl });
    expect([again.statusCode, locationOf(again).pathname]).toEqual([303, '/oauth/authorize']);
  });

  test('tells a script what to post', async () => {
    const at = await place();
    const { login, email } = newPerson();
    const away = await at.browser.get(authorizeUrl(at.client, { login_hint: email, prompt: 'login' }));
    const back = await signInThere(String(away.headers.location), login);
    const answered = await at.browser.get(back.replace(baseUrl, ''));
    const asked = await at.browser.get(String(answered.headers.location), { accept: 'application/json' });
    expect([asked.statusCode, asked.json().error]).toEqual([409, 'confirmation_required']);
    const { request = '', answer = '' } = Object.fromEntries(locationOf(answered).searchParams);
    const done = await at.browser.post('/sso/complete', { request, answer }, { accept: 'application/json' });
    expect(done.json().redirect_to).toContain('code=');
  });
});

describe('no question is asked of', () => {
  test('a person who returns as themselves', async () => {
    const { client, browser } = await place();
    const { login, email } = newPerson();
    const other = world.browser();
    const url = authorizeUrl(client, { login_hint: email, prompt: 'login' });
    expect(codeIn(await by(other, url, login))).toBeTruthy();
    expect(codeIn(await by(other, url, login))).toBeTruthy();
    expect(browser.cookies.has('hosted_session')).toBe(true);
  });

  test('a person who has typed the other one’s address on our own page', async () => {
    const { client, browser } = await place();
    const { login, email } = newPerson();
    const form = await browser.get(authorizeUrl(client, { prompt: 'login' }));
    const onward = await browser.submit(form, { email });
    const url = /<a class="button" href="([^"]+)"/.exec(onward.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(codeIn(await returnFromProvider(browser, url, login))).toBeTruthy();
  });

  test.each([
    ['was ended elsewhere', 'revoked_at'],
    ['has expired', 'expires_at'],
  ])('a person in whose browser the other one’s session %s', async (_, ended) => {
    const { client, browser, ana } = await place();
    await world.query(`update sessions set ${ended} = created_at where identity_id = $1`, [ana.id]);
    const { login, email } = newPerson();
    expect(codeIn(await by(browser, authorizeUrl(client, { login_hint: email }), login))).toBeTruthy();
  });

  test('a person in whose browser somebody is signed in to another Environment, which stays so', async () => {
    const { environment, client, ana } = await place();
    const other = await newOther(world, environment, { settings: { mfaPolicy: 'off' } });
    await other.join(ana.id);
    const browser = world.browser();
    await signIn(browser, other.client, ana);
    const { login, email } = newPerson();
    expect(codeIn(await by(browser, authorizeUrl(client, { login_hint: email }), login))).toBeTruthy();
    expect(await whoseSession(browser, other)).toBe(ana.email);
  });
});
