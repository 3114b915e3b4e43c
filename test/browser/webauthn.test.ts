import { generateKeyPairSync } from 'node:crypto';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { barriers, headingOf } from '../support/chromium.js';
import { asOwner } from '../support/database.js';
import type { Person } from '../support/seed.js';
import { claimIn, fillIn, idToken, type Site, startSite } from '../support/site.js';
import { until } from '../support/until.js';
import { plugIn } from '../support/virtual-authenticator.js';

let site: Site;
let page: Page;
beforeAll(async () => {
  site = await startSite({ settings: `mfa_policy = 'required', mfa_grace_period_days = 0` });
});
afterAll(() => site?.stop());
afterEach(async () => {
  expect(await site.leave()).toEqual([]); // includes violations of the pages' own security policy
});

async function arrive(options?: BrowserContextOptions) {
  page = await site.arrive(options);
  // Records what the pages request from the browser, without changing it.
  await page.addInitScript(`
    const asked = (window.asked = []);
    const get = navigator.credentials?.get.bind(navigator.credentials);
    if (get) navigator.credentials.get = (options) => { asked.push(options.mediation ?? 'optional'); return get(options); };
  `);
}

const button = (name: string | RegExp) => page.getByRole('button', { name });
const heading = (name: string | RegExp) => headingOf(page, name);
const claim = (name: string) => claimIn(page, idToken, name);
const passkeyButton = () => button('Sign in with a passkey');
const expectNoBarriers = async () => expect(await barriers(page)).toEqual([]);

/** Opens the sign-in page as on another day: without any session. */
async function startAnew({ until = /^Sign in to / as string | RegExp } = {}) {
  await page.context().clearCookies();
  await page.goto(site.shop.url);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await heading(until).waitFor();
}

/** Signs a person in anew, as far as the page of the second step. */
async function startChallenge(person: Person) {
  await startAnew();
  await fillIn(page, person);
  await heading('Confirm that it is you').waitFor();
}

/** Simulates a browser that suggests no passkeys, so that only the button requests one. */
const withoutSuggestions = () =>
  page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');

/** Deletes all second factors of a person. */
const forget = ({ email }: Person) =>
  asOwner(async (owner) => {
    for (const table of ['mfa_factors', 'recovery_codes']) {
      await owner.query(`delete from ${table} where identity_id in (select id from identities where email = $1)`, [
        email,
      ]);
    }
  }, site.service.ownerUrl);

/** Enrolls the plugged-in key during a first sign-in; returns the recovery codes. */
async function enroll(person: Person): Promise<string[]> {
  await startAnew();
  await fillIn(page, person);
  await heading('Protect your sign-in').waitFor();
  await button(/passkey/i).click();
  await heading('Set up a passkey or security key').waitFor();
  await expectNoBarriers();
  await button('Continue').click();
  await heading('Save your recovery codes').waitFor();
  await expectNoBarriers();
  const codes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents();
  expect(codes).toHaveLength(10);
  await button('I have saved them').click();
  await heading(/^Hello, /).waitFor();
  return codes;
}

let anasCodes: string[];

test('a security key is set up as the first factor, and requested at the next sign-in', async () => {
  await arrive();
  const key = await plugIn(page, 'security-key');
  anasCodes = await enroll(site.data.ana);
  expect(await key.count()).toBe(1);
  expect(await claim('amr').textContent()).toMatch(/pwd.*hwk.*mfa/);

  await startChallenge(site.data.ana);
  await expectNoBarriers();
  await button('Continue').click();
  await heading('Hello, Ana Example').waitFor();
  expect(await claim('acr').textContent()).toMatch(/aal2/);
});

test('a device that was remembered is not asked again', async () => {
  await arrive();
  await plugIn(page, 'security-key');
  // The key of the earlier test: this browser has none that fits, so a recovery code replaces it.
  await startChallenge(site.data.ana);
  await button(/recovery code/i).click();
  await page.getByLabel('Recovery code').fill(anasCodes.pop() as string);
  await page.getByLabel(/Do not ask again/).check();
  await button('Continue').click();
  await heading('Hello, Ana Example').waitFor();

  await button('Sign out').click();
  await page.getByRole('link', { name: 'Sign in' }).click();
  await fillIn(page, site.data.ana);
  await heading('Hello, Ana Example').waitFor();
});

test('a passkey of the device is enough to sign in: by the button, and from the suggestions of the address field', async () => {
  await arrive();
  const phone = await plugIn(page, 'platform');
  await enroll(site.data.ben);
  expect(await phone.count()).toBe(1);

  await phone.attend(false);
  await startAnew();
  await expectNoBarriers();
  expect(await page.getByLabel('Email').getAttribute('autocomplete')).toBe('username webauthn');
  await page.waitForFunction(`window.asked.includes('conditional')`); // the user chooses no suggestion, and the button takes over
  await phone.attend(true);
  await passkeyButton().click();
  await heading('Hello, Ben Example').waitFor();
  expect(await claim('amr').textContent()).toMatch(/swk.*user.*mfa/);
  expect(await claim('acr').textContent()).toMatch(/aal2/);

  await startAnew({ until: 'Hello, Ben Example' }); // the virtual device chooses the first suggestion by itself
  expect(await claim('amr').textContent()).toMatch(/swk.*user.*mfa/);
});

test('on a slow line the button shows that it waits, and another click requests nothing more', async () => {
  await arrive();
  await withoutSuggestions();
  await startAnew();
  let requested = 0;
  let fail = () => {};
  await page.route('**/oauth/login/passkey/options', async (route) => {
    requested += 1;
    await new Promise<void>((failed) => {
      fail = failed;
    });
    await route.abort();
  });
  const cursor = () => passkeyButton().evaluate((one) => getComputedStyle(one).cursor);
  expect(await cursor()).toBe('pointer');
  await passkeyButton().click();
  expect(await cursor()).toBe('progress');
  await passkeyButton().click();
  await until('the options are requested', () => requested > 0);
  fail();
  await page.getByRole('alert').filter({ hasText: 'That did not work.' }).waitFor();
  expect([await cursor(), requested]).toEqual(['pointer', 1]);
});

test('a page that stays open longer than its challenge is valid requests another, and tries again if that came too late', async () => {
  await arrive();
  const phone = await plugIn(page, 'platform');
  await forget(site.data.ben);
  await enroll(site.data.ben);
  await phone.attend(false);
  await page.clock.install();
  await startAnew();
  const suggested = (times: number) =>
    until(
      `passkeys are suggested (${times})`,
      async () => (await page.evaluate<string>('window.asked.join()')) === Array(times).fill('conditional').join(),
      { timeoutMs: 20_000 },
    );
  await suggested(1);
  await page.clock.fastForward('26:00');
  await suggested(2);

  let isStale = true;
  await page.route('**/oauth/login/passkey/options', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), ...(isStale && { passkey_token: 'stale' }) } });
    isStale = false;
  });
  await phone.attend(true);
  await startAnew({ until: 'Hello, Ben Example' });
  expect(isStale).toBe(false);
});

test('a key that was cancelled or not recognized is reported, and every other way stays open', async () => {
  await arrive();
  await withoutSuggestions();
  const phone = await plugIn(page, 'platform');
  await forget(site.data.ben);
  const [code = ''] = await enroll(site.data.ben);
  await phone.recognize(false);
  await startAnew();
  await passkeyButton().click();
  const alert = page.getByRole('alert');
  await alert.filter({ hasText: 'cancelled or took too long' }).waitFor();
  await expectNoBarriers();
  await passkeyButton().and(page.locator(':enabled')).waitFor();

  await fillIn(page, site.data.ben);
  await heading('Confirm that it is you').waitFor();
  await button('Continue').click();
  await alert.filter({ hasText: 'cancelled or took too long' }).waitFor();
  await expectNoBarriers();
  await phone.recognize(true); // the same page allows another attempt
  await button('Continue').click();
  await heading('Hello, Ben Example').waitFor();

  await phone.recognize(false);
  await startAnew();
  await fillIn(page, site.data.ben);
  await button('Continue').click();
  await alert.filter({ hasText: 'cancelled or took too long' }).waitFor();
  await button(/recovery code/i).click();
  await page.getByLabel('Recovery code').fill(code);
  await button('Continue').click();
  await heading('Hello, Ben Example').waitFor();
});

test('a passkey that the service does not know is refused, in the browser’s language', async () => {
  await arrive({ locale: 'de-DE', colorScheme: 'dark', viewport: { width: 320, height: 640 } });
  await withoutSuggestions();
  const phone = await plugIn(page, 'platform');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
  await phone.keepForeignPasskey({ rpId: 'localhost', privateKey: pkcs8 });
  await page.goto(site.shop.url);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await button('Mit einem Passkey anmelden').click();
  await page.getByRole('alert').filter({ hasText: 'Dieser Passkey gilt hier nicht' }).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
  await expectNoBarriers();
});

test('a box that was ticked beside the key or a mailed code stays ticked for whatever comes next', async () => {
  await arrive();
  await plugIn(page, 'security-key');
  await startChallenge(site.data.ana);
  const tick = page.getByLabel(/Do not ask again/);
  await tick.check();
  await button('Recovery code').click();
  await page.getByLabel('Recovery code').waitFor();
  expect(await tick.isChecked()).toBe(true);
  await tick.uncheck();
  await button('Passkey or security key').click();
  await page.getByText('Use your passkey or security key.').waitFor();
  expect(await tick.isChecked()).toBe(false);

  await button('Code by email').click();
  await button('Send a code').click();
  await page.getByLabel('Code', { exact: true }).waitFor();
  await tick.check();
  await button('Send a new code').click();
  await page.getByText('We sent a new code.').waitFor();
  expect(await tick.isChecked()).toBe(true);
  await button('Passkey or security key').click();
  await page.getByText('Use your passkey or security key.').waitFor();
  expect(await tick.isChecked()).toBe(true);
});

test('a person who comes back to the page of the key goes on with the session, or is told how', async () => {
  await arrive();
  await withoutSuggestions();
  await plugIn(page, 'platform');
  await forget(site.data.ben);
  await enroll(site.data.ben);
  await startChallenge(site.data.ben);
  await button('Continue').click();
  await heading('Hello, Ben Example').waitFor();

  await page.goBack();
  await heading('Confirm that it is you').waitFor();
  await button('Continue').click();
  await heading('Hello, Ben Example').waitFor();

  await page.goBack();
  await heading('Confirm that it is you').waitFor();
  await page.context().clearCookies();
  await button('Continue').click();
  await heading('This sign-in is over').waitFor();
  await expectNoBarriers();
  await page.getByRole('link', { name: 'Continue' }).click();
  await heading(/^Sign in to /).waitFor();
});

test('a page of the key that was left open too long leads to a new sign-in', async () => {
  await arrive();
  await plugIn(page, 'security-key');
  const isOver = async () => {
    await asOwner((owner) => owner.query('update pending_sign_ins set expires_at = now()'), site.service.ownerUrl);
    await button('Continue').click();
    await heading('This sign-in has expired').waitFor();
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await heading(/^Sign in to /).waitFor();
  };
  await startChallenge(site.data.ana);
  await isOver();

  await forget(site.data.ben);
  await fillIn(page, site.data.ben);
  await heading('Protect your sign-in').waitFor();
  await button(/passkey/i).click();
  await heading('Set up a passkey or security key').waitFor();
  await isOver();
});

test('the page stays usable when the service is away during the key’s request', async () => {
  await arrive();
  await plugIn(page, 'security-key');
  await startChallenge(site.data.ana);
  await page.route('**/oauth/mfa/webauthn/options', (route) => route.abort());
  await button('Continue').click();
  await page.getByRole('alert').filter({ hasText: 'That did not work' }).waitFor();
  await page.unroute('**/oauth/mfa/webauthn/options');
  await button(/recovery code/i).click();
  await page.getByLabel('Recovery code').waitFor();
});

test('without JavaScript the other ways work, and a page that needs it says so', async () => {
  await arrive({ javaScriptEnabled: false });
  await startAnew();
  expect(await passkeyButton().count()).toBe(0);
  await fillIn(page, site.data.ana);
  await heading('Confirm that it is you').waitFor();
  await page.getByText('need JavaScript and a browser that supports them').waitFor();
  expect(await button('Continue').count()).toBe(0);
  await button(/recovery code/i).click();
  await page.getByLabel('Recovery code').fill(anasCodes.pop() as string);
  await button('Continue').click();
  await heading('Hello, Ana Example').waitFor();
});

test('a browser without WebAuthn works alike', async () => {
  await arrive();
  await page.addInitScript('delete window.PublicKeyCredential');
  await startAnew();
  expect(await passkeyButton().count()).toBe(0);
  await fillIn(page, site.data.ana);
  await heading('Confirm that it is you').waitFor();
  await page.getByText('need JavaScript and a browser that supports them').waitFor();
  expect(await button(/recovery code/i).count()).toBe(1);
});

test('a browser without JSON options and conditional suggestions signs in by the button', async () => {
  await arrive();
  const phone = await plugIn(page, 'platform');
  await page.addInitScript(`
    for (const name of ['parseCreationOptionsFromJSON', 'parseRequestOptionsFromJSON', 'isConditionalMediationAvailable']) {
      delete PublicKeyCredential[name];
    }
    delete PublicKeyCredential.prototype.toJSON;
  `);
  await forget(site.data.ben);
  await enroll(site.data.ben);
  expect(await phone.count()).toBe(1);
  await startAnew();
  await passkeyButton().click();
  await heading('Hello, Ben Example').waitFor();
});

test('a valid key of a kind that the Environment does not allow leads to the page with the allowed kinds', async () => {
  await arrive();
  await withoutSuggestions();
  await plugIn(page, 'platform');
  await forget(site.data.ben);
  await enroll(site.data.ben);
  const allow = (kinds: string) =>
    asOwner(
      (owner) => owner.query('update environment_settings set mfa_allowed_factors = $1', [kinds]),
      site.service.ownerUrl,
    );
  await allow('{totp}');
  try {
    await startChallenge(site.data.ben);
    await button('Continue').click();
    await heading('Protect your sign-in').waitFor();
    await button('Authenticator app').waitFor();
    expect(await button(/passkey/i).count()).toBe(0);
    await expectNoBarriers();
  } finally {
    await allow('{totp,webauthn,recovery_code,email_otp}');
  }
});
