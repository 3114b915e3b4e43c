import { Client, Connection } from '@temporalio/client';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { barriers, headingOf, launchChromium, newVisitor, type Visitor } from '../support/chromium.js';
import { asOwner } from '../support/database.js';
import { waitForMail } from '../support/inbox.js';
import { totpCode } from '../support/mfa.js';
import { patience } from '../support/patience.js';
import { type Person, type Seed, seed } from '../support/seed.js';
import { type Service, startService } from '../support/service.js';
import { startRelyingParty } from '../support/service-processes.js';

let service: Service;
let data: Seed;
let browser: Browser;
let shop: { url: string; stop(): Promise<void> };
beforeAll(async () => {
  browser = await launchChromium();
  service = await startService();
  data = await seed(service.databaseUrl);
  await asOwner(
    (db) =>
      db.query(`update environment_settings set mfa_policy = 'required' where environment_id = $1`, [
        data.scope.environmentId,
      ]),
    service.ownerUrl,
  );
  shop = await startRelyingParty({ ISSUER: service.baseUrl, CLIENT_ID: data.publicClient });
});
afterAll(async () => {
  await browser?.close();
  await shop?.stop();
  await service?.stop();
});

let visitor: Visitor;
let page: Page;
async function arrive(options?: BrowserContextOptions) {
  visitor = await newVisitor(browser, options);
  page = visitor.page;
}
afterEach(async () => {
  const { complaints } = visitor;
  await visitor.close();
  expect(complaints).toEqual([]); // a violation of the pages' own security policy would be one
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const heading = (name: string | RegExp) => headingOf(page, name);
const amr = () =>
  page
    .getByRole('table', { name: 'Claims of the ID token' })
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name: 'amr', exact: true }) })
    .getByRole('cell')
    .textContent();

async function signIn({ email, password }: Person) {
  await page.goto(shop.url);
  await heading('You are signed out').waitFor();
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await button('Sign in').click();
}
async function expectNoBarriers() {
  expect(await barriers(page)).toEqual([]);
}
const identityId = (email: string) =>
  asOwner(
    async (db) => (await db.query('select id from identities where email = $1', [email])).rows[0].id as string,
    service.ownerUrl,
  );

/** What Ana's app and her sheet of paper hold. */
let secret = '';
let recoveryCodes: string[] = [];

test('a person puts the second step off, and its process waits from then on', async () => {
  await arrive();
  await signIn(data.ben);
  await heading('Protect your sign-in').waitFor();
  expect(await page.getByText(/You can put it off until/).count()).toBe(1);
  await expectNoBarriers();
  await button('Later').click();
  await heading(/^Hello, Ben/).waitFor();
  expect(await amr()).not.toContain('mfa');

  const connection = await Connection.connect({ address: service.temporalAddress });
  try {
    const id = `mfa-grace/${data.scope.environmentId}/${await identityId(data.ben.email)}`;
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

test('a person sets an authenticator app up by its key, saves the recovery codes and is signed in', async () => {
  await arrive();
  await signIn(data.ana);
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
  const again = await page.context().newPage();
  await again.goto(page.url());
  await again.getByRole('heading', { name: 'Your recovery codes were shown already' }).waitFor();
  expect(await again.getByRole('listitem').count()).toBe(0);
  expect(await barriers(again)).toEqual([]);
  await again.close();
  await button('I have saved them').click();
  await heading(/^Hello, Ana/).waitFor();
  expect(await amr()).toMatch(/pwd.*otp.*mfa/);
  const notice = await waitForMail(service.inboxUrl, data.ana.email, /^Security notice/);
  expect(notice.text).toContain('A second sign-in step was added: Authenticator app.');
});

test('next time the app asks for a code, and the browser can be remembered', async () => {
  await arrive();
  await signIn(data.ana);
  await heading('Confirm that it is you').waitFor();
  await expectNoBarriers();
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await button('Continue').click();
  await page.getByRole('alert').waitFor();
  await page.locator('#code:focus').waitFor();
  await expectNoBarriers();
  // The one after that which enrolled the app: one step ahead is within the drift.
  await page.getByLabel('Code', { exact: true }).fill(totpCode(secret, new Date(Date.now() + 30_000)));
  await page.getByLabel('Do not ask again on this device for 30 days').check();
  await button('Continue').click();
  await heading(/^Hello, Ana/).waitFor();

  await button('Sign out').click();
  await signIn(data.ana);
  await heading(/^Hello, Ana/).waitFor(); // remembered
  expect(await amr()).not.toContain('mfa');
});

test('with a recovery code, by keyboard and without JavaScript', async () => {
  await arrive({ javaScriptEnabled: false });
  await signIn(data.ana);
  await button('Recovery code').click();
  await page.getByLabel('Recovery code').pressSequentially(recoveryCodes[0]?.toLowerCase() ?? '');
  await page.keyboard.press('Enter');
  await heading(/^Hello, Ana/).waitFor();
  await waitForMail(service.inboxUrl, data.ana.email, /^Security notice/);
});

test('with a code by mail', async () => {
  await arrive();
  await signIn(data.ana);
  await button('Code by email').click();
  await expectNoBarriers();
  await button('Send a code').click();
  await page.getByText('We sent a code to your email address.').waitFor();
  await expectNoBarriers();
  const { text } = await waitForMail(service.inboxUrl, data.ana.email, /is your code for/);
  await page.getByLabel('Code', { exact: true }).fill(/\b\d{3} \d{3}\b/.exec(text)?.[0] ?? '');
  await button('Continue').click();
  await heading(/^Hello, Ana/).waitFor();
  expect(await amr()).not.toContain('mfa');
});

test('the pages speak the language of the browser, and are readable in the dark and on a small screen', async () => {
  await arrive({ locale: 'de-AT', colorScheme: 'dark', viewport: { width: 320, height: 640 } });
  const look = async (title: string) => {
    await heading(title).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
    await expectNoBarriers();
  };
  const enter = async ({ email, password }: Person) => {
    await page.goto(shop.url);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-Mail').fill(email);
    await page.getByLabel('Passwort').fill(password);
    await button('Anmelden').click();
  };
  await enter(data.ana);
  await look('Bestätigen Sie, dass Sie es sind');
  await enter(data.ben);
  await page.getByRole('button', { name: 'Authenticator-App' }).click();
  await look('Authenticator-App einrichten');
  await button('Etwas anderes wählen').click();
  await page.getByRole('button', { name: 'Code per E-Mail' }).click();
  await look('Codes per E-Mail einrichten');
});

test('a page that was left open too long offers to begin again', async () => {
  await arrive();
  await signIn(data.ana);
  await heading('Confirm that it is you').waitFor();
  await asOwner((db) => db.query(`update pending_sign_ins set expires_at = now()`), service.ownerUrl);
  await page.getByLabel('Code', { exact: true }).fill('123456');
  await button('Continue').click();
  await heading('This sign-in has expired').waitFor();
  await expectNoBarriers();
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await page.getByLabel('Password').waitFor();
});
