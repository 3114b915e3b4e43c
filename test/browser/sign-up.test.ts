import { randomUUID } from 'node:crypto';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { barriers, headingOf } from '../support/chromium.js';
import { linkIn, waitForMail } from '../support/inbox.js';
import { type Site, startSite } from '../support/site.js';

let site: Site;
let page: Page;
beforeAll(async () => {
  site = await startSite({ settings: 'allow_self_signup = true, password_min_length = 10' });
});
afterAll(() => site?.stop());
afterEach(async () => {
  expect(await site.leave()).toEqual([]); // includes violations of the pages' own security policy
});

const arrive = async (options?: BrowserContextOptions) => {
  page = await site.arrive(options);
};

const button = (name: string) => page.getByRole('button', { name, exact: true });
const link = (name: string | RegExp) => page.getByRole('link', { name });
const heading = (name: string | RegExp) => headingOf(page, name);
const expectNoBarriers = async () => expect(await barriers(page)).toEqual([]);
const fits = async (width: number) =>
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
const newAddress = () => `Ida.${randomUUID().slice(0, 8)}@example.com`;
const chosen = 'lantern orchard seven';

async function startAtShop(label = 'Sign in') {
  await page.goto(site.shop.url);
  await heading('You are signed out').waitFor();
  await link(label).click();
  await heading(/^Sign in to /).waitFor();
}
async function signUp(email: string, password = chosen) {
  await link('Create an account').click();
  await heading(/^Create your account for /).waitFor();
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await button('Create account').click();
}
async function signIn(password: string) {
  await page.getByLabel('Password', { exact: true }).fill(password);
  await button('Sign in').click();
}

test('a person signs up, confirms by one click in the same browser, and arrives at the application signed in', async () => {
  await arrive();
  const email = newAddress();
  await startAtShop();
  await link('Create an account').click();
  await heading(/^Create your account for /).waitFor();
  await expectNoBarriers();
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill('too short');
  await page.getByLabel('First name').fill('Ida');
  await page.getByLabel('Last name').fill('Ilves');
  await button('Create account').click();
  await page.getByText('This password is too short. Use at least 10 characters.').waitFor();
  expect(await page.getByLabel('Email').inputValue()).toBe(email);
  expect(await page.getByLabel('First name').inputValue()).toBe('Ida');
  await expectNoBarriers();
  await page.locator('#password:focus').waitFor();
  await page.keyboard.type(chosen);
  await page.keyboard.press('Enter');

  await page.getByText('Check your email: we have sent you a link.').waitFor();
  await signIn(chosen);
  await page.getByText('This email address is not confirmed yet.').waitFor();
  await expectNoBarriers();
  await button('Send the link again').click();
  await page.getByText('Check your email: we have sent you a link.').waitFor();

  const mail = await waitForMail(site.service.inboxUrl, email, /^Confirm your email address for /);
  await page.goto(linkIn(mail));
  await heading('Confirm your email address').waitFor();
  expect(await page.getByLabel('Password', { exact: true }).count()).toBe(0);
  await expectNoBarriers();
  await button('Confirm').dblclick(); // the page after the second form shows what the first one did
  await heading('Your email address is confirmed').waitFor();
  await expectNoBarriers();
  await link(/^Continue to /).click();
  await heading(/^Sign in to /).waitFor();
  expect(await page.getByLabel('Email').inputValue()).toBe(email);
  await signIn(chosen);
  await heading('Hello, Ida Ilves').waitFor();
  expect(page.url()).toBe(`${site.shop.url}/`);
});

test('in another browser the link asks for the password, which the person who signed up knows, and a stranger with that address does not', async () => {
  await arrive();
  const email = newAddress();
  await startAtShop();
  await signUp(email);
  await page.getByText('Check your email').waitFor();
  const url = linkIn(await waitForMail(site.service.inboxUrl, email, /^Confirm your email address for /));

  await arrive({ locale: 'de-AT', colorScheme: 'dark', viewport: { width: 320, height: 640 } });
  await page.goto(url);
  await heading('E\u2011Mail-Adresse bestätigen').waitFor();
  await page.getByText('Sie haben den Link in einem anderen Browser geöffnet').waitFor();
  await fits(320);
  await expectNoBarriers();
  await page.getByLabel('Passwort aus Ihrer Registrierung').fill('what the stranger uses');
  await button('Bestätigen').click();
  await page.getByText('Das ist nicht das Passwort').waitFor();
  await expectNoBarriers();
  await page.locator('#password:focus').waitFor();
  await page.keyboard.type(chosen);
  await page.keyboard.press('Enter');
  await heading('Ihre E\u2011Mail-Adresse ist bestätigt').waitFor();
  await fits(320);

  await page.goto(url);
  await heading('Dieser Link funktioniert nicht mehr').waitFor();
  await fits(320);
  await expectNoBarriers();
});

test('signing up with an address that has an account is answered alike, and the owner gets a mail', async () => {
  await arrive();
  await startAtShop();
  await signUp(site.data.ana.email);
  await page.getByText('Check your email: we have sent you a link.').waitFor();
  const mail = await waitForMail(site.service.inboxUrl, site.data.ana.email, /^You already have an account with /);
  await page.goto(linkIn(mail));
  await heading(/^Sign in to /).waitFor();
  const forgot = /https?:\/\/\S+\/oauth\/password\/forgot\S+/.exec(mail.text)?.[0] as string;
  await page.goto(forgot);
  await heading('Forgot your password?').waitFor();
  await expectNoBarriers();
});

test('a person who forgot the password sets a new one and arrives at the application; the old one does not work any more', async () => {
  await arrive();
  await startAtShop();
  await page.getByLabel('Email').fill(site.data.ben.email);
  await link('Forgot password?').click();
  await heading('Forgot your password?').waitFor();
  await expectNoBarriers();
  await page.getByLabel('Email').fill(site.data.ben.email);
  await button('Send link').click();
  await page.getByText('If there is an account with this address').waitFor();
  const mail = await waitForMail(site.service.inboxUrl, site.data.ben.email, /^Choose a new password for /);

  await page.goto(linkIn(mail));
  await heading('Choose a new password').waitFor();
  await expectNoBarriers();
  await page.getByLabel('New password').fill('password123');
  await button('Save password').click();
  await page.getByText('This password is known from a data breach').waitFor();
  await expectNoBarriers();
  await page.locator('#password:focus').waitFor();
  await page.keyboard.type(chosen);
  await button('Save password').dblclick();
  await heading('Your password is saved').waitFor();
  await expectNoBarriers();
  await link(/^Continue to /).click();
  await heading(/^Sign in to /).waitFor();
  expect(await page.getByLabel('Email').inputValue()).toBe(site.data.ben.email);
  await signIn(site.data.ben.password);
  await page.getByText('That email and password do not match.').waitFor();
  await signIn(chosen);
  await heading('Hello, Ben Example').waitFor();
  await waitForMail(site.service.inboxUrl, site.data.ben.email, /^Your password for .* was changed$/);
});

test('signing up works without scripts', async () => {
  await arrive({ javaScriptEnabled: false });
  const email = newAddress();
  await startAtShop();
  await signUp(email);
  await page.getByText('Check your email').waitFor();
  await page.goto(linkIn(await waitForMail(site.service.inboxUrl, email, /^Confirm your email address for /)));
  await button('Confirm').click();
  await link(/^Continue to /).click();
  await signIn(chosen);
  await heading(/^Hello, /).waitFor();
});
