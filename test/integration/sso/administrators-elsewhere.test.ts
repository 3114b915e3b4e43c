import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sealing } from '../../support/administrators.js';
import { here } from '../../support/answers.js';
import { newAccount, startApi, type TestApi } from '../../support/api.js';
import { Browser } from '../../support/oauth/browser.js';
import { answerTo, giveSigningKey, newSamlProvider, type SamlProvider } from '../../support/saml/sign-in.js';
import { newOidcConnection, newVerifiedDomain } from '../../support/sso.js';

const baseUrl = 'http://localhost:3000';
let api: TestApi;
let idp: SamlProvider;
beforeAll(async () => {
  [api, idp] = await Promise.all([startApi(), newSamlProvider()]);
});
afterAll(() => api.stop());

/** Creates an Account with its own provider, which makes an administrator of anybody whom it names. */
async function place() {
  const { scope } = await newAccount(api);
  const domain = `${randomUUID()}.example`;
  const world = { db: api.database.db, now: () => api.clock.now, sealing };
  const where = { accountId: scope.accountId, environmentId: null as never };
  await newVerifiedDomain(world, where, domain);
  const none = { issuer: '', clientId: '', clientSecret: '' };
  const fields = { ...idp.fields, scope: 'admin' as const, jitProvisioningEnabled: true };
  await giveSigningKey(world, await newOidcConnection(world, where, none, fields));
  return { domain };
}

/** Signs in from a link; returns the answer of `/sso/complete`. */
async function walk(browser: Browser, email: string, headers: Record<string, string> = {}) {
  const away = await browser.get(`/v1/auth/sso/start?email=${email}`, headers);
  const { path, form } = answerTo(String(away.headers.location), idp, api.clock.now, { nameId: email });
  const answered = await new Browser(api.app).post(path, form, { origin: 'https://idp.acme.example' });
  return browser.get(here(answered));
}

describe('a link to one Account’s provider, in a browser where an administrator is signed in', () => {
  const refreshOf = ({ cookies }: Browser) => cookies.get('admin_refresh');

  test('replaces no sign-in until its person confirms it on our page; a signed-out browser is not asked', async () => {
    const [mine, its] = [await place(), await place()];
    const browser = new Browser(api.app);
    expect((await walk(browser, `ana@${mine.domain}`)).body).toContain('You are signed in');
    const before = refreshOf(browser);
    expect(before).toBeTruthy();
    const email = `mallory@${its.domain}`;
    for (const site of ['cross-site', 'none']) {
      const page = await walk(browser, email, { 'sec-fetch-site': site });
      expect([page.statusCode, page.body.includes(`Continue as ${email}`), refreshOf(browser)]).toEqual([
        200,
        true,
        before,
      ]);
    }
    const page = await walk(browser, email);
    expect((await browser.submit(page, {}, { origin: 'https://evil.example' })).statusCode).toBe(403);
    expect((await browser.submit(page, {}, { origin: baseUrl })).body).toContain('You are signed in');
    expect(refreshOf(browser)).not.toBe(before);
  });

  test('asks nothing when it comes from the administrators’ own pages', async () => {
    const { domain } = await place();
    const browser = new Browser(api.app);
    await walk(browser, `ana@${domain}`);
    const again = await walk(browser, `ana@${domain}`, { 'sec-fetch-site': 'same-site' });
    expect(again.body).toContain('You are signed in');
  });
});
