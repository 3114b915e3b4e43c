import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { v7 as uuidv7 } from 'uuid';
import { barriers, headingOf } from '../support/chromium.js';
import { asOwner } from '../support/database.js';
import { type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.js';
import { authorizeUrl, type Site, startSite } from '../support/site.js';

let site: Site;
let provider: OpenIdProvider | undefined;
let organizationId: string;
let page: Page;
beforeAll(async () => {
  site = await startSite({ env: { WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' } });
  organizationId = await connectedOrganization();
});
afterAll(async () => {
  await site?.stop();
  await provider?.stop();
});
beforeEach(() => arrive());
afterEach(async () => {
  expect(await site.leave()).toEqual([]); // includes a form that may not lead to the provider
});

const arrive = async (options?: BrowserContextOptions) => {
  page = await site.arrive(options);
};

/** Calls the Public API for the organization's administrator. */
async function api(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${site.service.baseUrl}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': site.data.apiKey, ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Creates an organization with a domain and a provider, connects them and activates the connection. */
async function connectedOrganization(): Promise<string> {
  const { id } = (await api('POST', '/organizations', { name: 'Acme Ltd' })).data;
  const { accountId, environmentId } = site.data.scope;
  await asOwner(
    (db) =>
      db.query(
        `insert into sso_domains (id, account_id, environment_id, organization_id, domain, token, status, claimed_by_type,
           claimed_by, created_at, started_at, verified_at)
         values ($1, $2, $3, $4, 'acme.example', 'token', 'verified', 'api_key', $1, now(), now(), now())`,
        [uuidv7(), accountId, environmentId, id],
      ),
    site.service.ownerUrl,
  );
  const path = `/organizations/${id}/sso-connection`;
  const made = (await api('POST', path, { type: 'oidc', name: 'Acme', jit_provisioning_enabled: true })).data;
  provider = await startOpenIdProvider({ callbacks: [made.service_provider.redirect_uri] });
  const { issuer, clientId, clientSecret } = provider;
  await api('PATCH', path, {
    oidc_discovery_url: issuer,
    oidc_client_id: clientId,
    oidc_client_secret: clientSecret,
  });
  await api('POST', `${path}/activate`);
  provider.people.set('mia', {
    email: 'mia@acme.example',
    email_verified: true,
    given_name: 'Mia',
    family_name: 'Muster',
  });
  return id;
}

const button = (name: string) => page.getByRole('button', { name, exact: true });
const link = (name: string) => page.getByRole('link', { name, exact: true });
const heading = (name: string | RegExp) => headingOf(page, name);
const startShop = async () => {
  await page.goto(site.shop.url);
  await link('Sign in').click();
};
const signInThere = async (login: string) => {
  await page.getByLabel('User name').fill(login);
  await button('Sign in there').click();
};
const expectNoBarriers = async () => expect(await barriers(page)).toEqual([]);

test('an address leads to the provider of its organization, and from there to the application', async () => {
  await startShop();
  await page.getByLabel('Email').fill('mia@acme.example');
  await expectNoBarriers();
  await button('Sign in with your organization').click();
  await signInThere('mia');
  await heading('Hello, Mia Muster').waitFor();

  // Already signed in: the session is enough, whatever the provider would answer.
  await page.goto(site.shop.url);
  await heading('Hello, Mia Muster').waitFor();

  // Signs out here, and then at the provider, which the policy of the shop's form does not list.
  await button('Sign out').click();
  await page.waitForURL((url) => url.origin === provider?.issuer);
  await page.goto(site.shop.url);
  await heading('You are signed out').waitFor();
});

test('an account form whose sign-in is too old leads to the provider, and back to the form', async () => {
  await page.goto(`${site.service.baseUrl}/oauth/account/password?client_id=${site.data.publicClient}`);
  await page.getByLabel('Email').fill('mia@acme.example');
  await button('Sign in with your organization').click();
  await signInThere('mia');
  await page.getByLabel('New password').waitFor();
  await asOwner(
    (db) =>
      db.query(
        `update sessions set authenticated_at = authenticated_at - interval '1 hour', auth_time = auth_time - interval '1 hour'`,
      ),
    site.service.ownerUrl,
  );
  await page.getByLabel('New password').fill('lantern orchard seven');
  const away = page.waitForRequest((request) => request.url().startsWith(`${provider?.issuer}/`), { timeout: 20_000 });
  await button('Save password').click();
  await away; // the provider still recognizes Mia, and sends her back at once
  await page.waitForURL((url) => url.pathname === '/oauth/account/password');
});

describe('where identity providers are the only way to sign in', () => {
  /** Allows or forbids the Environment's own sign-in methods; a process caches settings for a second. */
  const haveWays = async (on: boolean) => {
    await site.configure(['password', 'email_otp', 'passkey'].map((way) => `${way}_login_enabled = ${on}`).join(', '));
    await sleep(1_100);
  };
  beforeAll(() => haveWays(false));
  afterAll(() => haveWays(true));

  test('the page asks for the address, in German and without scripts', async () => {
    await arrive({ locale: 'de-DE', viewport: { width: 320, height: 640 }, javaScriptEnabled: false });
    await startShop();
    await page.getByLabel('E-Mail-Adresse').fill('mia@nowhere.example');
    await button('Mit Ihrer Organisation anmelden').click();
    await page.getByText('Für diese Adresse ist keine Anmeldung über eine Organisation eingerichtet.').waitFor();
    expect(await page.getByLabel('E-Mail-Adresse').inputValue()).toBe('mia@nowhere.example');
    await page.getByLabel('E-Mail-Adresse').fill('mia@acme.example');
    await button('Mit Ihrer Organisation anmelden').click();
    await signInThere('mia');
    await heading('Hello, Mia Muster').waitFor();
  });

  test('“another account” makes the provider ask for a user name, although it could answer at once', async () => {
    await startShop();
    await expectNoBarriers();
    await page.getByLabel('Email').fill('mia@acme.example');
    await button('Sign in with your organization').click();
    await signInThere('mia');
    await heading('Hello, Mia Muster').waitFor();
    await page.goto(authorizeUrl(site, { organization: organizationId, prompt: 'select_account' }));
    await button('Use another account').click();
    await page.getByLabel('User name').waitFor();
  });
});

test('an organization that requires its provider leads from the password to it, and back when that fails', async () => {
  const [ana] = (await api('GET', `/identities?q=${encodeURIComponent(site.data.ana.email)}`)).items;
  await api('POST', `/organizations/${organizationId}/members`, { identity_id: ana.id, role_ids: [] });
  const policy = `/organizations/${organizationId}/authentication-policy`;
  const { version, ...current } = (await api('GET', policy)).data;
  await api('PUT', policy, { ...current, require_sso: true }, { 'if-match': String(version) });

  await startShop();
  await page.getByLabel('Email').fill(site.data.ana.email);
  await page.getByLabel('Password', { exact: true }).fill(site.data.ana.password);
  await button('Sign in').click();
  await heading('Sign in another way').waitFor();
  await expectNoBarriers();
  await link('With the identity provider of Acme Ltd').click();
  await signInThere('nobody whom it knows');

  await heading('Your organization did not sign you in').waitFor();
  await page.getByText('sso.provider_error').waitFor();
  await expectNoBarriers();
  await link('Sign in another way').click();
  await page.getByLabel('Password', { exact: true }).waitFor(); // and not the provider again
});

test('a test sign-in shows its result, and its link works once', async () => {
  const { test_url: url } = (await api('POST', `/organizations/${organizationId}/sso-connection/test`)).data;
  await page.goto(url);
  await heading('Test this sign-in').waitFor();
  await expectNoBarriers();
  await button('Sign in at the provider').click();
  await signInThere('mia');
  await heading('The sign-in works').waitFor();
  await expectNoBarriers();
  await page.goto(url);
  await heading('This link no longer works').waitFor();
  await expectNoBarriers();

  provider?.people.set('eve', { email: 'eve@elsewhere.example', email_verified: true });
  const again = (await api('POST', `/organizations/${organizationId}/sso-connection/test`)).data;
  await arrive({ locale: 'de-DE', colorScheme: 'dark', viewport: { width: 360, height: 740 } });
  await page.goto(again.test_url);
  await button('Beim Anbieter anmelden').click();
  await signInThere('eve');
  await heading('Die Antwort ist in Ordnung, Sie kämen aber nicht hinein').waitFor();
  await page.getByText('Die Domain Ihrer E-Mail-Adresse ist für diese Verbindung nicht bestätigt.').waitFor();
  await expectNoBarriers();
});

test('an unreachable provider is reported, in German too', async () => {
  await asOwner(
    (db) => db.query(`update sso_connections set oidc_discovery_url = 'http://127.0.0.1:9'`),
    site.service.ownerUrl,
  );
  await arrive({ locale: 'de-DE', viewport: { width: 390, height: 800 } });
  await startShop();
  await page.locator('#email').fill('mia@acme.example');
  await button('Mit Ihrer Organisation anmelden').click();
  await heading('Ihre Organisation antwortet nicht').waitFor();
  await expectNoBarriers();
});

test('members whose provider was disabled are told so, and can sign in by a recovery code', async () => {
  await asOwner((db) => db.query(`update sso_connections set status = 'auto_disabled'`), site.service.ownerUrl);
  await arrive();
  await page.goto(authorizeUrl(site, { organization: organizationId }));
  await heading('You cannot sign in here').waitFor();
  await expectNoBarriers();
  const [text, way] = [page.locator('.lead'), link('With a recovery code of your organization')];
  const [above, below] = [await text.boundingBox(), await way.boundingBox()];
  expect(below?.y).toBeGreaterThan((above?.y ?? 0) + (above?.height ?? 0));
});
