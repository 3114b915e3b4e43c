import type { LightMyRequestResponse } from 'fastify';
import { decodeJwt } from 'jose';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { settleNewPassword } from '../../../src/domain/passwords/new-password.js';
import { firstFactor } from '../../../src/domain/sessions/first-factor.js';
import { accountUrl, follow, send } from '../../support/account.js';
import { type Authenticator, createAuthenticator } from '../../support/authenticator.js';
import { lastLink } from '../../support/identity-mails.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { hidden } from '../../support/mfa.js';
import type { Browser } from '../../support/oauth/browser.js';
import { password, redirectUri } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';
import { newOrganization } from '../../support/organizations.js';
import { giveKey } from '../../support/passkeys.js';

/** Whoever knew a password may have enrolled a key with it, so a new one takes from all keys that they sign in. */

const baseUrl = 'http://localhost:3000';
const next = 'lantern orchard seven';
const isIn = 'in';
const isRefused = 'mfa.second_factor_only';
const provider = await newProvider({ baseUrl });
afterAll(() => provider.close());

const newKey = (more: Partial<Parameters<typeof createAuthenticator>[0]> = {}) =>
  createAuthenticator({ origin: baseUrl, isSynced: true, ...more });

/** Creates a person with a key that the release before has stored, which says nothing about whether it signs in. */
async function withKey(settings: Partial<EnvironmentSettings> = {}, key = newKey()) {
  const environment = await provider.newEnvironment(settings);
  const client = await environment.newClient();
  const identity = await environment.newIdentity();
  await giveKey(provider, identity, key);
  return { environment, client, identity, key };
}
type Person = Awaited<ReturnType<typeof withKey>>;

const parametersOf = ({ client }: Pick<Person, 'client'>, more: Record<string, string> = {}) =>
  Object.fromEntries(new URL(authorizeUrl(client, more), baseUrl).searchParams);
const asScript = (browser: Browser, path: string, fields: Record<string, string>) =>
  browser.post(path, fields, { origin: baseUrl });

/** Answers a new challenge with a key alone; returns `in`, or the error. */
async function byPasskey(person: Person, { key = person.key, browser = provider.browser() } = {}): Promise<string> {
  const parameters = parametersOf(person);
  const { options, passkey_token } = (await asScript(browser, '/oauth/login/passkey/options', parameters)).json();
  const credential = JSON.stringify(key.get(options));
  const response = await asScript(browser, '/oauth/login/passkey/verify', { ...parameters, passkey_token, credential });
  expect(browser.cookies.has('hosted_session')).toBe(response.statusCode === 200);
  return response.json().error ?? isIn;
}

/** Answers the challenge for a second factor that a page shows; returns where the sign-in goes on. */
async function showKey(browser: Browser, page: LightMyRequestResponse, key: Authenticator): Promise<string> {
  const challenge_token = hidden(page, 'challenge_token');
  const options = (await asScript(browser, '/oauth/mfa/webauthn/options', { challenge_token })).json();
  const credential = JSON.stringify(key.get(options));
  const response = await asScript(browser, '/oauth/mfa/webauthn/verify', { challenge_token, credential });
  expect(response.statusCode).toBe(200);
  return response.json().redirect_to;
}

/** Signs in with the new password and then the key. */
async function byBoth({ client, identity, key: own }: Person, key = own) {
  const { verifier, challenge } = newPkce();
  const browser = provider.browser();
  const page = await browser.get(authorizeUrl(client, { code_challenge: challenge }));
  const asked = await browser.submit(page, { email: identity.email, password: next });
  const code = new URL(await showKey(browser, asked, key)).searchParams.get('code') as string;
  const tokens = await redeem(provider.app, client, { code, verifier, redirect: redirectUri });
  return decodeJwt(tokens.json().id_token);
}

async function byLink({ environment, client, identity }: Person): Promise<void> {
  const browser = provider.browser();
  const url = authorizeUrl(client).replace('/oauth/authorize?', '/oauth/password/forgot?');
  await browser.submit(await browser.get(url), { email: identity.email });
  const link = await lastLink(provider, environment.environmentId);
  const done = await browser.submit(await browser.get(link), { password: next });
  expect(done.statusCode).toBeLessThan(400);
}
/** Changes it in the person's own account, in a session that the key itself has opened. */
async function byAccountPage(person: Person): Promise<void> {
  const browser = provider.browser();
  expect(await byPasskey(person, { browser })).toBe(isIn);
  const page = await browser.get(accountUrl(person.client, {}, '/password'));
  const done = await send(browser, page, 'password', { current_password: password, new_password: next });
  expect(String(done.headers.location)).toContain('done=password');
}
/** Sets or removes it as an administrator does, or another part of the Account. */
const bySomebody = ({ environment, identity }: Person, passwordHash: string | null = identity.passwordHash) =>
  provider.db.transaction({ accountId: environment.accountId }, (tx) =>
    settleNewPassword(
      tx,
      { ...environment, identityId: identity.id, membershipId: null },
      { passwordHash, method: 'administrator', provesEmail: false, now: provider.now() },
    ),
  );

const storedOf = async ({ identity }: Person) => {
  const rows = await provider.query<{ signs_in: boolean }>(
    'select signs_in from mfa_factors where identity_id = $1 order by enrolled_at, id',
    [identity.id],
  );
  return rows.map(({ signs_in }) => signs_in);
};

test.each<[string, (person: Person) => Promise<void>]>([
  ['by a mailed link', byLink],
  ['in their own account', byAccountPage],
])('after a new password %s a passkey is a second factor, and signs in once it was used as one', async (_, change) => {
  const person = await withKey({ mfaPolicy: 'optional' });
  expect(await byPasskey(person)).toBe(isIn);
  await change(person);
  expect(await byPasskey(person)).toBe(isRefused);
  const [failure] = await provider.query(
    `select outcome, resource_id, metadata from events where action = 'auth.identity_sign_in_failed' and environment_id = $1`,
    [person.environment.environmentId],
  );
  expect(failure).toEqual({
    outcome: 'denied',
    resource_id: person.identity.id,
    metadata: { method: 'passkey', reason: isRefused },
  });
  expect(await byBoth(person)).toMatchObject({ acr: 'urn:gatehouse:aal2', amr: ['pwd', 'swk', 'user', 'mfa'] });
  expect(await byPasskey(person)).toBe(isIn);
});

test('a key that nobody uses after the new password stays a second factor, beside one that somebody does', async () => {
  const person = await withKey({ mfaPolicy: 'optional' });
  const thiefs = newKey();
  await giveKey(provider, person.identity, thiefs);
  await byLink(person);
  await byBoth(person);
  expect(await byPasskey(person)).toBe(isIn);
  expect(await byPasskey(person, { key: thiefs })).toBe(isRefused);
  expect(await storedOf(person)).toEqual([true, false]);
});

test('what is wrong with a key that does not sign in is not told', async () => {
  const person = await withKey();
  await bySomebody(person);
  const { key } = person;
  const tampering = { ...key, get: (options: Parameters<typeof key.get>[0]) => key.get(options, { tampered: true }) };
  expect(await byPasskey(person, { key: tampering })).toBe('refused');
});

test('a key that does not verify its user stays a second factor, however often it is used', async () => {
  const person = await withKey({ mfaPolicy: 'optional' }, newKey({ verifiesUser: false }));
  await byLink(person);
  expect(await byBoth(person)).toMatchObject({ amr: ['pwd', 'swk', 'mfa'] });
  expect(await storedOf(person)).toEqual([false]);
});

test('a key that is said not to be stored shows the opposite by an answer, and signs in after its next use', async () => {
  const person = await withKey({ mfaPolicy: 'optional' }, newKey({ isDiscoverable: false }));
  await byLink(person);
  await byBoth(person);
  expect(await byPasskey(person)).toBe(isRefused);
  await byBoth(person);
  expect(await byPasskey(person)).toBe(isIn);
});

test.each([
  ['a password', ['pwd', 'swk', 'user', 'mfa'], isIn],
  ['a mailed code', ['otp', 'swk', 'user', 'mfa'], isIn],
  ['a key from before it', ['swk', 'user', 'mfa'], isRefused],
])(
  'after the new password, a key that is enrolled in a session that began with %s: %j, %s',
  async (_, amr, expected) => {
    const person = await withKey();
    await bySomebody(person);
    const key = newKey();
    const { accountId, environmentId, applicationId } = person.environment;
    const owner = { accountId, identityId: person.identity.id, email: '', name: '', relyingParty: '' };
    const { challenge, ...options } = await provider.logins.webauthn.enrollmentOptions(owner);
    const sent = key.create({ ...options, challenge });
    const { factor } = await provider.logins.webauthn.verifyEnrollment({ challenge, sent });
    const take = () => {
      throw new Error('it is not the first');
    };
    await provider.db.transaction({ accountId }, (tx) =>
      provider.logins.factors.enrollIn(tx, { accountId, environmentId, applicationId }, person.identity.id, {
        factor,
        amr,
        take,
      }),
    );
    expect(await byPasskey(person, { key })).toBe(expected);
    expect(await byPasskey(person)).toBe(isRefused);
  },
);

describe('where it is the only way in, a key from before the new password', () => {
  const onlyKeys = { passwordLoginEnabled: false, emailOtpLoginEnabled: false, allowEmailChange: true };

  async function signedIn(person: Person) {
    expect(await byPasskey(person)).toBe(isIn);
    const { accountId, environmentId, applicationId } = person.environment;
    const sessions = await provider.query<{ sessionId: string; authenticatedAt: Date }>(
      `select id as "sessionId", authenticated_at as "authenticatedAt" from sessions where identity_id = $1 and revoked_at is null`,
      [person.identity.id],
    );
    const place = { accountId, environmentId, applicationId, identityId: person.identity.id };
    return { ...place, ...sessions[0]!, authTime: null };
  }

  test.each([
    ['alone', false, [false]],
    ['beside one that the owner has used again', true, [false, false]],
  ])('is not replaced, %s, by one that signs in elsewhere', async (_, hasOther, expected) => {
    const person = await withKey(onlyKeys);
    await bySomebody(person);
    if (hasOther) await giveKey(provider, person.identity, newKey());
    const as = await signedIn(person);
    const [old] = await provider.query<{ id: string }>(
      'select id from mfa_factors where identity_id = $1 and not signs_in',
      [person.identity.id],
    );
    await provider.logins.factors.remove(as, old!.id);
    const owner = { accountId: as.accountId, identityId: as.identityId, email: '', name: '', relyingParty: '' };
    const { challenge, ...options } = await provider.logins.webauthn.enrollmentOptions(owner);
    const sent = newKey().create({ ...options, challenge });
    const { factor } = await provider.logins.webauthn.verifyEnrollment({ challenge, sent });
    await provider.logins.factors.enroll(as, factor);
    expect(await storedOf(person)).toEqual(expected);
  });

  test('does not move the person to another address, to which a password is mailed elsewhere', async () => {
    const person = await withKey(onlyKeys);
    const wanted = { email: `new-${person.identity.email}`, locale: 'en' } as const;
    await provider.logins.ownEmail.request(await signedIn(person), wanted);
    await bySomebody(person);
    const request = provider.logins.ownEmail.request(await signedIn(person), wanted);
    await expect(request).rejects.toMatchObject({ code: 'mfa.second_factor_only' });
  });
});

describe('of the first factors', () => {
  test.each<[string, string[], string | null, boolean]>([
    ['password', ['pwd'], null, true],
    ['email_otp', ['otp'], null, true],
    ['sso', ['pwd'], '018f2f5e-7a00-7000-8000-000000000001', false],
  ])('after %s (%j, provider: %s) a key that is used signs in again: %s', async (method, amr, connection, expected) => {
    const person = await withKey();
    await bySomebody(person);
    provider.wait(1);
    const { logins, db, now } = provider;
    const first = firstFactor(person.identity.id, method as 'password', amr, { now: now() });
    const { token } = await logins.pendingSignIns.begin({
      client: person.client,
      channel: 'hosted',
      purpose: 'challenge',
      first,
      requiresAal2: false,
      parameters: {},
    });
    const pending = { ...(await logins.pendingSignIns.find(token, 'hosted'))!, ssoConnectionId: connection };
    const options = await logins.webauthn.assertionOptions(pending);
    expect(await logins.webauthn.verifyAssertion(pending, person.key.get(options), db)).toEqual(['swk', 'user']);
    expect(await storedOf(person)).toEqual([expected]);
  });
});

describe('nobody is locked out:', () => {
  test.each<[string, Partial<EnvironmentSettings>, string]>([
    ['neither passwords nor mailed codes', { passwordLoginEnabled: false, emailOtpLoginEnabled: false }, isIn],
    ['mailed codes alone', { passwordLoginEnabled: false, emailOtpLoginEnabled: true }, isRefused],
    ['passwords alone', { passwordLoginEnabled: true, emailOtpLoginEnabled: false }, isRefused],
  ])('beside %s (%j), a key from before the new password is %s', async (_, settings, expected) => {
    const person = await withKey(settings);
    await bySomebody(person);
    expect(await byPasskey(person)).toBe(expected);
    expect(await storedOf(person)).toEqual([false]); // what it does here, it does not do where there are other ways
    await bySomebody(person, null);
    expect(await byPasskey(person)).toBe(expected);
  });

  test('a member of an organization that allows passkeys alone', async () => {
    const person = await withKey();
    const { environment, identity } = person;
    await bySomebody(person);
    expect(await byPasskey(person)).toBe(isRefused);
    await newOrganization(provider, environment, { policy: { allowed_methods: ['passkey'] }, members: [identity] });
    expect(await byPasskey(person)).toBe(isIn);
  });

  test('a person who never had a password', async () => {
    const person = await withKey();
    await provider.query('update identities set password_hash = null, password_changed_at = null where id = $1', [
      person.identity.id,
    ]);
    expect(await byPasskey(person)).toBe(isIn);
  });

  test('where no second factor is asked for, the account leads to a sign-in that asks for the key', async () => {
    const person = await withKey({ mfaPolicy: 'off' });
    const { client, identity, key } = person;
    await byLink(person);
    const browser = provider.browser();
    const entry = await follow(browser, await browser.get(accountUrl(client)));
    const overview = await follow(browser, await browser.submit(entry, { email: identity.email, password: next }));
    expect(overview.body).toContain('Works only as a second step since your password was changed.');
    const inJson = await browser.get(accountUrl(client), { accept: 'application/json' });
    expect(inJson.json().factors).toMatchObject([{ signs_in: false }]);

    const [, href] = /<a href="([^"]*)">Confirm it to sign in/.exec(overview.body) as RegExpExecArray;
    const again = await follow(browser, await browser.get(href!.replaceAll('&amp;', '&')));
    const asked = await browser.submit(again, { email: identity.email, password: next });
    const back = await showKey(browser, asked, key);
    const after = await follow(browser, await browser.get(back.replace(baseUrl, '')));
    expect(after.body).not.toContain('Works only as a second step');
    expect(await byPasskey(person)).toBe(isIn);
  });
});

test('a session by a key from before ends with the new password, or does not begin, at whatever statement it is', async () => {
  const run = async (at: number | null) => {
    const person = await withKey();
    provider.wait(1); // a new password is told from the one before by its time
    const browser = provider.browser();
    const parameters = parametersOf(person);
    const { options, passkey_token } = (await asScript(browser, '/oauth/login/passkey/options', parameters)).json();
    const credential = JSON.stringify(person.key.get(options));
    const signIn = () => asScript(browser, '/oauth/login/passkey/verify', { ...parameters, passkey_token, credential });
    if (at === null) return (await counted(signIn)).statements;
    await interleaved(provider.database.ownerUrl, at, signIn, () => bySomebody(person));
    const isOpen = (await browser.get(authorizeUrl(person.client, { prompt: 'none' }))).headers.location;
    expect([at, isOpen]).toEqual([at, expect.stringContaining('error=login_required')]);
    expect(await storedOf(person)).toEqual([false]);
    return at;
  };
  const statements = (await run(null)) as number;
  expect(statements).toBeGreaterThan(3);
  for (let at = 1; at <= statements; at++) await run(at);
});
