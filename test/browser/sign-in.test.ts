import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { barriers, headingOf, smallTargets } from '../support/chromium.js';
import { startRelyingParty } from '../support/service-processes.js';
import { authorizeUrl, claimIn, fillIn, idToken, type Site, startAt, startSite } from '../support/site.js';
import { until } from '../support/until.js';

let site: Site;
let office: { url: string; stop(): Promise<void> };
let page: Page;
beforeAll(async () => {
  site = await startSite();
  const { clientId, secret } = site.data.basicClient;
  office = await startRelyingParty({ ISSUER: site.service.baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: secret });
});
afterAll(async () => {
  await site?.stop();
  await office?.stop();
});
afterEach(async () => {
  expect(await site.leave()).toEqual([]); // includes violations of the pages' own security policy
});

const arrive = async (options?: BrowserContextOptions) => {
  page = await site.arrive(options);
};

const button = (name: string) => page.getByRole('button', { name, exact: true });
const heading = (name: string | RegExp) => headingOf(page, name);
const claim = (table: string, name: string) => claimIn(page, table, name);
const userinfo = 'Answer of the userinfo endpoint';

/** The words of headings and of links beside labels that do not stand on one line. */
const brokenWords = `[...document.querySelectorAll('h1, .aside')].flatMap(({ firstChild }) =>
  [...firstChild.data.matchAll(/\\S+/g)].flatMap(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(firstChild, index);
    range.setEnd(firstChild, index + word.length);
    return range.getClientRects().length > 1 ? [word] : [];
  }))`;

async function expectNoBarriers() {
  expect(await barriers(page)).toEqual([]);
}

test('an application receives its answer at one origin, and continues at another', async () => {
  const app = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<h1>The app</h1>'));
  const api = createServer((_, response) => response.writeHead(303, { location: urlOf(app) }).end());
  const urlOf = (server: typeof app) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    for (const server of [app, api]) await once(server.listen(0, '127.0.0.1'), 'listening');
    await arrive();
    await page.goto(authorizeUrl(site, { redirect_uri: `${urlOf(api)}callback` }));
    await fillIn(page, site.data.ana);
    await heading('The app').waitFor();
  } finally {
    for (const server of [app, api]) server.close();
  }
});

test('an application receives its answer by response_mode=form_post, also without scripts', async () => {
  const posted: { body: string; origin: string | undefined }[] = [];
  const app = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    if (request.method === 'POST') posted.push({ body, origin: request.headers.origin });
    response.setHeader('content-type', 'text/html').end('<h1>The app</h1>');
  });
  await once(app.listen(0, '127.0.0.1'), 'listening');
  const redirect = `http://127.0.0.1:${(app.address() as AddressInfo).port}/callback`;
  try {
    for (const javaScriptEnabled of [true, false]) {
      await arrive({ javaScriptEnabled });
      await page.goto(authorizeUrl(site, { redirect_uri: redirect, response_mode: 'form_post', state: 's' }));
      await fillIn(page, site.data.ana);
      if (!javaScriptEnabled) await button('Continue').click();
      await heading('The app').waitFor();
      const { body, origin } = posted.pop() ?? {};
      expect(Object.fromEntries(new URLSearchParams(body))).toMatchObject({ code: expect.any(String), state: 's' });
      expect(origin).toBe(site.service.baseUrl);
    }
  } finally {
    app.close();
  }
});

test('an application asks in a hidden frame whether a person is signed in, and receives the answer by form_post', async () => {
  const posted: string[] = [];
  // Uses the address on the application's own site: cookies reach no frame of another site.
  const frame = () =>
    authorizeUrl(site, { redirect_uri: redirect, response_mode: 'form_post', prompt: 'none' }).replace(
      '//localhost:',
      '//127.0.0.1:',
    );
  const app = createServer(async (request, response) => {
    if (request.method === 'POST') posted.push((await request.toArray()).join(''));
    const silent = `<iframe hidden src="${frame().replaceAll('&', '&amp;')}"></iframe>`;
    response.setHeader('content-type', 'text/html').end(request.url === '/silent' ? silent : '<h1>The app</h1>');
  });
  await once(app.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  const redirect = `${origin}/callback`;
  const answer = async () => {
    await page.goto(`${origin}/silent`);
    await until('the answer is there', () => posted.length > 0);
    return Object.fromEntries(new URLSearchParams(posted.pop()));
  };
  try {
    await arrive();
    expect(await answer()).toMatchObject({ error: 'login_required' });
    await page.goto(authorizeUrl(site, { redirect_uri: redirect }));
    await fillIn(page, site.data.ana);
    await heading('The app').waitFor();
    const session = await page.context().cookies(site.service.baseUrl);
    await page.context().addCookies(session.map((cookie) => ({ ...cookie, domain: '127.0.0.1' })));
    expect(await answer()).toMatchObject({ code: expect.any(String) });
  } finally {
    app.close();
  }
});

test('a person can view the typed password, and a second click sends no second form', async () => {
  await arrive();
  await startAt(page, site.shop.url);
  const field = page.getByLabel('Password', { exact: true });
  await field.fill(site.data.ana.password);
  await page.getByLabel('Email').fill(site.data.ana.email);
  const eye = page.getByRole('button', { name: 'Show password', pressed: false });
  await eye.click();
  expect([await field.getAttribute('type'), await field.getAttribute('spellcheck')]).toEqual(['text', 'false']);
  await expectNoBarriers();
  let sent = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST') sent += 1;
  });
  const shown = await page.evaluate(() => {
    const input = document.querySelector('#password') as HTMLInputElement;
    input.form?.requestSubmit();
    input.form?.requestSubmit();
    return input.type;
  });
  await heading('Hello, Ana Example').waitFor();
  expect([sent, shown]).toEqual([1, 'password']);
});

test('a person signs in, refreshes, revokes, gets single sign-on to a second application, and signs out of both', async () => {
  await arrive();
  await startAt(page, site.shop.url);
  await heading(/^Sign in to /).waitFor();
  expect(new URL(page.url()).origin).toBe(site.service.baseUrl);
  await expectNoBarriers();
  await fillIn(page, site.data.ana);

  await heading('Hello, Ana Example').waitFor();
  expect(page.url()).toBe(`${site.shop.url}/`);
  expect(await claim(idToken, 'iss').textContent()).toBe(site.service.baseUrl);
  expect(await claim(idToken, 'aud').textContent()).toBe(site.data.publicClient);
  expect(await claim(idToken, 'email').textContent()).toBe(site.data.ana.email);
  expect(await claim(userinfo, 'email').textContent()).toBe(site.data.ana.email);
  await expectNoBarriers();

  await button('Refresh tokens').click();
  await page.getByText('The tokens were refreshed.').waitFor();
  expect(await claim(userinfo, 'email').textContent()).toBe(site.data.ana.email);

  await button('Revoke tokens').click();
  await page.getByText('The tokens were revoked.').waitFor();
  expect(await claim(userinfo, 'error').textContent()).toMatch(/token/); // the service's own message
  await button('Refresh tokens').click();
  await heading('That did not work').waitFor();
  await expectNoBarriers();

  await startAt(page, office.url);
  await heading('Hello, Ana Example').waitFor(); // without a question: single sign-on
  expect(await claim(idToken, 'aud').textContent()).toBe(site.data.basicClient.clientId);

  await button('Sign out').click();
  await heading('You are signed out').waitFor();
  expect(page.url()).toBe(`${office.url}/`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await heading(/^Sign in to /).waitFor();
  expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('');
});

test('a sign-in that starts from a link, without the application, ends at the application, signed in', async () => {
  await arrive();
  const query = new URLSearchParams({
    client_id: site.data.publicClient,
    redirect_uri: `${site.shop.url}/callback`,
    response_type: 'code',
    scope: 'openid profile email',
    state: 'demo',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
  await page.goto(`${site.service.baseUrl}/oauth/authorize?${query}`);
  await fillIn(page, site.data.ben);
  await heading('Hello, Ben Example').waitFor();
  expect(page.url()).toBe(`${site.shop.url}/`);
});

test('a wrong password is reported, and the typed address is kept', async () => {
  await arrive();
  await startAt(page, site.shop.url);
  await fillIn(page, { email: site.data.ana.email, password: 'not her password' });
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').textContent()).toMatch(/do not match/);
  expect(await page.title()).toMatch(/^Error: /);
  expect(await page.getByLabel('Email').inputValue()).toBe(site.data.ana.email);
  expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('');
  await page.locator('#password:focus').waitFor();
  await expectNoBarriers();

  await page.keyboard.type(site.data.ana.password);
  await page.keyboard.press('Enter');
  await heading('Hello, Ana Example').waitFor();
});

test('a foreign redirect URI leads to an error page, and not to a redirect', async () => {
  await arrive();
  const visited: string[] = [];
  page.on('request', (request) => visited.push(new URL(request.url()).origin));
  const query = new URLSearchParams({
    client_id: site.data.publicClient,
    redirect_uri: 'https://elsewhere.example/callback',
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
  const response = await page.goto(`${site.service.baseUrl}/oauth/authorize?${query}`);
  expect(response?.status()).toBe(400);
  await heading('This link does not work').waitFor();
  await page.getByText('redirect_uri is not registered for this client').waitFor();
  await expectNoBarriers();
  expect(new Set(visited)).toEqual(new Set([site.service.baseUrl]));
  expect(await page.getByRole('link').count()).toBe(0);
});

test('everything works with JavaScript switched off', async () => {
  await arrive({ javaScriptEnabled: false });
  await startAt(page, site.shop.url);
  await fillIn(page, { email: site.data.ben.email, password: 'not his password' });
  await page.getByRole('alert').waitFor();
  await fillIn(page, site.data.ben);
  await heading('Hello, Ben Example').waitFor();
  await button('Refresh tokens').click();
  await page.getByText('The tokens were refreshed.').waitFor();
  await button('Sign out').click();
  await heading('You are signed out').waitFor();
  expect(page.url()).toBe(`${site.shop.url}/`);
});

test('the page is in the browser’s language, and readable in dark mode and on a small screen', async () => {
  await arrive({ locale: 'de-AT', colorScheme: 'dark', viewport: { width: 320, height: 640 } });
  await startAt(page, site.shop.url);
  await page.getByLabel('E-Mail').waitFor();
  expect(await page.locator('html').getAttribute('lang')).toBe('de');
  // WCAG 2.2 §1.4.10: no sideways scrolling
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
  expect(await smallTargets(page)).toEqual([]);
  // With text of twice the size (WCAG 1.4.4) the page is as wide, and the password's label fits on one line.
  await page.evaluate(`document.documentElement.style.fontSize = '200%'`);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
  const lines = `document.querySelector('label[for=password]').getClientRects()[0].height / parseFloat(getComputedStyle(document.documentElement).fontSize)`;
  expect(await page.evaluate(lines)).toBeLessThan(2);
  expect(await page.evaluate(brokenWords)).toEqual([]);
  await expectNoBarriers();
  await page.goto(`${site.service.baseUrl}/oauth/authorize`);
  await page.evaluate(`document.documentElement.style.fontSize = '200%'`);
  expect(await page.evaluate(brokenWords)).toEqual([]);
});

test('an application that was started before the service works as soon as the service is up', async () => {
  await site.service.api.kill();
  const early = await startRelyingParty({ ISSUER: site.service.baseUrl, CLIENT_ID: site.data.otherPublicClient });
  await arrive();
  await startAt(page, early.url);
  await heading('That did not work').waitFor();
  await site.service.api.start();
  await page.getByRole('link', { name: 'Try again' }).click();
  await heading('Sign in to Acme Portal').waitFor();
  await early.stop();
});
