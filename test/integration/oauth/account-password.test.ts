import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { createOwnPassword } from '../../../src/domain/logins/own-password.js';
import { createPasswords } from '../../../src/domain/passwords/passwords.js';
import { minutes } from '../../../src/platform/clock.js';
import { accountUrl, follow, noticeOf, openAccount, send } from '../../support/account.js';
import { alertOf, enrollTotp, hidden } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, type TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { refresh, tokensFor, userinfo } from '../../support/oauth/tokens.js';

let ana: TestIdentity;
let laptop: Browser;

const world = await newProvider({ rateLimits: true });
const environment = await world.newEnvironment({ passwordMinLength: 10 });
const client = await environment.newClient();
afterAll(() => world.close());
beforeEach(async () => {
  ana = await environment.newIdentity();
  laptop = world.browser();
});

const address = () => accountUrl(client, {}, '/password');
const next = 'plumage over the harbour';
const change = (browser: Browser, page: Parameters<typeof send>[1], fields: Record<string, string> = {}) =>
  send(browser, page, 'password', { current_password: password, new_password: next, ...fields });
const signsIn = async (typed: string) => {
  const browser = world.browser();
  const form = await follow(browser, await browser.get(accountUrl(client)));
  return (await browser.submit(form, { email: ana.email, password: typed })).statusCode === 303;
};
const events = (action: string) =>
  world.query<{ metadata: Record<string, unknown> }>('select * from events where action = $1 and resource_id = $2', [
    action,
    ana.id,
  ]);

test('the password is changed with the current one; this session stays, all others end', async () => {
  const phone = await tokensFor(world.browser(), client, ana.email);
  const here = await tokensFor(laptop, client, ana.email);
  const page = await openAccount(laptop, address(), ana);
  expect(page.body).toContain('At least 10 characters.');
  const done = await follow(laptop, await change(laptop, page));
  expect(noticeOf(done)).toBe('Your password is changed, and you are signed out everywhere else.');

  expect(await signsIn(password)).toBe(false);
  expect(await signsIn(next)).toBe(true);
  expect((await userinfo(world.app, phone.access_token)).statusCode).toBe(401);
  expect((await refresh(world.app, client, phone.refresh_token)).statusCode).toBe(400);
  expect((await userinfo(world.app, here.access_token)).statusCode).toBe(200);
  expect(await events('identity.password_changed')).toMatchObject([{ metadata: { method: 'own' } }]);
  const mails = await world.query(
    `select 1 from emails where template = 'identity-password-changed' and subject_id =
       (select id from environment_memberships where identity_id = $1)`,
    [ana.id],
  );
  expect(mails).toHaveLength(1);
});

test('changing the password does not confirm the address', async () => {
  const page = await openAccount(laptop, address(), ana);
  await world.query('update identities set email_verified_at = null where id = $1', [ana.id]);
  expect((await change(laptop, page)).statusCode).toBe(303);
  expect(await world.query('select email_verified_at from identities where id = $1', [ana.id])).toEqual([
    { email_verified_at: null },
  ]);
  expect(await events('identity.email_verified')).toEqual([]);
});

test('a session that has ended meanwhile changes nothing, and another person’s or a missing one is refused', async () => {
  const ben = await environment.newIdentity();
  const [mine, theirs] = [world.browser(), world.browser()];
  await tokensFor(mine, client, ana.email);
  await tokensFor(theirs, client, ben.email);
  const sessionOf = async ({ id }: { id: string }): Promise<string> =>
    (await world.query<{ id: string }>('select id from sessions where identity_id = $1', [id]))[0]?.id as string;
  const typed = { currentPassword: password, newPassword: next, locale: 'en' } as const;
  const changeIn = (sessionId: string, identityId = ana.id) =>
    world.logins.ownPassword(environment, { identityId, sessionId, ...typed });
  await expect(changeIn(await sessionOf(ben))).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
  const own = await sessionOf(ana);
  await expect(changeIn(own, randomUUID())).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
  await world.query('update sessions set revoked_at = $2 where id = $1', [own, world.now()]);
  await expect(changeIn(own)).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
  expect(await events('identity.password_changed')).toEqual([]);
  expect(await signsIn(password)).toBe(true);
});

test.each([
  [{ current_password: 'not the current one' }, 'That is not your current password.'],
  [{ new_password: 'nine char' }, 'This password is too short. Use at least 10 characters.'],
  [
    { new_password: 'Acme-2026!!' },
    'This password is little more than a name or an email address that others can guess: yours, or that of this service. ' +
      'Choose another one.',
  ],
  [{ new_password: 'x'.repeat(129) }, 'This password is too long. Use at most 128 characters.'],
])('%j is refused with its reason, and changes nothing', async (fields, said) => {
  const page = await openAccount(laptop, address(), ana);
  const refused = await change(laptop, page, fields);
  expect(refused.statusCode).toBe(400);
  expect(alertOf(refused)).toBe(said);
  expect(refused.body).not.toContain(Object.values(fields)[0] as string);
  const script = await send(
    laptop,
    page,
    'password',
    { current_password: password, new_password: next, ...fields },
    { accept: 'application/json' },
  );
  expect(script.statusCode).toBe(400);
  expect(await signsIn(next)).toBe(false);
  expect(await events('identity.password_changed')).toEqual([]);
});

test('guesses of the current password are counted, also parallel ones, and the right one is then refused too', async () => {
  const page = await openAccount(laptop, address(), ana);
  const guesses = Array.from({ length: 15 }, (_, i) => change(laptop, page, { current_password: `guess number ${i}` }));
  const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode).sort();
  expect(statuses).toEqual([...Array(10).fill(400), ...Array(5).fill(429)]);
  const late = await change(laptop, page);
  expect(late.statusCode).toBe(429);
  expect(Number(late.headers['retry-after'])).toBeGreaterThan(0);
  const failed = await events('auth.identity_password_change_failed');
  expect(failed).toHaveLength(10);
  const { accountId: account_id, environmentId: environment_id } = environment;
  const actor = { actor_type: 'identity', actor_id: ana.id };
  expect(failed[0]).toMatchObject({ account_id, environment_id, ...actor, outcome: 'failure' });
  expect(await signsIn(password)).toBe(true);
});

test('only wrong guesses stay counted, for a quarter of an hour', async () => {
  const page = await openAccount(laptop, address(), ana);
  const wrong = { current_password: 'a wrong one', new_password: 'yet another one 77' };
  const guess = async () => (await change(laptop, page, wrong)).statusCode;
  const before = await Promise.all(Array.from({ length: 9 }, guess));
  expect(new Set(before)).toEqual(new Set([400]));
  expect((await change(laptop, page)).statusCode).toBe(303);
  expect([await guess(), await guess()]).toEqual([400, 429]);
  const late = await change(laptop, page, { current_password: next });
  expect(late.headers['ratelimit-policy']).toBe('"own-password-change";q=10;w=900');
  expect(Number(late.headers['retry-after'])).toBeLessThanOrEqual(900);
});

test('without limits no guess is counted', async () => {
  await tokensFor(laptop, client, ana.email);
  const [{ id: sessionId } = { id: '' }] = await world.query<{ id: string }>(
    'select id from sessions where identity_id = $1',
    [ana.id],
  );
  const passwords = createPasswords({ breachUrl: null, onOutage: () => {} });
  const ownPassword = createOwnPassword({ db: world.db, passwords, rateLimits: false, now: world.now });
  const typed = { identityId: ana.id, sessionId, newPassword: next, locale: 'en' } as const;
  for (let i = 0; i < 11; i++) {
    const guess = ownPassword(environment, { ...typed, currentPassword: 'a wrong one' });
    await expect(guess).rejects.toMatchObject({ code: 'password.wrong' });
  }
  await ownPassword(environment, { ...typed, currentPassword: password });
  expect(await signsIn(next)).toBe(true);
});

test('the page needs a sign-in of the last ten minutes, and then leads back', async () => {
  const page = await openAccount(laptop, address(), ana);
  world.wait(minutes(10));
  const refused = await change(laptop, page);
  expect(locationOf(refused).pathname).toBe('/oauth/authorize');
  expect(locationOf(refused).searchParams.get('max_age')).toBe('480');
  const form = await follow(laptop, refused);
  expect(form.body).toContain(`value="${ana.email}"`);
  expect(form.body).toContain('To change how you sign in, please sign in once more.');
  const back = await follow(laptop, await laptop.submit(form, { email: ana.email, password }));
  expect(back.body).toContain('name="current_password"');
  expect(hidden(back, 'session')).toBe(hidden(page, 'session'));
  expect((await change(laptop, back)).statusCode).toBe(303);
  expect(await signsIn(next)).toBe(true);
});

test('a person with a second factor uses it first, and a stolen session without it changes nothing', async () => {
  const page = await openAccount(laptop, address(), ana);
  const totp = await enrollTotp(world, environment, ana); // meanwhile, on another device
  const refused = await change(laptop, page);
  expect(locationOf(refused).searchParams.get('acr_values')).toBe('urn:gatehouse:aal2');
  const challenge = await follow(laptop, refused);
  expect(challenge.body).toContain('name="challenge_token"');
  const back = await follow(laptop, await laptop.submit(challenge, { code: totp.code() }));
  expect(back.body).toContain('name="current_password"');
  expect((await change(laptop, back)).statusCode).toBe(303);
});

test('a person without a password chooses one', async () => {
  const page = await openAccount(laptop, address(), ana);
  await world.query('update identities set password_hash = null, password_changed_at = null where id = $1', [ana.id]);
  const form = await laptop.get(address());
  expect(form.body).not.toContain('name="current_password"');
  expect(form.body).toContain('Choose a password');
  expect((await send(laptop, page, 'password', { new_password: next })).statusCode).toBe(303);
  expect(await signsIn(next)).toBe(true);
});

test('one of two parallel changes is made', async () => {
  const page = await openAccount(laptop, address(), ana);
  world.wait(1); // the earlier password is older
  const answers = await Promise.all([
    change(laptop, page, { new_password: 'first of the passwords' }),
    change(laptop, page, { new_password: 'second of the passwords' }),
  ]);
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 400]);
  expect(await events('identity.password_changed')).toHaveLength(1);
});

test.each(['in sequence', 'at once'])('a form that is sent twice %s says twice that it is changed', async (how) => {
  const page = await openAccount(laptop, address(), ana);
  expect(page.body).toContain('let isSent = false'); // the script suppresses a second click
  world.wait(1);
  const send = () => change(laptop, page);
  const both = how === 'at once' ? await Promise.all([send(), send()]) : [await send(), await send()];
  for (const answer of both) expect(locationOf(answer).searchParams.get('done')).toBe('password_changed');
  expect(await events('identity.password_changed')).toHaveLength(1);
  expect(await events('auth.identity_password_change_failed')).toEqual([]);
  expect((await change(laptop, page, { new_password: 'yet another one 77' })).statusCode).toBe(400); // that password was not set
  world.wait(minutes(1));
  const late = await change(laptop, page);
  expect([late.statusCode, alertOf(late)]).toEqual([400, 'That is not your current password.']);
  expect(await signsIn(next)).toBe(true);
});

test('an environment without passwords has no page to change one', async () => {
  const without = await world.newEnvironment({ emailOtpLoginEnabled: true, passwordLoginEnabled: true });
  const other = await without.newClient();
  const ben = await without.newIdentity();
  const page = await openAccount(laptop, accountUrl(other), ben);
  await world.query('update environment_settings set password_login_enabled = false where environment_id = $1', [
    without.environmentId,
  ]);
  world.wait(minutes(1));
  expect((await laptop.get(accountUrl(other, {}, '/password'))).statusCode).toBe(404);
  expect((await change(laptop, page)).statusCode).toBe(404);
  expect((await laptop.get(accountUrl(other))).body).not.toContain('/oauth/account/password');
});

test('a form of another site is refused', async () => {
  const page = await openAccount(laptop, address(), ana);
  const fields = { current_password: password, new_password: next };
  expect((await send(laptop, page, 'password', fields, { origin: 'https://evil.example' })).statusCode).toBe(403);
  expect((await send(laptop, page, 'password', { ...fields, session: ana.id })).headers.location).toContain(
    'session_changed',
  );
  expect(await signsIn(password)).toBe(true);
});
