import type { BrowserContextOptions, Page } from 'playwright-core';
import { registerLogoutAddress } from '../../src/dev/demo-data.js';
import { barriers, headingOf, smallTargets } from '../support/chromium.js';
import { totpCode } from '../support/mfa.js';
import type { Person } from '../support/seed.js';
import { fillIn, type Site, startAt, startSite } from '../support/site.js';
import { until } from '../support/until.js';
import { plugIn } from '../support/virtual-authenticator.js';

let site: Site;
let page: Page;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site?.stop());
afterEach(async () => {
  expect(await site.leave()).toEqual([]); // includes violations of the pages' own security policy
});

async function arrive(options?: BrowserContextOptions): Promise<Page> {
  page = await site.arrive(options);
  return page;
}

const accountUrl = (more: Record<string, string> = {}) =>
  `${site.service.baseUrl}/oauth/account?${new URLSearchParams({ client_id: site.data.publicClient, ...more })}`;
const heading = (name: string | RegExp, on = page) => headingOf(on, name);
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
const link = (name: string | RegExp) => page.getByRole('link', { name, exact: true });
const row = (text: string | RegExp) => page.getByRole('listitem').filter({ hasText: text });
/** Returns the message about what was done, which has the focus, so that it is read out. */
async function notice() {
  await page.locator('[role=status]:focus').waitFor();
  return page.getByRole('status').textContent();
}
const expectNoBarriers = async () => expect(await barriers(page)).toEqual([]);

async function open(person: Person, more?: Record<string, string>) {
  await page.goto(accountUrl(more));
  await fillIn(page, person);
}

/** Presses Tab until an element with this name has the focus, as a person without a mouse does. */
async function tabTo(name: string) {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(
      `(document.activeElement.ariaLabel ?? document.activeElement.innerText ?? '').trim()`,
    );
    if (focused === name) return;
  }
  throw new Error(`the keyboard does not reach ${name}`);
}

test('a person signs a lost browser out of everything, and an application loses its access', async () => {
  const phone = await arrive();
  await phone.goto(site.shop.url);
  await phone.getByRole('link', { name: 'Sign in' }).click();
  await fillIn(phone, site.data.ben);
  await heading('Hello, Ben Example', phone).waitFor();

  await arrive();
  await open(site.data.ben);
  await heading('Your account').waitFor();
  await page.getByText(`Ben Example · ${site.data.ben.email}`).waitFor();
  await expectNoBarriers();
  const here = row('this browser');
  expect(await here.getByRole('button').count()).toBe(0);
  await row(/Last sign-in/)
    .getByRole('button', { name: /^Sign out: Chrome on / })
    .click();
  expect(await notice()).toBe('The other browser is signed out.');
  await expectNoBarriers();
  await page.getByText('None at the moment.').waitFor(); // the shop's access ended too

  await phone.getByRole('button', { name: 'Refresh tokens' }).click();
  await heading('That did not work', phone).waitFor();
  await phone.goto(accountUrl());
  await heading(/^Sign in to /, phone).waitFor();

  await page.goto(site.shop.url);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await heading('Hello, Ben Example').waitFor(); // already signed in: single sign-on
  await page.goto(accountUrl());
  await button(/^End access: /).click();
  expect(await notice()).toBe('The application no longer has access.');
  await button('Sign out here').click();
  await heading('You are signed out').waitFor();
  await page.goto(accountUrl());
  await heading(/^Sign in to /).waitFor();
});

test('an application signs its person out when a logout token says that they are signed out elsewhere', async () => {
  const { data, service, shop } = site;
  await registerLogoutAddress(service.databaseUrl, { scope: data.scope, clientId: data.publicClient }, shop.url);
  const phone = await arrive();
  await startAt(phone, shop.url);
  await fillIn(phone, data.ben);
  await heading('Hello, Ben Example', phone).waitFor();
  const forged = new URLSearchParams({ logout_token: 'e30.e30.e30' });
  expect((await fetch(`${shop.url}/backchannel-logout`, { method: 'POST', body: forged })).status).toBe(400);
  await phone.reload();
  await heading('Hello, Ben Example', phone).waitFor();

  await arrive();
  await startAt(page, shop.url);
  await fillIn(page, data.ben);
  await heading('Hello, Ben Example').waitFor();
  await page.goto(accountUrl());
  await button('Sign out everywhere else').click();
  expect(await notice()).toBe('You are signed out everywhere else.');
  await until('the telephone is signed out', async () => {
    await phone.reload();
    return phone.getByRole('heading', { name: 'You are signed out' }).isVisible();
  });
  await page.goto(shop.url);
  await heading('Hello, Ben Example').waitFor(); // this browser's session is none of those that have ended
});

test('a person changes the password with the keyboard alone, in dark mode on a phone, and without scripts', async () => {
  await arrive({ colorScheme: 'dark', viewport: { width: 360, height: 740 } });
  await open(site.data.ben);
  await heading('Your account').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await expectNoBarriers();
  // With letters of twice the size, name and address get the whole width, below the circle.
  const left = () => page.locator('.person .who').evaluate((one) => one.getBoundingClientRect().left);
  expect(await left()).toBeGreaterThan(60);
  await page.evaluate(`document.documentElement.style.fontSize = '200%'`);
  expect(await left()).toBeLessThan(40);
  await page.evaluate(`document.documentElement.style.fontSize = ''`);
  await tabTo('Change: Password');
  await page.keyboard.press('Enter');
  await heading('Change your password').waitFor();
  await expectNoBarriers();
  expect(await smallTargets(page)).toEqual([]);
  await page.locator('#current_password:focus').waitFor();
  await page.keyboard.type('not the one');
  await page.keyboard.press('Tab'); // to the button that shows the password
  await page.keyboard.press('Tab');
  await page.keyboard.type('a long row of new words');
  await page.keyboard.press('Enter');
  expect(await page.getByRole('alert').textContent()).toBe('That is not your current password.');
  await expectNoBarriers();
  await page.locator('#current_password:focus').waitFor();
  await page.keyboard.type(site.data.ben.password);
  await page.keyboard.press('Tab'); // to the button that shows the password
  await page.keyboard.press('Tab');
  await page.keyboard.type('a long row of new words');
  await page.keyboard.press('Enter');
  expect(await notice()).toMatch(/^Your password is changed/);

  await arrive({ javaScriptEnabled: false });
  await open({ email: site.data.ben.email, password: 'a long row of new words' });
  await link('Change: Password').click();
  await page.getByLabel('Current password', { exact: true }).fill('a long row of new words');
  await page.getByLabel('New password', { exact: true }).fill(site.data.ben.password);
  await button('Save password').click();
  expect(await notice()).toMatch(/^Your password is changed/);
});

test('a person adds an app and a passkey, renews recovery codes, and removes the app', async () => {
  await arrive();
  await plugIn(page, 'platform');
  await open(site.data.ana);
  const tops = await link(/(Authenticator app|Passkey or security key)$/).evaluateAll((all) =>
    all.map((one) => one.getBoundingClientRect().top),
  );
  expect(new Set(tops).size).toBe(1); // side by side
  await link(/Authenticator app$/).click();
  await heading('Add an authenticator app').waitFor();
  await page.getByRole('img', { name: /^QR code/ }).waitFor();
  await expectNoBarriers();
  const secret = ((await page.getByRole('definition').textContent()) ?? '').replace(/\s/g, '');
  await page.getByLabel('Code from the app').fill('000000');
  await page.getByLabel('Name (optional)').fill('Ana’s phone');
  await button('Add').click();
  expect(await page.getByRole('alert').textContent()).toMatch(/^That code is not right/);
  expect(await page.getByLabel('Name (optional)').inputValue()).toBe('Ana’s phone');
  await expectNoBarriers();
  await page.getByLabel('Code from the app').fill(totpCode(secret, new Date()));
  await button('Add').click();
  await heading('Your recovery codes').waitFor();
  expect(await page.getByRole('listitem').count()).toBe(10);
  await expectNoBarriers();
  // As the page advises, they can be printed: dark on white, without what can only be pressed.
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  expect(await link('I have saved them').isVisible()).toBe(false);
  expect(await page.locator('.codes').evaluate((codes) => getComputedStyle(codes).color)).toBe('rgb(24, 27, 33)');
  await page.emulateMedia({ media: null, colorScheme: null });
  await link('I have saved them').click();
  await row('Ana’s phone').waitFor();
  await row('10 left').waitFor();

  await link(/Passkey or security key$/).click();
  await heading('Add a passkey or security key').waitFor();
  await expectNoBarriers();
  await page.getByLabel('Name (optional)').fill('Laptop');
  await button('Add').click();
  await row('Laptop').waitFor();
  expect(await notice()).toBe('Added. You can use it from now on.');

  await link('New codes').click();
  await heading('New recovery codes').waitFor();
  await expectNoBarriers();
  await button('Create new codes').click();
  await heading('Your recovery codes').waitFor();
  await page.goBack();
  await page.goForward();
  expect(await notice()).toMatch(/^Those recovery codes were shown before/);

  await link('Remove: Ana’s phone').click();
  await heading('Remove “Ana’s phone”?').waitFor();
  await expectNoBarriers();
  await button('Remove').click();
  expect(await notice()).toBe('Removed.');
  expect(await row('Ana’s phone').count()).toBe(0);
  await row('Laptop').waitFor();
});

test('the page is in German, and describes browsers in words', async () => {
  await arrive({
    userAgent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
  });
  await page.goto(accountUrl({ ui_locales: 'de' }));
  await page.getByLabel('E-Mail').fill(site.data.ben.email);
  await page.getByLabel('Passwort', { exact: true }).fill(site.data.ben.password);
  await button('Anmelden').click();
  await heading('Ihr Konto').waitFor();
  expect(await page.locator('html').getAttribute('lang')).toBe('de');
  await row('dieser Browser').filter({ hasText: 'Safari auf iPhone' }).waitFor();
  await expectNoBarriers();
  await link('Ändern: Passwort').click();
  await heading('Passwort ändern').waitFor();
  await link('Zurück zu Ihrem Konto').click();
  await heading('Ihr Konto').waitFor();
});
