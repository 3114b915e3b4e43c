import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { barriers, headingOf, launchChromium, newVisitor, type Visitor } from '../support/chromium.js';
import { linkIn, waitForMail } from '../support/inbox.js';
import { type Seed, seed } from '../support/seed.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
let browser: Browser;
let data: Seed;
let visitors: Visitor[] = [];
beforeAll(async () => {
  browser = await launchChromium();
  service = await startService();
  data = await seed(service.databaseUrl);
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
afterEach(async () => {
  expect(visitors.flatMap(({ complaints }) => complaints)).toEqual([]);
  await Promise.all(visitors.map((visitor) => visitor.close()));
  visitors = [];
});

async function arrive(options: BrowserContextOptions = {}): Promise<Page> {
  const visitor = await newVisitor(browser, options);
  visitors.push(visitor);
  return visitor.page;
}
async function expectNoBarriers(page: Page) {
  expect(await barriers(page)).toEqual([]);
  const [wide, width] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(wide).toBeLessThanOrEqual(width as number);
}

/** Requests the change in a browser, which then has the cookie with which one click confirms; returns the mailed link. */
async function requestIn(page: Page, present: string, email: string): Promise<string> {
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    page.request.post(`${service.baseUrl}/v1/auth${path}`, { data: body, headers }); // with the browser's cookies
  const signedIn = await (await post('/login', { ...data.admin, email: present })).json();
  const asked = await post('/email', { email }, { authorization: `Bearer ${signedIn.data.access_token}` });
  expect(asked.status()).toBe(200);
  return linkIn(await waitForMail(service.inboxUrl, email, /Confirm your new address/));
}

test('an administrator confirms a new address by one click in the browser that asked, in the dark on a phone', async () => {
  const page = await arrive({ colorScheme: 'dark', viewport: { width: 320, height: 640 } });
  const link = await requestIn(page, data.admin.email, 'new.administrator@example.org');
  await page.goto(link);
  await headingOf(page, 'Confirm your new address').waitFor();
  expect(await page.getByLabel('Password of your sign-in', { exact: true }).count()).toBe(0);
  await expectNoBarriers(page);
  await page.getByRole('button', { name: 'Confirm new address' }).click();
  await headingOf(page, 'Your address is changed').waitFor();
  await page.getByText('new.administrator@example.org').waitFor();
  await expectNoBarriers(page);
  await waitForMail(service.inboxUrl, data.admin.email, /The address of your sign-in was changed/);

  await page.goto(link);
  await headingOf(page, /.+/).waitFor();
  expect(await page.getByRole('button', { name: 'Confirm new address' }).count()).toBe(0); // it works once
  await expectNoBarriers(page);
});

test('any other browser is asked for the password, which may be wrong at first', async () => {
  const link = await requestIn(await arrive(), 'new.administrator@example.org', data.admin.email);
  const page = await arrive({ colorScheme: 'light' });
  await page.goto(link);
  await headingOf(page, 'Confirm your new address').waitFor();
  await expectNoBarriers(page);
  const password = page.getByLabel('Password of your sign-in', { exact: true });
  await password.fill('not the right one');
  await page.keyboard.press('Enter');
  expect(await page.getByRole('alert').textContent()).toMatch(/^That is not the password/);
  await page.locator('#password:focus').waitFor();
  await expectNoBarriers(page);
  await password.fill(data.admin.password);
  await page.keyboard.press('Enter');
  await headingOf(page, 'Your address is changed').waitFor();
  await page.getByText(data.admin.email).waitFor();
});
