import type { LightMyRequestResponse } from 'fastify';
import { password, redirectUri } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';

/** OAuth 2.0 Form Post Response Mode 1.0: the answer in a form that the browser posts. */

const world = await newProvider();
const environment = await world.newEnvironment();
const client = await environment.newClient();
const ana = await environment.newIdentity();
afterAll(() => world.close());

const pkce = newPkce();
const url = (more: Record<string, string> = {}, of = client) =>
  authorizeUrl(of, { response_mode: 'form_post', code_challenge: pkce.challenge, ...more });
const fieldsOf = ({ body }: LightMyRequestResponse) =>
  Object.fromEntries(
    [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [name, value]),
  );
const actionOf = ({ body }: LightMyRequestResponse) => /<form method="post" action="([^"]*)"/.exec(body)?.[1];

test('the answer to a sign-in is a page that posts code, state and issuer to the client', async () => {
  const browser = world.browser();
  const answer = await browser.submit(await browser.get(url({ state: 'a"<b>' })), { email: ana.email, password });
  expect(answer.statusCode).toBe(200);
  expect(actionOf(answer)).toBe(redirectUri);
  const { code, ...rest } = fieldsOf(answer);
  expect(rest).toEqual({ state: 'a&quot;&lt;b&gt;', iss: world.baseUrl });
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'strict-origin' });
  const policy = String(answer.headers['content-security-policy']);
  expect(policy).toMatch(/script-src 'nonce-[^']+'; form-action 'self' https:;/);
  const redeemed = await redeem(world.app, client, {
    code: String(code),
    verifier: pkce.verifier,
    redirect: redirectUri,
  });
  expect(redeemed.statusCode).toBe(200);
  // A person who is signed in is asked nothing.
  expect(fieldsOf(await browser.get(url()))).toHaveProperty('code');
});

test('errors are posted to the client as well, by a page in the requested language', async () => {
  for (const [more, error] of [
    [{ prompt: 'none' }, 'login_required'],
    [{ request: 'x' }, 'request_not_supported'],
  ] as const) {
    const answer = await world.browser().get(url({ ...more, ui_locales: 'de' }));
    expect([answer.statusCode, actionOf(answer)]).toEqual([200, redirectUri]);
    expect(fieldsOf(answer)).toMatchObject({ error, state: 'the state', iss: world.baseUrl });
    expect(answer.headers['content-language']).toBe('de');
  }
});

test('an answer without a page on the way may be framed by the application, and has no button', async () => {
  const browser = world.browser();
  const shown = await browser.submit(await browser.get(url()), { email: ana.email, password });
  expect(shown.headers['x-frame-options']).toBe('DENY');
  expect(shown.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(shown.body).toContain('<button');
  await world.query(
    `update environment_settings set branding = '{"support_email":"a@example.com"}' where environment_id = $1`,
    [environment.environmentId],
  );
  const none = { prompt: 'none' };
  for (const more of [none, { ...none, request: 'x' } as const, { ...none, login_hint: 'bo@example.com' } as const]) {
    const silent = await browser.get(url(more));
    expect(actionOf(silent)).toBe(redirectUri);
    expect(silent.headers['x-frame-options']).toBe(undefined);
    expect(silent.headers['content-security-policy']).toMatch(/; frame-ancestors https:\/\/app\.example\.com$/);
    expect(silent.body).not.toMatch(/<button|<a |type="submit"/);
  }
  const window = await world.app.inject({ url: url(none), headers: { 'sec-fetch-dest': 'document' } });
  expect(window.headers['x-frame-options']).toBe('DENY');
  expect(window.body).toContain('<button');
  // A page that is no answer cannot be framed.
  const form = await browser.get(url({ prompt: 'login' }));
  expect(form.headers['x-frame-options']).toBe('DENY');
});

test('a script gets where to post, and what', async () => {
  const browser = world.browser();
  const [path, query] = url().split('?');
  const fields = Object.fromEntries(new URLSearchParams(query));
  const json = { accept: 'application/json' };
  const answer = await browser.post(String(path), { ...fields, email: ana.email, password }, json);
  expect(answer.json()).toEqual({
    redirect_to: redirectUri,
    form_post: { code: expect.stringMatching(/^[\w-]{43}$/), state: 'the state', iss: world.baseUrl },
  });
});

test('form_post is refused for the redirect URI of a native app, to which no form can be posted; an unknown response mode is a 400 page', async () => {
  const app = 'com.example.app:/callback';
  const native = await environment.newClient({ redirectUris: [app] });
  for (const [asked, of] of [
    [{ redirect_uri: app }, native],
    [{ response_mode: 'fragment' }, client],
  ] as const) {
    const answer = await world.browser().get(url(asked, of));
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('response_mode');
  }
});
