import { v7 as uuidv7 } from 'uuid';
import { DomainError } from '../../src/domain/errors.js';
import { createApiLogins } from '../../src/domain/logins/api-logins.js';
import { createAttempts } from '../../src/domain/logins/attempts.js';
import { createEmailOtpLogin } from '../../src/domain/logins/email-otp.js';
import { createEmailedCodes, digitsOf, type EmailedCodes } from '../../src/domain/logins/emailed-codes.js';
import { createOwnPassword } from '../../src/domain/logins/own-password.js';
import { createPasswordLogin } from '../../src/domain/logins/password.js';
import type { Client } from '../../src/domain/oidc/clients/clients.js';
import { maxLinkTries } from '../../src/domain/one-time/link-proof.js';
import { createPasswords } from '../../src/domain/passwords/passwords.js';
import { createConfirmSignUp } from '../../src/domain/sign-ups/confirm.js';
import { createUserGuesses } from '../../src/domain/users/guesses.js';
import { createPasswordChange } from '../../src/domain/users/password-change.js';
import { createSignIn } from '../../src/domain/users/sign-in.js';
import { apiOf } from '../support/identity-auth.js';
import { lastLink } from '../support/identity-mails.js';
import { password } from '../support/oauth/environment.js';
import { newProvider } from '../support/oauth/provider.js';
import { authorizeUrl } from '../support/oauth/sign-in.js';
import { newOther } from '../support/other-environment.js';

const world = await newProvider();
const environment = await world.newEnvironment({ allowSelfSignup: true });
afterAll(() => world.close());

/** More wrong guesses at once than are allowed before the service verifies none. */
const tooMany = 12;
const unavailable = new DomainError('service.unavailable');
const outage = new Error('the database is away');

/** Returns passwords that cannot be verified while too many hashes are waiting. */
function crowded() {
  const state = { isFull: true };
  const passwords = createPasswords({ breachUrl: null, onOutage: () => {} });
  const verify: typeof passwords.verify = (hash, typed) =>
    state.isFull ? Promise.reject(unavailable) : passwords.verify(hash, typed);
  return { state, passwords: { ...passwords, verify, isFull: () => false } };
}
const deps = () => ({ db: world.db, now: world.now, rateLimits: true });
const attempts = () => createAttempts({ db: world.db, enabled: true, now: world.now });

async function burst(attempt: () => Promise<unknown>, failure: Error = unavailable) {
  for (let i = 0; i < tooMany; i++) await expect(attempt()).rejects.toBe(failure);
}

test('a sign-in password that was not verified counts as no guess', async () => {
  const { state, passwords } = crowded();
  const login = createPasswordLogin({ ...deps(), passwords, attempts: attempts(), onRehashError: () => {} });
  const ana = await environment.newIdentity();
  const typed = { email: ana.email, password, ipAddress: '198.51.100.1' };
  await burst(() => login.signIn(environment, typed));
  state.isFull = false;
  expect(await login.signIn(environment, typed)).toMatchObject({ outcome: 'accepted' });
});

test('an emailed code that was not verified counts as no guess', async () => {
  const emailedCodes = {
    send: async () => {},
    redeem: () => Promise.reject(outage),
  } as unknown as EmailedCodes;
  const { sealing } = world;
  const login = createEmailOtpLogin({ ...deps(), sealing, emailedCodes, attempts: attempts() });
  const email = `${uuidv7()}@example.com`;
  const asked = { email, bound: '', token: null, locale: 'en', createsIdentities: false } as const;
  const { token } = await login.start(environment, asked);
  const tried = { token, code: '123456', bound: '', ipAddress: '198.51.100.2', dailyCap: null };
  await burst(() => login.verify(environment, tried), outage);
});

test('the choice of an application stays valid if its sign-in failed', async () => {
  const place = await world.newEnvironment();
  const ana = await place.newIdentity({ isMember: false });
  const other = await newOther(world, place);
  await other.join(ana.id);
  const { sessions } = world.provider;
  const [{ passwords }, { db, now, sealing, logins }] = [crowded(), world];
  const signInBy = (signIn: typeof sessions.signIn) => {
    const provider = { ...world.provider, sessions: { ...sessions, signIn } };
    return createApiLogins({ db, sealing, passwords, logins, provider, now }).signIn;
  };
  const client = (await world.provider.clients.find(other.client.clientId)) as Client;
  const from = { device: null, ipAddress: '198.51.100.3', userAgent: null };
  const visit = { client, scope: ['openid' as const], requiresAal2: false, ...from };
  const { selection_token: token } = await apiOf(world).signedIn(await place.newClient(), ana);
  const choice = { token: String(token), applicationId: other.applicationId };
  const failing = signInBy(() => Promise.reject(outage));
  await expect(failing.withSelection(visit, choice)).rejects.toBe(outage);
  const working = signInBy(sessions.signIn);
  expect(await working.withSelection(visit, choice)).toMatchObject({ outcome: 'signed_in' });
  await expect(working.withSelection(visit, choice)).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
});

test('a right emailed code stays valid if the action it was for failed', async () => {
  const emailedCodes = createEmailedCodes({ db: world.db, sealing: world.sealing, now: world.now });
  const working = { ...deps(), sealing: world.sealing, emailedCodes, attempts: attempts() };
  const login = createEmailOtpLogin(working);
  const db = { ...world.db, transaction: () => Promise.reject(outage) } as unknown as typeof world.db;
  const failing = createEmailOtpLogin({ ...working, db });
  const email = `${uuidv7()}@people.example`;
  const asked = { email, bound: '', token: null, locale: 'en', createsIdentities: true } as const;
  const { token } = await login.start(environment, asked);
  const [mailed] = await world.query<{ id: string }>('select id from emailed_codes where email = $1', [email]);
  const { digits } = digitsOf(world.sealing, { id: mailed!.id });
  const tried = { token, code: digits, bound: '', ipAddress: '198.51.100.6', dailyCap: 10 };
  for (let i = 0; i < 3; i++) await expect(failing.verify(environment, tried)).rejects.toBe(outage);
  expect(await login.verify(environment, tried)).toMatchObject({ outcome: 'accepted', email });
  expect(await login.verify(environment, tried)).toMatchObject({ outcome: 'spent' });
});

test('a current password that was not verified at its change counts as no guess', async () => {
  const { state, passwords } = crowded();
  const change = createOwnPassword({ ...deps(), passwords });
  const { id: identityId } = await environment.newIdentity();
  const asked = { identityId, sessionId: uuidv7(), currentPassword: 'wrong', newPassword: 'plumage over the harbour' };
  await burst(() => change(environment, asked));
  state.isFull = false;
  await expect(change(environment, asked)).rejects.toMatchObject({ code: 'password.wrong' });
});

test("an administrator's password that was not verified, at sign-in or at its change, counts as no guess", async () => {
  const { state, passwords } = crowded();
  const guesses = createUserGuesses(deps());
  const unused = {
    sessions: null as never,
    challenges: null as never,
    passkeys: null as never,
    sealing: world.sealing,
    onRehashError: () => {},
  };
  const { signIn } = createSignIn({ ...deps(), ...unused, passwords, guesses });
  const change = createPasswordChange({ ...deps(), passwords, guesses });
  const typed = { email: `${uuidv7()}@example.com`, password, ipAddress: '198.51.100.3', userAgent: null };
  const who = { userId: uuidv7(), sessionId: uuidv7(), accountId: null, applicationId: null };
  const asked = { currentPassword: 'wrong', newPassword: 'plumage over the harbour', locale: 'en' } as const;
  await burst(() => signIn(typed));
  await burst(() => change(who, asked));
  state.isFull = false;
  await expect(signIn(typed)).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
  await expect(change(who, asked)).rejects.toMatchObject({ code: 'password.wrong' });
});

/** Returns what a person sends who opens a sign-up's link in another browser. */
async function signedUp() {
  const browser = world.browser();
  const form = await browser.get(
    authorizeUrl(await environment.newClient()).replace('/oauth/authorize?', '/oauth/register?'),
  );
  await browser.submit(form, { email: `${uuidv7()}@example.com`, password });
  const link = await lastLink(world, environment.environmentId);
  return { token: new URL(link, world.baseUrl).searchParams.get('token') ?? '', browser: null, password };
}

test('a sign-up’s password that was not verified counts as no guess of its link', async () => {
  const { state, passwords } = crowded();
  const { confirm } = createConfirmSignUp({ ...deps(), passwords });
  const held = await signedUp();
  await burst(() => confirm(held));
  state.isFull = false;
  expect(await confirm(held)).toMatchObject({ outcome: 'confirmed' });
});

test('a right password of a sign-up that could not be confirmed uses up no guess of its link', async () => {
  const { state, passwords } = crowded();
  state.isFull = false;
  const held = await signedUp();
  const transaction: typeof world.db.transaction = (scope, work) =>
    scope === 'system' ? world.db.transaction(scope, work) : Promise.reject(outage);
  const down = createConfirmSignUp({ ...deps(), db: { ...world.db, transaction }, passwords });
  for (let i = 0; i < maxLinkTries; i++) await expect(down.confirm(held)).rejects.toBe(outage);
  const { confirm } = createConfirmSignUp({ ...deps(), passwords });
  expect(await confirm(held)).toMatchObject({ outcome: 'confirmed' });
});

test('a sign-up link’s form that is sent twice gets the link’s state after the first', async () => {
  const { passwords, state } = crowded();
  state.isFull = false;
  const held = await signedUp();
  const first = createConfirmSignUp({ ...deps(), passwords });
  // The first attempt finishes between this one's check and its verification.
  const statement: typeof world.db.statement = async (asked, values) => {
    if (asked.name === 'try_identity_links') expect((await first.confirm(held)).outcome).toBe('confirmed');
    return world.db.statement(asked, values);
  };
  const second = createConfirmSignUp({ ...deps(), db: { ...world.db, statement }, passwords });
  expect(await second.confirm(held)).toMatchObject({ outcome: 'void', link: { status: 'used' } });
});

test('a guess that was checked counts, even if recording it fails', async () => {
  const { passwords } = crowded();
  const guesses = createUserGuesses(deps());
  const verify = async () => false;
  const db = { ...world.db, transaction: () => Promise.reject(outage) } as unknown as typeof world.db;
  const unused = {
    sessions: null as never,
    challenges: null as never,
    passkeys: null as never,
    sealing: world.sealing,
    onRehashError: () => {},
  };
  const { signIn } = createSignIn({ ...deps(), ...unused, db, passwords: { ...passwords, verify }, guesses });
  const typed = { email: `${uuidv7()}@example.com`, password, ipAddress: '198.51.100.4', userAgent: null };
  for (let i = 0; i < 10; i++) await expect(signIn(typed)).rejects.toBe(outage);
  await expect(signIn(typed)).rejects.toMatchObject({ code: 'rate_limit.exceeded' });
});
