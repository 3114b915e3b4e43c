import { createLocalJWKSet, jwtVerify } from 'jose';
import { hours, seconds } from '../../../src/platform/clock.js';
import { codeIn, enrollTotp, passwordStep } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { redirectUri, type TestClient } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';

/** Claims about a sign-in, read with a stock library. */
const provider = await newProvider();
afterAll(() => provider.close());

const aal1 = 'urn:gatehouse:aal1';
const aal2 = 'urn:gatehouse:aal2';

async function newPerson() {
  const environment = await provider.newEnvironment();
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  return { environment, client, ana, totp: await enrollTotp(provider, environment, ana), browser: provider.browser() };
}

/** Returns the claims of both tokens, which have to agree. */
async function claimsFor(client: TestClient, code: string, verifier: string) {
  const keys = createLocalJWKSet((await provider.app.inject('/.well-known/jwks.json')).json());
  const { access_token, id_token } = (
    await redeem(provider.app, client, { code, verifier, redirect: redirectUri })
  ).json();
  const options = { issuer: provider.baseUrl, currentDate: provider.now() };
  const access = await jwtVerify(access_token, keys, { ...options, typ: 'at+jwt' });
  const id = await jwtVerify(id_token, keys, { ...options, audience: client.clientId });
  const said = ({ amr, acr, auth_time }: Record<string, unknown>) => ({ amr, acr, auth_time });
  expect(said(id.payload)).toEqual(said(access.payload));
  return said(id.payload);
}
const inSeconds = (date: Date) => Math.floor(date.getTime() / 1000);

/** Sends the browser to the client's request; returns where it ends. */
async function authorize(browser: Browser, client: TestClient, more: Record<string, string> = {}) {
  const { verifier, challenge } = newPkce();
  return { page: await browser.get(authorizeUrl(client, { code_challenge: challenge, ...more })), verifier };
}

test('an app means aal2, and the time is that of the password', async () => {
  const { client, ana, totp, browser } = await newPerson();
  const { page, verifier } = await passwordStep(browser, client, ana);
  const proved = inSeconds(provider.now());
  provider.wait(seconds(40));
  const answer = await browser.submit(page, { code: totp.code() });
  expect(await claimsFor(client, codeIn(answer), verifier)).toEqual({
    amr: ['pwd', 'otp', 'mfa'],
    acr: aal2,
    auth_time: proved,
  });
});

test('a recovery code means aal2, without a factor of its own', async () => {
  const { client, ana, totp, browser } = await newPerson();
  const { page, verifier } = await passwordStep(browser, client, ana);
  const answer = await browser.submit(page, { recovery_code: totp.recoveryCodes?.[0] ?? '' });
  expect(await claimsFor(client, codeIn(answer), verifier)).toMatchObject({ amr: ['pwd', 'mfa'], acr: aal2 });
});

test('an emailed code never means aal2', async () => {
  const { client, ana, browser } = await newPerson();
  const { page, verifier } = await passwordStep(browser, client, ana);
  const sent = await browser.submit(await browser.submit(page, { factor: 'email_otp' }), {});
  const answer = await browser.submit(sent, { code: await provider.mailedCode('mfa') });
  expect(await claimsFor(client, codeIn(answer), verifier)).toMatchObject({ amr: ['pwd', 'otp'], acr: aal1 });
});

test('a trusted device never means aal2, nor a factor that was not used', async () => {
  const { client, ana, totp, browser } = await newPerson();
  const first = await passwordStep(browser, client, ana);
  codeIn(await browser.submit(first.page, { code: totp.code(), remember_device: 'true' }));
  browser.cookies.delete('hosted_session');
  const { page, verifier } = await passwordStep(browser, client, ana);
  expect(await claimsFor(client, codeIn(page), verifier)).toMatchObject({ amr: ['pwd'], acr: aal1 });
});

test('single sign-on keeps the amr, acr and time of the sign-in', async () => {
  const { client, ana, totp, browser } = await newPerson();
  const first = await passwordStep(browser, client, ana);
  codeIn(await browser.submit(first.page, { code: totp.code() }));
  const proved = inSeconds(provider.now());
  provider.wait(seconds(100));
  const { page, verifier } = await authorize(browser, client, { acr_values: aal2 });
  expect(await claimsFor(client, codeIn(page), verifier)).toEqual({
    amr: ['pwd', 'otp', 'mfa'],
    acr: aal2,
    auth_time: proved,
  });
});

test('a step-up of a session asks for the second factor alone, and makes the session stronger', async () => {
  const { client, ana, totp, browser } = await newPerson();
  const { page: challenge } = await passwordStep(browser, client, ana);
  const sent = await browser.submit(await browser.submit(challenge, { factor: 'email_otp' }), {});
  codeIn(await browser.submit(sent, { code: await provider.mailedCode('mfa') }));
  const proved = inSeconds(provider.now());
  provider.wait(seconds(60));

  const silent = await authorize(browser, client, { acr_values: aal2, prompt: 'none' });
  expect(locationOf(silent.page).searchParams.get('error')).toBe('interaction_required');
  const { page, verifier } = await authorize(browser, client, { acr_values: aal2 });
  expect(page.body).toContain('name="challenge_token"');
  expect(page.body).not.toContain('name="password"');
  expect(page.body).not.toContain('value="email_otp"');
  const answer = await browser.submit(page, { code: totp.code() });
  expect(await claimsFor(client, codeIn(answer), verifier)).toEqual({
    amr: ['pwd', 'otp', 'mfa'],
    acr: aal2,
    auth_time: proved,
  });
  const again = await authorize(browser, client, { acr_values: aal2, prompt: 'none' });
  expect(await claimsFor(client, codeIn(again.page), again.verifier)).toMatchObject({ acr: aal2 });
});

test('acr_values of aal2 and aal1 ask a person with a factor for it, and let a person without one continue', async () => {
  const { environment, client, ana, totp, browser } = await newPerson();
  const either = { acr_values: `${aal2} ${aal1}` };
  const { page: challenge, verifier } = await passwordStep(browser, client, ana, either);
  expect(challenge.body).not.toContain('value="email_otp"');
  expect((await browser.submit(challenge, { factor: 'totp' })).body).not.toContain('value="email_otp"');
  const answer = await browser.submit(challenge, { code: totp.code() });
  expect(await claimsFor(client, codeIn(answer), verifier)).toMatchObject({ acr: aal2 });

  const bo = await environment.newIdentity();
  const weak = provider.browser();
  const signedIn = await passwordStep(weak, client, bo, either);
  expect(await claimsFor(client, codeIn(signedIn.page), signedIn.verifier)).toMatchObject({ acr: aal1 });
  await enrollTotp(provider, environment, bo);
  await provider.query(`update environment_settings set mfa_policy = 'off' where environment_id = $1`, [
    environment.environmentId,
  ]);
  const silent = await authorize(weak, client, { ...either, prompt: 'none' });
  expect(await claimsFor(client, codeIn(silent.page), silent.verifier)).toMatchObject({ acr: aal1 });
  expect((await authorize(weak, client, either)).page.body).toContain('name="challenge_token"');
});

test('a step-up prolongs neither the session nor its cookie', async () => {
  const { environment, client, ana, totp, browser } = await newPerson();
  await provider.query(`update environment_settings set mfa_policy = 'off' where environment_id = $1`, [
    environment.environmentId,
  ]);
  const { page: signedIn } = await passwordStep(browser, client, ana);
  codeIn(signedIn);
  const until = provider.now().getTime() + hours(12);
  const left = () => (until - provider.now().getTime()) / 1000;
  provider.wait(hours(11));
  const { page } = await authorize(browser, client, { acr_values: aal2 });
  const answer = await browser.submit(page, { code: totp.code() });
  codeIn(answer);
  const cookie = answer.cookies.find(({ name }) => name === 'hosted_session');
  expect(cookie?.maxAge).toBe(left());
  provider.wait(seconds(left() - 1));
  codeIn((await authorize(browser, client, { prompt: 'none' })).page);
  provider.wait(seconds(1));
  const over = (await authorize(browser, client, { prompt: 'none' })).page;
  expect(locationOf(over).searchParams.get('error')).toBe('login_required');
});

test('max_age requires both factors again', async () => {
  const { client, ana, totp, browser } = await newPerson();
  const first = await passwordStep(browser, client, ana);
  codeIn(await browser.submit(first.page, { code: totp.code() }));
  provider.wait(seconds(61));
  const stale = await authorize(browser, client, { max_age: '60' });
  expect(stale.page.body).toContain('name="password"');
  const asked = await browser.submit(stale.page, { email: ana.email, password: 'correct horse battery' });
  expect(asked.body).toContain('name="challenge_token"');
  const now = inSeconds(provider.now());
  const answer = await browser.submit(asked, { code: totp.code() });
  expect(await claimsFor(client, codeIn(answer), stale.verifier)).toMatchObject({ auth_time: now, acr: aal2 });
});

test('prompt=none gets interaction_required from a policy that is newer than the sign-in', async () => {
  const environment = await provider.newEnvironment({ mfaPolicy: 'off' });
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const totp = await enrollTotp(provider, environment, ana);
  const browser = provider.browser();
  codeIn((await passwordStep(browser, client, ana)).page);
  await provider.query(`update environment_settings set mfa_policy = 'required' where environment_id = $1`, [
    environment.environmentId,
  ]);
  provider.wait(seconds(2)); // the process's cache of a client
  const silent = await authorize(browser, client, { prompt: 'none' });
  expect(locationOf(silent.page).searchParams.get('error')).toBe('interaction_required');
  const { page } = await authorize(browser, client);
  codeIn(await browser.submit(page, { code: totp.code() }));
  codeIn((await authorize(browser, client, { prompt: 'none' })).page);
});
