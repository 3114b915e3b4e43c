import type { BrowserContextOptions, Page } from 'playwright-core';
import { barriers, headingOf } from '../support/chromium.js';
import { waitForMail } from '../support/inbox.js';
import type { Person } from '../support/seed.js';
import { fillIn, type Site, startSite } from '../support/site.js';

let site: Site;
let page: Page;
beforeAll(async () => {
  site = await startSite({ settings: 'allow_email_change = true' });
});
afterAll(() => site?.stop());
afterEach(async () => {
  expect(await site.leave()).toEqual([]); // includes violations of the pages' own security policy
});

/** What follows the name in the new addresses. */
const rest = 'of.the.rather.long.address@somewhere-else.example.org';
const narrow = { viewport: { width: 320, height: 640 } };
const heading = (name: string) => headingOf(page, name);
const button = (name: string) => page.getByRole('button', { name, exact: true });
const alertText = () => page.getByRole('alert').textContent();
async function expectNoBarriers() {
  expect(await barriers(page)).toEqual([]);
  const [wide, width] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(wide).toBeLessThanOrEqual(width as number);
}
async function codeFor(email: string) {
  const { text } = await waitForMail(site.service.inboxUrl, email, /^Your code for/);
  return /\b\d{3} \d{3}\b/.exec(text)?.[0] ?? '';
}
async function open(options: BrowserContextOptions, person: Person) {
  page = await site.arrive(options);
  await page.goto(`${site.service.baseUrl}/oauth/account?client_id=${site.data.publicClient}`);
  await fillIn(page, person);
  await page.getByRole('link', { name: 'Change: Email' }).click();
  await heading('Change your email address').waitFor();
}

test.each([
  ['ben', 'in light mode on a narrow phone', { ...narrow, colorScheme: 'light' }],
  ['ana', 'in dark mode, without scripts', { colorScheme: 'dark', javaScriptEnabled: false }],
] as const)('%s changes the address, %s', async (name, _, options) => {
  const check = async () => 'javaScriptEnabled' in options || expectNoBarriers();
  const person = site.data[name];
  const wanted = `${name}.${rest}`;
  await open(options, person);
  await check();
  await page.getByLabel('New email address').fill(person.email);
  await button('Send a code').click();
  expect(await alertText()).toBe('That is your current address. Enter the new one.');
  await check();
  await page.getByLabel('New email address').fill(wanted);
  await button('Send a code').click();
  await page.getByText(`We sent an email to ${wanted}.`).waitFor();
  await check();
  await waitForMail(site.service.inboxUrl, person.email, /Security notice/);
  const code = await codeFor(wanted);
  await page.getByLabel('Code').fill(code === '000 000' ? '111 111' : '000 000');
  await button('Change address').click();
  expect(await alertText()).toMatch(/^That code is not right/);
  await check();
  await page.getByLabel('Code').fill(code);
  await button('Change address').click();
  expect(await page.getByRole('status').textContent()).toMatch(/^Your email address is changed/);
  await page.getByText(`· ${wanted}`).waitFor();
  await check();
  const told = await waitForMail(site.service.inboxUrl, person.email, /was changed/);
  expect(told.text).not.toContain(wanted);
  await open(options, { ...person, email: wanted }); // who signs in with the new one
});

test('an address that somebody has looks like a free one, in German', async () => {
  page = await site.arrive({ ...narrow, colorScheme: 'dark', locale: 'de-DE' });
  await page.goto(`${site.service.baseUrl}/oauth/account/email?client_id=${site.data.publicClient}&ui_locales=de`);
  await page.getByLabel('E-Mail').fill(`ben.${rest}`);
  await page.getByLabel('Passwort', { exact: true }).fill(site.data.ben.password);
  await button('Anmelden').click();
  await page.getByLabel('Neue E-Mail-Adresse').fill(`ana.${rest}`);
  await expectNoBarriers();
  await button('Code senden').click();
  await page.getByText(`Wir haben eine E-Mail an ana.${rest} gesendet.`).waitFor();
  await expectNoBarriers();
  const mail = await waitForMail(site.service.inboxUrl, `ana.${rest}`, /gehört bereits zu einem Konto/);
  expect(mail.text).not.toMatch(/\d{3} \d{3}/);
});
