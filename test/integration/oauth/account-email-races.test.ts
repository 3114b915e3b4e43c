import { afterAll, expect, test } from '@jest/globals';
import { apiOf, bearer } from '../../support/identity-auth.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { enrollTotp, passwordStep } from '../../support/mfa.js';
import type { TestClient, TestEnvironment, TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';

/** A sign-in with the former address while its person changes it: it begins no session, or one that the change ends. */

const world = await newProvider();
const api = apiOf(world);
afterAll(() => world.close());

type Person = TestIdentity;
interface Place {
  environment: TestEnvironment;
  client: TestClient;
  ana: Person;
}
type SignIn = () => Promise<{ statusCode: number }>;

/** Prepares a sign-in, and returns its last step. */
const ways: Record<string, (place: Place) => Promise<SignIn>> = {
  'a mailed code': async ({ client, ana }) => {
    const browser = world.browser();
    const sent = await browser.submit(await browser.get(authorizeUrl(client, { method: 'code' })), {
      email: ana.email,
    });
    const code = await world.mailedCode('login');
    return () => browser.submit(sent, { code });
  },
  'a second factor after a mailed code': async ({ environment, client, ana }) => {
    const totp = await enrollTotp(world, environment, ana);
    const browser = world.browser();
    const sent = await browser.submit(await browser.get(authorizeUrl(client, { method: 'code' })), {
      email: ana.email,
    });
    const page = await browser.submit(sent, { code: await world.mailedCode('login') });
    return () => browser.submit(page, { code: totp.code() });
  },
  'a password': async ({ client, ana }) => {
    const browser = world.browser();
    return async () => (await passwordStep(browser, client, ana)).page;
  },
};

test.each(Object.keys(ways))('%s, at whatever statement the address changes', async (way) => {
  async function setUp() {
    const environment = await world.newEnvironment({ allowEmailChange: true, emailOtpLoginEnabled: true });
    const client = await environment.newClient();
    const ana = await environment.newIdentity();
    const as = bearer((await api.signedIn(client, ana)).access_token);
    await api.post('/email', { email: `new-${ana.email}` }, as);
    const code = await world.mailedCode('email_change');
    const signIn = await ways[way]!({ environment, client, ana });
    const open = () => world.query('select from sessions where identity_id = $1 and revoked_at is null', [ana.id]);
    return { signIn, open, change: () => api.post('/email/confirm', { code }, as) };
  }
  const alone = await setUp();
  const { statements } = await counted(alone.signIn);
  expect(await alone.open()).toHaveLength(2);
  for (let at = 1; at <= statements; at++) {
    const { signIn, change, open } = await setUp();
    const [, changed] = await interleaved(world.database.ownerUrl, at, signIn, change);
    expect([at, changed.statusCode, (await open()).length]).toEqual([at, 200, 1]); // only the one that has changed it
  }
});
