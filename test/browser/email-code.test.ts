import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { barriers, headingOf } from '../support/chromium.js';
import { waitForMail } from '../support/inbox.js';
import { type Site, startAt, startSite } from '../support/site.js';
import { startTurnstile, type Turnstile } from '../support/turnstile.js';

let site: Site;
let turnstile: Turnstile;
let page: Page;
beforeAll(async () => {
  turnstile = await startTurnstile();
  const captcha = {
    TURNSTILE_SITE_KEY: 'site-key',
    TURNSTILE_SECRET_KEY: 'secret-key',
    TURNSTILE_VERIFY_URL: turnstile.url,
  };
  site = await startSite({ env: captcha });
});
afterAll(async () => {
  await site?.stop();
  await turnstile?.close();
});
afterEach(async () => {
  expect(await site.leave()).toEqual([]); // includes violations of the pages' own security policy
});

const arrive = async (options?: BrowserContextOptions) => {
  page = await site.arrive(options);
};

const button = (name: string) => page.getByRole('button', { name, exact: true });
const heading = (name: string | RegExp) => headingOf(page, name);
const expectNoBarriers = async () => expect(await barriers(page)).toEqual([]);

async function switchOn(...settings: string[]) {
  await site.configure(settings.join(', '));
  await sleep(1_100); // a process caches settings for a second
}
/** Returns the code in the newest mail, as it is written there. */
async function codeFor(email: string) {
  const { text } = await waitForMail(site.service.inboxUrl, email, /^Your code for/);
  return /\b\d{3} \d{3}\b/.exec(text)?.[0] ?? '';
}

test('a person requests a code by mail, mistypes it, and signs in with it', async () => {
  await switchOn('email_otp_login_enabled = true');
  await arrive();
  await startAt(page, site.shop.url);
  await heading(/^Sign in to /).waitFor();
  await expectNoBarriers();
  await page.getByLabel('Email').fill(site.data.ana.email);
  await button('Email me a code').click(); // an empty password does not prevent it

  await heading('Check your email').waitFor();
  await page.getByText(`If ${site.data.ana.email} can sign in here, a code is on its way.`).waitFor();
  await expectNoBarriers();
  const code = await codeFor(site.data.ana.email);
  await page.locator('#code:focus').waitFor();
  await page.keyboard.type(code === '123 456' ? '654321' : '123456');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').textContent()).toMatch(/not right, or it has expired/);
  await page.locator('#code:focus').waitFor();
  await expectNoBarriers();

  await page.getByLabel('Code').fill(code);
  let sent = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST') sent++;
  });
  await button('Sign in').dblclick(); // as people do
  await heading('Hello, Ana Example').waitFor();
  expect(sent).toBe(1);
  expect(page.url()).toBe(`${site.shop.url}/`);
  const amr = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'amr', exact: true }) });
  expect(await amr.first().getByRole('cell').textContent()).toContain('otp');
});

test('the code page has links to it, and leads to the password and to another address', async () => {
  await arrive({ locale: 'de-AT', colorScheme: 'dark', viewport: { width: 320, height: 640 } });
  const query = new URLSearchParams({
    client_id: site.data.publicClient,
    redirect_uri: `${site.shop.url}/callback`,
    response_type: 'code',
    scope: 'openid profile email',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    method: 'code',
  });
  await page.goto(`${site.service.baseUrl}/oauth/authorize?${query}`);
  await page.getByText('Wir senden Ihnen per E-Mail einen Code').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
  await expectNoBarriers();
  await page.getByLabel('E-Mail').fill('niemand@example.com');
  await page.keyboard.press('Enter');
  await heading('Sehen Sie in Ihrem Postfach nach').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
  await expectNoBarriers();
  await button('Neuen Code senden').click();
  await heading('Sehen Sie in Ihrem Postfach nach').waitFor();
  await page.getByRole('link', { name: 'Andere Adresse verwenden' }).click();
  await page.getByRole('link', { name: 'Mit Passwort anmelden' }).click();
  await page.getByLabel('Passwort', { exact: true }).waitFor();
});

test('a new person signs up with a code, without JavaScript, where there are no passwords', async () => {
  await switchOn('password_login_enabled = false', 'allow_self_signup = true');
  await arrive({ javaScriptEnabled: false });
  await startAt(page, site.shop.url);
  const email = 'Nora.Neu@example.com';
  await page.getByLabel('Email').fill(email);
  await button('Email me a code').click();
  await heading('Check your email').waitFor();
  await page.getByLabel('Code').fill(await codeFor(email));
  await button('Sign in').click();
  await heading(/^Hello/).waitFor();
  await page.getByText(email).first().waitFor();
});

/**
 * Replaces Cloudflare's own script, which a test cannot reach: it inserts a frame, and some time later a solved answer.
 */
const widget = (milliseconds: number) => `for (const place of document.querySelectorAll('.cf-turnstile')) {
  const frame = document.createElement('iframe');
  frame.src = 'https://challenges.cloudflare.com/frame';
  frame.title = 'captcha';
  const answer = document.createElement('input');
  Object.assign(answer, { type: 'hidden', name: 'cf-turnstile-response' });
  setTimeout(() => { answer.value = 'solved'; }, ${milliseconds});
  place.append(frame, answer);
}`;

async function arriveAtCaptcha(body: string | null, options?: BrowserContextOptions) {
  await switchOn('password_login_enabled = true', 'email_otp_login_enabled = true', 'login_require_captcha = true');
  await arrive(options);
  await page.route('https://challenges.cloudflare.com/**', (route) => {
    if (body === null) return route.abort();
    return route.request().resourceType() === 'script'
      ? route.fulfill({ contentType: 'text/javascript', body })
      : route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>frame</title><p>I am a person' });
  });
  await startAt(page, site.shop.url);
  await page.getByLabel('Email').fill(site.data.ben.email);
}

test('a captcha is in the form, which sends its answer; the page’s policy allows the captcha and nothing else', async () => {
  await arriveAtCaptcha(widget(0));
  await page.frameLocator('iframe').getByText('I am a person').waitFor();
  await page.getByLabel('Password', { exact: true }).fill(site.data.ben.password);
  await button('Sign in').click();
  await heading('Hello, Ben Example').waitFor();
  expect(turnstile.asked.at(-1)).toMatchObject({ secret: 'secret-key', response: 'solved' });
});

test('a form that is sent before the captcha has answered waits, says so, and then does what its button says', async () => {
  await arriveAtCaptcha(widget(3_000));
  await page.getByLabel('Password', { exact: true }).fill(site.data.ben.password);
  await button('Sign in').dblclick(); // as people do
  await page.getByRole('status').filter({ hasText: 'still checking that you are a person' }).waitFor();
  await expectNoBarriers();
  await heading('Hello, Ben Example').waitFor();

  await arriveAtCaptcha(widget(3_000));
  await button('Email me a code').click();
  await heading('Check your email').waitFor();
});

test('a captcha that cannot load, or fails, says so and does not block the form; a late answer ends that', async () => {
  await arriveAtCaptcha(null);
  const status = page.getByRole('status');
  await status.filter({ hasText: 'challenges.cloudflare.com did not load, or failed' }).waitFor();
  await expectNoBarriers();
  await page.getByLabel('Password', { exact: true }).fill(site.data.ben.password);
  await button('Sign in').click();
  await page.getByRole('alert').filter({ hasText: 'We could not check that you are a person' }).waitFor();

  await arriveAtCaptcha(`${widget(2_000)}; window[document.querySelector('.cf-turnstile').dataset.errorCallback]()`);
  await status.filter({ hasText: 'did not load, or failed' }).waitFor();
  await page.locator('p[role=status]:empty').waitFor({ state: 'attached' });
});
