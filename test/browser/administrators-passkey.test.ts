import type { Browser } from 'playwright-core';
import { launchChromium, newVisitor, type Visitor } from '../support/chromium.js';
import { asOwner } from '../support/database.js';
import { type Seed, seed } from '../support/seed.js';
import { type Service, startService } from '../support/service.js';
import { plugIn } from '../support/virtual-authenticator.js';

let service: Service;
let browser: Browser;
let data: Seed;
let visitor: Visitor;
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
  await asOwner((owner) => owner.query('delete from user_mfa_factors'), service.ownerUrl);
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

/** A sign-in page of an operator's own, on the service's host: the browser does all of WebAuthn. */
const ownPage = `<!doctype html><html lang="en"><title>Administrators</title><h1>Administrators</h1>
<label>Email address <input autocomplete="username webauthn"></label>
<script type="module">
  const post = async (path, body, token) => {
    const answer = await fetch('/v1/auth' + path, {
      method: 'POST',
      headers: { ...(body && { 'content-type': 'application/json' }), ...(token && { authorization: 'Bearer ' + token }) },
      body: body && JSON.stringify(body),
    });
    const { data, error } = await answer.json();
    return data ?? { error: answer.status + ' ' + error.code };
  };
  window.enroll = async (person) => {
    const { access_token } = await post('/login', person);
    const { enrollment_token, options } = await post('/mfa/webauthn/enroll/options', undefined, access_token);
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    const made = await navigator.credentials.create({ publicKey });
    return post('/mfa/webauthn/enroll/verify', { enrollment_token, response: made.toJSON() }, access_token);
  };
  window.signIn = async (mediation) => {
    const { passkey_token, options } = await post('/passkey/options');
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    const shown = await navigator.credentials.get({ publicKey, mediation }).catch(({ name }) => ({ name }));
    return shown.name ? { error: shown.name } : post('/passkey', { passkey_token, response: shown.toJSON() });
  };
  document.title = 'Ready';
</script>`;

/** What the page's functions return, as far as the tests read it. */
interface Returned {
  error?: string;
  outcome?: string;
  access_token?: string;
  user?: { email: string };
  factor?: { id: string; signs_in: boolean };
}

async function arrive() {
  visitor = await newVisitor(browser);
  const { page } = visitor;
  await page.route(`${service.baseUrl}/administrators`, (route) =>
    route.fulfill({ contentType: 'text/html', body: ownPage }),
  );
  const open = async () => {
    await page.goto(`${service.baseUrl}/administrators`);
    await page.waitForFunction('document.title === "Ready"');
  };
  await open();
  const run = (call: string): Promise<Returned> => page.evaluate(call);
  return {
    page,
    open,
    enroll: () => run(`enroll(${JSON.stringify(data.admin)})`),
    signIn: (how = '') => run(`signIn(${how})`),
  };
}

test('a security key without a PIN is a second factor only: the browser does not offer it without a name', async () => {
  const { page, enroll, signIn } = await arrive();
  const key = await plugIn(page, 'security-key');
  const { factor } = await enroll();
  expect(factor?.signs_in).toBe(false);
  expect(await key.count()).toBe(1);
  expect(await signIn()).toEqual({ error: 'NotAllowedError' });
});

test('a passkey of the platform signs in by a button and by autofill, until it is removed or does not know its user', async () => {
  const { page, open, enroll, signIn } = await arrive();
  const platform = await plugIn(page, 'platform');
  const { factor } = await enroll();
  expect(factor?.signs_in).toBe(true);

  await page.context().clearCookies();
  const signedIn = await signIn();
  expect([signedIn.outcome, signedIn.user?.email]).toEqual(['authenticated', data.admin.email]);
  const cookies = (await page.context().cookies()).map(({ name }) => name);
  expect(cookies).toEqual(expect.arrayContaining([expect.stringMatching(/admin_refresh$/)]));
  await open();
  expect((await signIn('"conditional"')).outcome).toBe('authenticated');

  await platform.recognize(false);
  expect(await signIn()).toEqual({ error: 'NotAllowedError' });
  await platform.recognize(true);
  const gone = await fetch(`${service.baseUrl}/v1/auth/mfa/factors/${factor?.id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${signedIn.access_token}` },
  });
  expect(gone.status).toBe(204);
  expect(await signIn()).toEqual({ error: '401 null' });
});
