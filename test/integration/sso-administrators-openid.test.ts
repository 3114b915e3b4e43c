import { randomUUID } from 'node:crypto';
import type { SsoConnection } from '../../entities/sso-connection.js';
import { User } from '../../entities/user.js';
import { newAccount, startApi, type TestApi } from '../support/api.js';
import { type BentProvider, startBentProvider } from '../support/bent-provider.js';
import { Browser } from '../support/oauth.js';
import { newOidcConnection, newVerifiedDomain } from '../support/sso.js';
import { sealing } from './administrators-setup.js';

const baseUrl = 'http://localhost:3000';
let api: TestApi;
let idp: BentProvider;
beforeAll(async () => {
  [api, idp] = await Promise.all([startApi({ WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' }), startBentProvider()]);
});
afterAll(() => Promise.all([api.stop(), idp.stop()]));

/** An owner whose Account has its administrators sign in by the provider. */
async function newOwner(overrides: Partial<SsoConnection> = {}) {
  const account = await newAccount(api);
  const domain = `${randomUUID()}.example`;
  const world = { db: api.database.db, now: () => api.clock.now, sealing };
  const where = { accountId: account.scope.accountId, environmentId: null as never };
  const client = { issuer: idp.issuer, clientId: 'client', clientSecret: 'a secret' };
  await newVerifiedDomain(world, where, domain);
  await newOidcConnection(world, where, client, { scope: 'admin', ...overrides });
  const email = `ana@${domain}`;
  await api.database.db.transaction('system', (tx) => tx.update(User, { id: account.userId }, { email }));
  return { account, email };
}

/** The whole way there and back. @param says of the sign-in, beside the person */
async function walk(email: string, says: object) {
  const browser = new Browser(api.app);
  const away = await browser.get(`/v1/auth/sso/start?email=${encodeURIComponent(email)}`);
  const asked = new URL(String(away.headers.location)).searchParams;
  const iat = Math.floor(api.clock.now.getTime() / 1000);
  const person = { sub: email, email, email_verified: true, iat, exp: iat + 300, nonce: asked.get('nonce') };
  idp.answers(() => idp.idToken({ ...person, ...says }));
  const query = new URLSearchParams({ code: 'c', state: asked.get('state') ?? '', iss: idp.issuer });
  const answered = await browser.get(`${new URL(asked.get('redirect_uri') ?? '').pathname}?${query}`);
  const path = String(answered.headers.location).replace(baseUrl, '');
  return (await browser.get(path, { accept: 'application/json' })).json();
}

const me = async (token: string) =>
  (await api.app.inject({ url: '/v1/auth/me', headers: { authorization: `Bearer ${token}` } })).json().data;

test('of the factors that a provider names those count that RFC 8176 has, however many and long the others are', async () => {
  const { email } = await newOwner();
  const said = ['ngcmfa', 'pwd', 'x'.repeat(20_000), 'a\u0000b', 'otp', 'pwd', 'made up'];
  const { data } = await walk(email, { amr: said });
  expect((await me(data.access_token)).session).toMatchObject({ amr: ['otp', 'pwd'], acr: 'urn:gatehouse:aal1' });
  const byTwo = await walk(email, { amr: ['mfa', 'whatever'] });
  expect((await me(byTwo.data.access_token)).session).toMatchObject({ amr: ['mfa'], acr: 'urn:gatehouse:aal2' });
});
