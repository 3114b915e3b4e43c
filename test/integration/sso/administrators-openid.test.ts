import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { PasswordLink } from '../../../entities/password-link.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { User } from '../../../entities/user.js';
import { passwordLinkToken } from '../../../src/domain/passwords/links.js';
import { sealing } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type BentProvider, startBentProvider } from '../../support/bent-provider.js';
import { totpCode } from '../../support/mfa.js';
import { Browser } from '../../support/oauth/browser.js';
import { rowsOf } from '../../support/rows.js';
import { newOidcConnection, newVerifiedDomain } from '../../support/sso.js';

const baseUrl = 'http://localhost:3000';
let api: TestApi;
let idp: BentProvider;
beforeAll(async () => {
  [api, idp] = await Promise.all([startApi({ WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' }), startBentProvider()]);
});
afterAll(() => Promise.all([api.stop(), idp.stop()]));

/** Creates an owner whose Account signs in its administrators by the provider. */
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

/** Goes to the provider and back. @param says the sign-in's claims, besides the person's */
async function walk(email: string, says: object, more = '') {
  const browser = new Browser(api.app);
  const away = await browser.get(`/v1/auth/sso/start?email=${encodeURIComponent(email)}${more}`);
  const asked = new URL(String(away.headers.location)).searchParams;
  const iat = secondsNow();
  const person = { sub: email, email, email_verified: true, iat, exp: iat + 300, nonce: asked.get('nonce') };
  idp.answers(() => idp.idToken({ ...person, ...says }));
  const query = new URLSearchParams({ code: 'c', state: asked.get('state') ?? '', iss: idp.issuer });
  const answered = await browser.get(`${new URL(asked.get('redirect_uri') ?? '').pathname}?${query}`);
  const path = String(answered.headers.location).replace(baseUrl, '');
  return { asked, ...(await browser.get(path, { accept: 'application/json' })).json() };
}

const secondsNow = () => Math.floor(api.clock.now.getTime() / 1000);
const twentyMinutesAgo = () => ({ auth_time: secondsNow() - 20 * 60 });
const justNow = () => ({ auth_time: secondsNow() });
const anew = '&prompt=login';
const call = async (method: 'GET' | 'POST' | 'DELETE', path: string, token: string | null, payload?: object) => {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  return api.app.inject({ method, url: path, headers, ...(payload && { payload }) });
};
const me = async (token: string) => (await call('GET', '/v1/auth/me', token)).json().data;
const beginApp = (token: string) => call('POST', '/v1/auth/mfa/totp/enroll', token);
/** Enrolls an authenticator app. @returns its current code, and the factor's id */
async function addApp(token: string) {
  const { secret, enrollment_token } = (await beginApp(token)).json().data;
  const code = () => totpCode(secret, api.clock.now);
  const added = await call('POST', '/v1/auth/mfa/totp/confirm', token, { enrollment_token, code: code() });
  expect(outcomeOf(added)).toBe('201');
  api.clock.advance(60_000);
  return { code, id: added.json().data.factor.id as string };
}

test('of a provider’s factors only those of RFC 8176 count, however many and long the others are', async () => {
  const { email } = await newOwner();
  const said = ['ngcmfa', 'pwd', 'x'.repeat(20_000), 'a\u0000b', 'otp', 'pwd', 'made up'];
  const { data } = await walk(email, { amr: said });
  expect((await me(data.access_token)).session).toMatchObject({ amr: ['otp', 'pwd'], acr: 'urn:gatehouse:aal1' });
  const byTwo = await walk(email, { amr: ['mfa', 'whatever'] });
  expect((await me(byTwo.data.access_token)).session).toMatchObject({ amr: ['mfa'], acr: 'urn:gatehouse:aal2' });
});

/** Sets a password by the mailed link. */
async function setPassword({ userId }: TestAccount, email: string) {
  expect(outcomeOf(await call('POST', '/v1/auth/password/forgot', null, { email }))).toBe('200');
  const link = await api.database.db.transaction('system', (tx) => tx.findOneByOrFail(PasswordLink, { userId }));
  const { token } = passwordLinkToken(sealing, link);
  const password = 'their own violet tractor';
  expect(outcomeOf(await call('POST', '/v1/auth/password/reset', null, { token, password }))).toBe('200');
  return password;
}

test('a provider that reports no authentication time gives no recent sign-in; the own password does', async () => {
  const { account, email } = await newOwner();
  const undated = (await walk(email, {})).data.access_token;
  expect(decodeJwt(undated).auth_time).toBe(0);
  expect(outcomeOf(await beginApp(undated))).toBe('403 auth.reauthentication_required');
  // The session starts now, whenever the provider authenticated them.
  expect((await me(undated)).session.authenticated_at).toBe(api.clock.now.toISOString());

  const password = await setPassword(account, email);
  const own = (await call('POST', '/v1/auth/login', null, { email, password })).json().data.access_token;
  expect(decodeJwt(own).auth_time).toBe(secondsNow());
  await addApp(own);
});

describe('a sign-in that makes the provider authenticate again', () => {
  test('enrolls a factor for a person whom the provider remembers, and whom their Account lets in only by it', async () => {
    const { account, email } = await newOwner();
    await rowsOf(api, 'update accounts set require_mfa = true where id = $1', [account.scope.accountId]);
    const remembered = (await walk(email, twentyMinutesAgo())).data.access_token;
    const open = (token: string) => call('GET', `/portal/v1/accounts/${account.accountSlug}`, token);
    expect(outcomeOf(await open(remembered))).toBe('403 mfa.enrollment_required');
    expect(outcomeOf(await beginApp(remembered))).toBe('403 auth.reauthentication_required');

    const { asked, data } = await walk(email, justNow(), anew);
    expect([asked.get('prompt'), asked.get('max_age')]).toEqual(['login', '600']);
    await addApp(data.access_token);
    expect(outcomeOf(await open(data.access_token))).toBe('200');
  });

  test('is none if the answer is older, or does not report its time', async () => {
    const { email } = await newOwner();
    expect((await walk(email, twentyMinutesAgo(), anew)).error).toBe('sso.reauthentication_missing');
    expect((await walk(email, {}, anew)).error).toBe('sso.auth_time_missing');
    expect((await walk(email, {})).data.outcome).toBe('authenticated');
  });

  test('requires the person’s own factor even if the provider reports two', async () => {
    const { email } = await newOwner();
    const two = () => ({ ...justNow(), amr: ['mfa'] });
    // A person without a factor is let in by the provider's statement.
    const { data } = await walk(email, two(), anew);
    expect(data.outcome).toBe('authenticated');
    const app = await addApp(data.access_token);
    const remove = (token: string) => call('DELETE', `/v1/auth/mfa/factors/${app.id}`, token);
    const byWord = await walk(email, two());
    expect(outcomeOf(await remove(byWord.data.access_token))).toBe('403 auth.reauthentication_required');

    const { data: begun } = await walk(email, two(), anew);
    expect(begun).toMatchObject({ outcome: 'mfa_required', available_factors: ['totp', 'recovery_code'] });
    const { challenge_token } = begun;
    const answered = await call('POST', '/v1/auth/mfa/challenge/totp', null, { challenge_token, code: app.code() });
    expect(outcomeOf(await remove(answered.json().data.access_token))).toBe('204');
  });
});

describe('nobody is let in', () => {
  test('by an address that the provider has not verified, before they are linked by more than it', async () => {
    const { email } = await newOwner();
    const unverified = { email_verified: false };
    expect((await walk(email, unverified)).error).toBe('sso.email_unverified');
    expect((await walk(email, {})).data.outcome).toBe('authenticated');
    expect((await walk(email, unverified)).data.outcome).toBe('authenticated'); // by their subject
  });

  test('with the address of a person for whom the provider has another subject', async () => {
    const { email } = await newOwner();
    const [ana, another] = [{ sub: randomUUID() }, { sub: randomUUID() }];
    expect((await walk(email, ana)).data.outcome).toBe('authenticated');
    expect((await walk(email, another)).error).toBe('sso.subject_mismatch');
    expect((await walk(email, ana)).data.outcome).toBe('authenticated');
  });
});
