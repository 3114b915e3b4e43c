import { Client, Connection } from '@temporalio/client';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { barriers, headingOf } from '../support/chromium.js';
import { asOwner } from '../support/database.js';
import { waitForMail } from '../support/inbox.js';
import { totpCode } from '../support/mfa.js';
import { patience } from '../support/patience.js';
import type { Person } from '../support/seed.js';
import { claimIn, fillIn, idToken, type Site, startAt, startSite } from '../support/site.js';

let site: Site;
let page: Page;
beforeAll(async () => {
  site = await startSite({ settings: `mfa_policy = 'required'` });
});
afterAll(() => site?.stop());
afterEach(async () => {
  expect(await site.leave()).toEqual([]); // includes violations of the pages' own security policy
});

const arrive = async (options?: BrowserContextOptions) => {
  page = await site.arrive(options);
};

const button = (name: string) => page.getByRole('button', { name, exact: true });
const heading = (name: string | RegExp) => headingOf(page, name);
const amr = () => claimIn(page, idToken, 'amr').textContent();

async function signIn(person: Person) {
  await startAt(page, site.shop.url);
  await fillIn(page, person);
}
/** Clicks twice, as people do. @returns how many forms the browser has sent */
async function clickTwice(name: string, comes: () => Promise<unknown>) {
  let sent = 0;
  const count = (request: { method(): string }) => {
    if (request.method() === 'POST') sent++;
  };
  page.on('request', count);
  await button(name).dblclick();
  await comes();
  page.off('request', count);
  return sent;
}
async function expectNoBarriers() {
  expect(await barriers(page)).toEqual([]);
}
const identityId = (email: string) =>
  asOwner(
    async (db) => (await db.query('select id from identities where email = $1', [email])).rows[0].id as string,
    site.service.ownerUrl,
  );

/** The secret in Ana's app and the recovery codes on her sheet of paper. */
let secret = '';
let recoveryCodes: string[] = [];

test('a person postpones the second factor, and the grace’s process waits from then on', async () => {
  await arrive();
  await signIn(site.data.ben);
  await heading('Protect your sign-in').waitFor();
  expect(await page.getByText(/You can put it off until/).count()).toBe(1);
  await expectNoBarriers();
  await button('Later').click();
  await heading(/^Hello, Ben/).waitFor();
  expect(await amr()).not.toContain('mfa');

  const connection = await Connection.connect({ address: site.service.temporalAddress });
  try {
    const id = `mfa-grace/${site.data.scope.environmentId}/${await identityId(site.data.ben.email)}`;
    const handle = new Client({ connection }).workflow.getHandle(id);
    const until = Date.now() + patience;
    const running = () =>
      handle.describe().then(
        ({ status }) => status.name === 'RUNNING',
        () => false,
      );
    while (!(await running()) && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await running()).toBe(true);
  } finally {
    await connection.close();
  }
});

test('a person sets up an authenticator app by its key, saves the recovery codes and is signed in', async () => {
  await arrive();
  await signIn(site.data.ana);
  await heading('Protect your sign-in').waitFor();
  await page.getByRole('button', { name: 'Authenticator app' }).click();
  await heading('Set up your authenticator app').waitFor();
  await page.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor();
  await expectNoBarriers();
  secret = ((await page.getByRole('definition').textContent()) ?? '').replaceAll(' ', '');

  await page.getByLabel('Code from the app').fill('000000');
  await button('Confirm').click();
  await page.getByRole('alert').waitFor();
  await expectNoBarriers();
  await page.getByLabel('Code from the app').fill(totpCode(secret, new Date()));
  await button('Confirm').click();

  await heading('Save your recovery codes').waitFor();
  recoveryCodes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents();
  expect(recoveryCodes).toHaveLength(10);
  await expectNoBarriers();
  await page.evaluate('navigator.clipboard.writeText = async () => { throw new Error("denied"); }');
  await button('Copy').click();
  await page.getByText('Your browser does not allow copying.').waitFor();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate('delete navigator.clipboard.writeText');
  await button('Copy').click();
  await page.getByText('Copied', { exact: true }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${recoveryCodes.join('\n')}\n`);
  const again = await page.context().newPage();
  await again.goto(page.url());
  await again.getByRole('heading', { name: 'Your recovery codes were shown already' }).waitFor();
  expect(await again.getByRole('listitem').count()).toBe(0);
  expect(await barriers(again)).toEqual([]);
  await again.close();
  expect(await clickTwice('I have saved them', () => heading(/^Hello, Ana/).waitFor())).toBe(1);
  expect(await amr()).toMatch(/pwd.*otp.*mfa/);
  const notice = await waitForMail(site.service.inboxUrl, site.data.ana.email, /^Security notice/);
  expect(notice.text).toContain('A second sign-in step was added: Authenticator app.');
});

test('the next sign-in asks for the app’s code, and the browser can be remembered', async () => {
  await arrive();
  await signIn(site.data.ana);
  await heading('Confirm that it is you').waitFor();
  await expectNoBarriers();
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await button('Continue').click();
  await page.getByRole('alert').waitFor();
  await page.locator('#code:focus').waitFor();
  await expectNoBarriers();
  // The code after the one that enrolled the app: one step ahead is within the drift.
  await page.getByLabel('Code', { exact: true }).fill(totpCode(secret, new Date(Date.now() + 30_000)));
  await page.getByLabel('Do not ask again in this browser for 30 days').check();
  await button('Continue').click();
  await heading(/^Hello, Ana/).waitFor();

  await button('Sign out').click();
  await signIn(site.data.ana);
  await heading(/^Hello, Ana/).waitFor(); // this browser is remembered
  expect(await amr()).not.toContain('mfa');
});

test('a person who goes back from the application sees the sign-in pages again, and can begin again', async () => {
  await arrive();
  await startAt(page, site.shop.url);
  await fillIn(page, { ...site.data.ana, password: 'not the password' });
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Password', { exact: true }).fill(site.data.ana.password);
  await button('Sign in').click();
  await heading('Confirm that it is you').waitFor();
  await button('Recovery code').click();
  await page.getByLabel('Recovery code').fill(recoveryCodes[1] ?? '');
  await button('Continue').click();
  await heading(/^Hello, Ana/).waitFor();

  await page.goBack();
  await page.getByLabel('Recovery code').waitFor();
  await page.goBack();
  await heading('Confirm that it is you').waitFor();
  await page.goBack();
  await page.getByText('That email and password do not match.').waitFor();
  await page.goForward();
  await page.goForward();
  await page.getByLabel('Recovery code').fill(recoveryCodes[2] ?? '');
  await button('Continue').click();
  await heading(/^Hello, Ana/).waitFor(); // already signed in
});

test('without scripts, a form that is sent twice explains how to go on, if the browser dropped the first answer', async () => {
  await arrive({ javaScriptEnabled: false });
  await signIn(site.data.ana);
  await button('Recovery code').click();
  await page.getByLabel('Recovery code').fill(recoveryCodes[3] ?? '');
  // The first answer is still on its way when the second form is sent: the browser drops it, with its cookie.
  let isFirst = true;
  await page.route('**/oauth/mfa-challenge', async (route) => {
    if (!isFirst) return route.continue();
    isFirst = false;
    await page
      .context()
      .request.fetch(route.request(), { maxRedirects: 0, headers: { ...route.request().headers(), cookie: '' } });
    await page.context().clearCookies();
    await route.continue();
  });
  await button('Continue').click();
  await heading('This sign-in is over').waitFor();
  await page.getByText('you are either signed in already, or can sign in again').waitFor();
  await page.getByRole('link', { name: 'Continue' }).click();
  await page.getByLabel('Password', { exact: true }).waitFor();
});

test('a person signs in with a recovery code, by keyboard and without JavaScript', async () => {
  await arrive({ javaScriptEnabled: false });
  await signIn(site.data.ana);
  const tick = page.getByLabel('Do not ask again in this browser for 30 days');
  await tick.check();
  await button('Recovery code').click();
  expect(await tick.isChecked()).toBe(true);
  await tick.uncheck();
  await page.getByLabel('Recovery code').pressSequentially(recoveryCodes[0]?.toLowerCase() ?? '');
  await page.keyboard.press('Enter');
  await heading(/^Hello, Ana/).waitFor();
  await waitForMail(site.service.inboxUrl, site.data.ana.email, /^Security notice/);
});

test('a person uses a mailed code as the second factor', async () => {
  await arrive();
  await signIn(site.data.ana);
  await button('Code by email').click();
  await expectNoBarriers();
  await button('Send a code').click();
  await page.getByText('We sent a code to your email address.').waitFor();
  await expectNoBarriers();
  const { text } = await waitForMail(site.service.inboxUrl, site.data.ana.email, /^Your code for/);
  await page.getByLabel('Code', { exact: true }).fill(/\b\d{3} \d{3}\b/.exec(text)?.[0] ?? '');
  expect(await clickTwice('Continue', () => heading(/^Hello, Ana/).waitFor())).toBe(1);
  expect(await amr()).not.toContain('mfa');
});

test('the pages are in the browser’s language, and readable in dark mode and on a small screen', async () => {
  await arrive({ locale: 'de-AT', colorScheme: 'dark', viewport: { width: 320, height: 640 } });
  const look = async (title: string) => {
    await heading(title).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
    await expectNoBarriers();
  };
  const enter = async ({ email, password }: Person) => {
    await page.goto(site.shop.url);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-Mail').fill(email);
    await page.getByLabel('Passwort', { exact: true }).fill(password);
    await button('Anmelden').click();
  };
  await enter(site.data.ana);
  await look('Bestätigen Sie, dass Sie es sind');
  await enter(site.data.ben);
  await page.getByRole('button', { name: 'Authenticator-App' }).click();
  await look('Authenticator-App einrichten');
  await button('Etwas anderes wählen').click();
  await page.getByRole('button', { name: 'Code per E-Mail' }).click();
  await look('Codes per E\u2011Mail einrichten');
});

test('a page that was left open too long offers to begin again', async () => {
  await arrive();
  await signIn(site.data.ana);
  await heading('Confirm that it is you').waitFor();
  await asOwner((db) => db.query(`update pending_sign_ins set expires_at = now()`), site.service.ownerUrl);
  await page.getByLabel('Code', { exact: true }).fill('123456');
  await button('Continue').click();
  await heading('This sign-in has expired').waitFor();
  await expectNoBarriers();
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await page.getByLabel('Password', { exact: true }).waitFor();
});
