import { afterAll, expect, test } from '@jest/globals';
import { accountUrl, follow } from '../../support/account.js';
import { createAuthenticator } from '../../support/authenticator.js';
import { lastLink } from '../../support/identity-mails.js';
import { enrollTotp, hidden } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { fromPage, giveKey } from '../../support/passkeys.js';

/** Every sign-in method leads to the account page, as it leads to a client, and nowhere else. */

const world = await newProvider();
afterAll(() => world.close());

async function arrive(settings: Parameters<TestProvider['newEnvironment']>[0] = {}) {
  const environment = await world.newEnvironment(settings);
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const browser = world.browser();
  const form = await follow(browser, await browser.get(accountUrl(client)));
  return { environment, client, ana, browser, form };
}
const linkIn = (html: string, pattern: RegExp) =>
  (pattern.exec(html)?.[1] ?? '').replaceAll('&amp;', '&').replaceAll('&#39;', "'");
const isAccountOf = async (browser: Browser, client: { clientId: string }, email: string) =>
  (await browser.get(accountUrl(client))).body.includes(email);

test('a code by mail leads to the account page', async () => {
  const { client, ana, browser, form } = await arrive({ emailOtpLoginEnabled: true });
  const sent = await browser.post('/oauth/login/email-otp/start', {
    client_id: hidden(form, 'client_id'),
    destination: hidden(form, 'destination'),
    email: ana.email,
  });
  const page = await follow(browser, await browser.submit(sent, { code: await world.mailedCode('login') }));
  expect(page.body).toContain(`Ana Arendt · ${ana.email}`);
  expect(await isAccountOf(browser, client, ana.email)).toBe(true);
});

test('a code by mail leads to an account page without passwords, where there are none', async () => {
  const { ana, browser, form } = await arrive({ emailOtpLoginEnabled: true, passwordLoginEnabled: false });
  const sent = await browser.submit(form, { email: ana.email });
  const page = await follow(browser, await browser.submit(sent, { code: await world.mailedCode('login') }));
  expect(page.body).toContain('So that your first step alone is not enough to get in');
  expect(page.body).not.toMatch(/password/i);
});

test('a code by mail works only for the place for which it was requested', async () => {
  const { ana, browser, form } = await arrive({ emailOtpLoginEnabled: true });
  const sent = await browser.post('/oauth/login/email-otp/start', {
    client_id: hidden(form, 'client_id'),
    destination: 'account',
    email: ana.email,
  });
  const swapped = await browser.submit(sent, {
    code: await world.mailedCode('login'),
    destination: 'account/password',
  });
  expect(swapped.statusCode).not.toBe(303);
  expect(browser.cookies.has('hosted_session')).toBe(false);
});

test('resetting a forgotten password leads back to the account page', async () => {
  const { environment, ana, browser, form } = await arrive();
  const forgot = await browser.get(linkIn(form.body, /href="(\/oauth\/password\/forgot[^"]*)"/));
  await browser.submit(forgot, { email: ana.email });
  const reset = await browser.get(await lastLink(world, environment.environmentId));
  const saved = await browser.submit(reset, { password: 'lantern orchard seven' });
  const again = await follow(browser, await browser.get(linkIn(saved.body, /<a class="button" href="([^"]+)"/)));
  const page = await follow(
    browser,
    await browser.submit(again, { email: ana.email, password: 'lantern orchard seven' }),
  );
  expect(page.body).toContain(`Ana Arendt · ${ana.email}`);
});

test('signing up on the way leads back to the account page', async () => {
  const { environment, browser, form } = await arrive({ allowSelfSignup: true });
  const signUp = await browser.get(linkIn(form.body, /href="(\/oauth\/register[^"]*)"/));
  const email = 'newcomer@example.com';
  const chosen = 'lantern orchard seven';
  await browser.submit(signUp, { email, password: chosen, first_name: 'New', last_name: 'Comer' });
  const confirm = await browser.get(await lastLink(world, environment.environmentId));
  const confirmed = await browser.submit(confirm, {});
  const again = await follow(browser, await browser.get(linkIn(confirmed.body, /<a class="button" href="([^"]+)"/)));
  const page = await follow(browser, await browser.submit(again, { email, password: chosen }));
  expect(page.body).toContain(`New Comer · ${email}`);
});

test('a passkey leads to the account page', async () => {
  const { client, ana, browser, form } = await arrive({ passkeyLoginEnabled: true });
  const authenticator = createAuthenticator({ origin: world.baseUrl, isSynced: true });
  await giveKey(world, ana, authenticator);
  const call = (path: string, more: object) =>
    world.app.inject({
      method: 'POST',
      url: `/oauth/login/passkey/${path}`,
      headers: fromPage(world.baseUrl),
      payload: { client_id: client.clientId, destination: hidden(form, 'destination'), ...more },
    });
  const { options, ...fresh } = (await call('options', {})).json();
  const answer = await call('verify', { ...fresh, credential: authenticator.get(options) });
  expect(answer.json()).toEqual({ redirect_to: `${world.baseUrl}${accountUrl(client, { signed_in: 'yes' })}` });
  for (const { name, value } of answer.cookies) browser.cookies.set(name, value);
  expect(await isAccountOf(browser, client, ana.email)).toBe(true);
});

test('a second factor leads to the account page, and its target cannot be swapped meanwhile', async () => {
  const { environment, ana, browser, form } = await arrive({ mfaPolicy: 'optional' });
  const totp = await enrollTotp(world, environment, ana);
  const challenge = await browser.submit(form, { email: ana.email, password });
  for (const swapped of ['account/password', 'https://evil.example/']) {
    const refused = await browser.submit(challenge, { code: totp.code(), destination: swapped });
    expect(refused.statusCode).toBe(400);
  }
  const page = await browser.submit(challenge, { code: totp.code() });
  expect(locationOf(page).pathname).toBe('/oauth/account');
  expect((await follow(browser, page)).body).toContain(ana.email);
});

test('a required enrollment leads to the account page, before anything else', async () => {
  const { client, ana, browser, form } = await arrive({ mfaPolicy: 'required', mfaGracePeriodDays: 0 });
  const choice = await browser.submit(form, { email: ana.email, password });
  expect(choice.body).toContain('name="enrollment_token"');
  expect((await browser.get(accountUrl(client))).statusCode).toBe(303); // not signed in yet
});
