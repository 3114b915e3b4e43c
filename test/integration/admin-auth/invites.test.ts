import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { DomainError } from '../../../src/domain/errors.js';
import { createPasswords } from '../../../src/domain/passwords/passwords.js';
import { invite, newPerson, rolesByKey, tokenOf } from '../../support/administrators.js';
import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { expectDeadLinks, foreignTokens } from '../../support/dead-links.js';
import { totpCode } from '../../support/mfa.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';
import { comingUpon } from '../../support/uncommitted.js';

let api: TestApi;
let account: TestAccount;
let owner: Call;
let roles: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  roles = await rolesByKey(owner);
});
afterAll(() => api.stop());

const password = 'violet tractor 19';
const post = (path: string, payload: object, headers: Record<string, string> = {}) =>
  api.app.inject({ method: 'POST', url: `/v1/auth${path}`, payload, headers });
const accept = (token: string, body: object = {}) =>
  post('/accept-invite', { token, first_name: ' Ivo ', last_name: 'Kern', password, ...body });
const signIn = (email: string, with_ = password) => post('/login', { email, password: with_ });
const membersNamed = (email: string) =>
  rowsOf<{ user_id: string; account_id: string; limits: object | null }>(
    api,
    `select m.user_id, m.account_id, mr.limits from memberships m join membership_roles mr on mr.membership_id = m.id
     join users u on u.id = m.user_id where u.email = $1`,
    [email],
  );
/** Enrolls an authenticator app in a session; returns the recovery codes. */
async function enrollApp(headers: Record<string, string>): Promise<string[]> {
  const { data: begun } = (await post('/mfa/totp/enroll', {}, headers)).json();
  const code = totpCode(begun.secret, api.clock.now);
  const added = await post('/mfa/totp/confirm', { enrollment_token: begun.enrollment_token, code }, headers);
  expect(added.statusCode).toBe(201);
  return added.json().data.recovery_codes;
}
const passwordsHash = (text: string) => createPasswords({ breachUrl: null }).hash(text);

test('a new person becomes a verified user and a member with the role and its limits', async () => {
  const limits = { application_ids: [account.scope.applicationId], environment_ids: [], node_ids: [] };
  const made = await invite(owner, { role_id: roles.developer, limits });
  expect((await post('/invite-info', { token: made.token })).json()).toEqual({
    data: { email: made.email, first_name: 'Ivo', last_name: 'Kern', sso_available: false },
  });
  const since = await databaseTime(api);
  const accepted = await accept(made.token, { first_name: ' Ivan ' });
  expect([accepted.statusCode, accepted.json()]).toEqual([200, { data: { message: expect.any(String) } }]);
  expect(accepted.cookies).toEqual([]);
  const signedIn = (await signIn(made.email.toUpperCase())).json().data;
  expect(signedIn).toMatchObject({
    outcome: 'authenticated',
    user: { email: made.email, first_name: 'Ivan', last_name: 'Kern' },
    account: { slug: account.accountSlug },
  });
  const me = await api.app.inject({
    url: '/v1/auth/me',
    headers: { authorization: `Bearer ${signedIn.access_token}` },
  });
  expect(me.json().data).toMatchObject({
    user: { email_verified: true },
    accounts: [{ roles: [{ name: 'Developer' }] }],
  });
  const { items } = (await owner('GET', `/members?q=${made.email}`)).json();
  expect(items).toMatchObject([{ roles: [{ role_id: roles.developer, limits }] }]);
  const shown = (await owner('GET', `/administrator-invites/${made.id}`)).json().data;
  expect(shown).toMatchObject({ status: 'accepted', member_id: items[0].id, ended_reason: null });

  const events = await eventsSince(api, account.scope.accountId, since);
  const { id: memberId, user_id: userId } = items[0];
  expect(events.map(({ action, actor_id, metadata }) => [action, actor_id, metadata])).toEqual([
    ['member.added', userId, { user_id: userId, role_ids: [roles.developer], limits, invite_id: made.id }],
    ['administrator_invite.accepted', userId, { membership_id: memberId, user_id: userId }],
  ]);
  const news = await rowsOf<{ input: object }>(api, `select input from outbox where input->>'news' = 'accepted'`);
  expect(news.at(-1)?.input).toMatchObject({ kind: 'administrator', inviteId: made.id });
});

test('every unusable token is refused alike, whatever is wrong with it', async () => {
  const role_id = roles.viewer;
  const [accepted, revoked, resent, expired] = [
    await invite(owner, { role_id }),
    await invite(owner, { role_id }),
    await invite(owner, { role_id }),
    await invite(owner, { role_id }),
  ];
  expect((await accept(accepted.token)).statusCode).toBe(200);
  await owner('POST', `/administrator-invites/${revoked.id}/revoke`);
  await owner('POST', `/administrator-invites/${resent.id}/resend`);
  await rowsOf(api, `update administrator_invites set expires_at = $2 where id = $1`, [expired.id, api.clock.now]);
  const tokens = {
    accepted: accepted.token,
    revoked: revoked.token,
    resent: resent.token,
    expired: expired.token,
    'of another purpose': tokenOf(account.userId),
    ...foreignTokens(tokenOf(resent.id, 2)),
  };
  await expectDeadLinks(tokens, [
    (token) => post('/invite-info', { token }),
    (token) => accept(token),
    (token) => accept(token, { password: 'x' }),
  ]);
  expect(outcomeOf(await accept(tokenOf(resent.id, 2)))).toBe('200');
});

test('a new person needs a password, long enough and not known from a breach', async () => {
  const made = await invite(owner, { role_id: roles.viewer });
  const detailOf = async (body: object) => {
    const answer = await accept(made.token, body);
    expect(answer.statusCode).toBe(400);
    const { code, details } = answer.json().error;
    return details ? [code, details[0].field, details[0].code] : [code];
  };
  expect(await detailOf({ password: undefined })).toEqual(['validation.failed', 'password', 'password.required']);
  expect(await detailOf({ password: 'short' })).toEqual(['validation.failed', 'password', 'password.too_short']);
  expect(await detailOf({ password: 'x'.repeat(129) })).toEqual(['validation.failed', 'password', 'password.too_long']);
  expect(await detailOf({ password: 'password123' })).toEqual(['password.breached']);
  expect(await detailOf({ password: made.email })).toEqual(['password.context_specific']);
  for (const body of [{ first_name: '' }, { last_name: undefined }, { last_name: 'a\nb' }, { role_id: roles.owner }]) {
    expect((await detailOf(body))[0]).toBe('validation.failed');
  }
  expect(await membersNamed(made.email)).toEqual([]);
  expect(outcomeOf(await accept(made.token))).toBe('200'); // the link was not used up
});

test('a verified user with a password stays unchanged, and needs no password to accept', async () => {
  const person = await newPerson(api, { passwordHash: await passwordsHash('their own words 7') });
  const before = await rowsOf(api, 'select * from users where id = $1', [person.userId]);
  const made = await invite(owner, { email: person.email.toUpperCase(), role_id: roles.viewer });
  expect((await post('/invite-info', { token: made.token })).json().data.first_name).toBe('Ivo'); // from the invite
  expect(outcomeOf(await accept(made.token, { password: 'password123' }))).toBe('200'); // the password is ignored
  expect(await rowsOf(api, 'select * from users where id = $1', [person.userId])).toEqual(before);
  expect((await signIn(person.email, 'their own words 7')).statusCode).toBe(200);
  expect(outcomeOf(await callsOf(api, account.accountSlug, person.headers)('GET', '/me'))).toBe('200');

  const other = await newAccount(api);
  const theirs = callsOf(api, other.accountSlug, await other.as('owner'));
  const second = await invite(theirs, { email: person.email, role_id: (await rolesByKey(theirs)).admin });
  expect(outcomeOf(await accept(second.token, { password: undefined }))).toBe('200');
  expect(await membersNamed(person.email)).toHaveLength(2);
});

test('a verified user without a password sets a first one as by a password link, and keeps their name', async () => {
  const person = await newPerson(api);
  const made = await invite(owner, { email: person.email, role_id: roles.viewer, locale: 'de' });
  expect((await accept(made.token, { password: undefined })).json().error.details[0].code).toBe('password.required');
  expect(outcomeOf(await accept(made.token))).toBe('200');
  // A new password ends every session and is in the audit log; its owner gets a mail in the invite's language.
  expect(outcomeOf(await callsOf(api, account.accountSlug, person.headers)('GET', '/me'))).toBe('401');
  expect(
    await rowsOf(api, `select actor_id, metadata from events where resource_id = $1 and action = 'auth.password_set'`, [
      person.userId,
    ]),
  ).toEqual([{ actor_id: person.userId, metadata: { revoked_session_ids: [expect.any(String)] } }]);
  expect(await rowsOf(api, 'select template, locale from emails where subject_id = $1', [person.userId])).toEqual([
    { template: 'password-changed', locale: 'de' },
  ]);
  expect((await signIn(person.email)).json().data.user).toMatchObject({ first_name: 'Mia' });
});

test('a password that its owner sets during the acceptance stays', async () => {
  const person = await newPerson(api);
  const made = await invite(owner, { email: person.email, role_id: roles.viewer });
  const own = await passwordsHash('their own words 7');
  const accepted = await comingUpon(
    api.database,
    (tx) =>
      tx.query('update users set password_hash = $2, password_changed_at = now() where id = $1', [person.userId, own]),
    () => accept(made.token),
  );
  expect(outcomeOf(accepted)).toBe('200');
  expect((await signIn(person.email)).statusCode).toBe(401);
  expect((await signIn(person.email, 'their own words 7')).statusCode).toBe(200);
  expect(await membersNamed(person.email)).toHaveLength(1);
});

test('an administrator who moves to another address meanwhile gets no password from the former mailbox', async () => {
  const person = await newPerson(api);
  const made = await invite(owner, { email: person.email, role_id: roles.viewer });
  const accepted = await comingUpon(
    api.database,
    (tx) => tx.query("update users set email = 'new-' || email where id = $1", [person.userId]),
    () => accept(made.token),
  );
  expect(outcomeOf(accepted)).toBe('200');
  expect((await signIn(`new-${person.email}`)).statusCode).toBe(401);
  expect(await membersNamed(`new-${person.email}`)).toEqual([]);
  expect((await signIn(person.email)).json().data.user.first_name).toBe('Ivo');
});

test('an unverified user becomes that of the address’s owner: new name and password, no old session or factor', async () => {
  const passwordHash = await passwordsHash('set by a stranger');
  const person = await newPerson(api, { passwordHash, emailVerifiedAt: null });
  const recoveryCodes = await enrollApp(person.headers);
  const { challenge_token } = (await signIn(person.email, 'set by a stranger')).json().data;
  const made = await invite(owner, { email: person.email, role_id: roles.viewer });
  expect((await accept(made.token, { password: undefined })).json().error.details[0].code).toBe('password.required');
  expect(outcomeOf(await accept(made.token))).toBe('200');
  expect((await signIn(person.email, 'set by a stranger')).statusCode).toBe(401);
  expect((await signIn(person.email)).json().data.user).toMatchObject({ id: person.userId, first_name: 'Ivo' });
  expect(outcomeOf(await callsOf(api, account.accountSlug, person.headers)('GET', '/me'))).toBe('401');
  const answered = await post('/mfa/challenge/recovery-code', { challenge_token, code: recoveryCodes[0] });
  expect(answered.json().error.code).toBe('mfa.challenge_invalid');
});

test('an invite alone lets nobody in to an account that requires a second factor; whoever has a factor must use it', async () => {
  const made = await invite(owner, { role_id: roles.developer });
  await rowsOf(api, 'update accounts set require_mfa = true where id = $1 returning id', [account.scope.accountId]);
  const accepted = await accept(made.token);
  expect([accepted.statusCode, accepted.cookies]).toEqual([200, []]);
  const { data } = (await signIn(made.email)).json();
  expect(data).toMatchObject({ outcome: 'authenticated', mfa_enrollment_required: true });
  const headers = { authorization: `Bearer ${data.access_token}` };
  const inPortal = async () => {
    const answer = await api.app.inject({ url: `/portal/v1/accounts/${account.accountSlug}/me`, headers });
    return [answer.statusCode, answer.json().error?.code];
  };
  expect(await inPortal()).toEqual([403, 'mfa.enrollment_required']);
  const refusal = `select outcome from events where account_id = $1 and action = 'auth.access_denied' and actor_id = $2`;
  expect(await rowsOf(api, refusal, [account.scope.accountId, data.user.id])).toEqual([{ outcome: 'denied' }]);
  await enrollApp(headers);
  expect(await inPortal()).toEqual([200, undefined]);

  // Neither an invite nor its password is a way around the factor.
  const other = await newAccount(api);
  const there = callsOf(api, other.accountSlug, await other.as('owner'));
  const second = await invite(there, { email: made.email, role_id: (await rolesByKey(there)).developer });
  const again = await accept(second.token, { password: 'another tractor 20' });
  expect([again.statusCode, again.cookies]).toEqual([200, []]);
  expect((await signIn(made.email, 'another tractor 20')).statusCode).toBe(401);
  expect((await signIn(made.email)).json().data.outcome).toBe('mfa_required');
});

test('twenty acceptances at once create one membership', async () => {
  const made = await invite(owner, { role_id: roles.viewer });
  const answers = await Promise.all(Array.from({ length: 20 }, () => accept(made.token)));
  expect(outcomesOf(answers)).toEqual({ 200: 1, '400 invite.link_invalid': 19 });
  expect(await membersNamed(made.email)).toHaveLength(1);
});

test('invites of one new address to five accounts, accepted at once, create one user with five memberships', async () => {
  const email = `new.${randomBytes(6).toString('hex')}@example.com`;
  const tokens = [];
  for (let i = 0; i < 5; i++) {
    const other = await newAccount(api);
    const call = callsOf(api, other.accountSlug, await other.as('owner'));
    tokens.push((await invite(call, { email, role_id: (await rolesByKey(call)).viewer })).token);
  }
  const answers = await Promise.all(tokens.map((token) => accept(token)));
  expect(outcomesOf(answers)).toEqual({ 200: 5 });
  const members = await membersNamed(email);
  expect(members).toHaveLength(5);
  expect(new Set(members.map(({ user_id }) => user_id)).size).toBe(1);
});

test('a role that was changed meanwhile is assigned as it is now', async () => {
  const role = (await owner('POST', '/administrator-roles', { name: 'Temp', capabilities: [] })).json().data;
  const made = await invite(owner, { role_id: role.id });
  await owner('PATCH', `/administrator-roles/${role.id}`, { capabilities: ['members.view'] });
  await accept(made.token);
  const { access_token } = (await signIn(made.email)).json().data;
  const call = callsOf(api, account.accountSlug, { authorization: `Bearer ${access_token}` });
  expect(outcomeOf(await call('GET', '/members'))).toBe('200');
});

describe('the page of the link', () => {
  const page = (token: string, headers: Record<string, string> = {}) =>
    api.app.inject({
      url: `/v1/auth/accept-invite?token=${token}`,
      headers: { accept: 'text/html', 'accept-language': 'en', ...headers },
    });
  const form = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    api.app.inject({
      method: 'POST',
      url: '/v1/auth/accept-invite',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html', ...headers },
      payload: new URLSearchParams(fields).toString(),
    });
  const names = { first_name: 'Ivo', last_name: 'Kern' };

  test('consumes nothing when opened; its form does', async () => {
    const made = await invite(owner, { first_name: '<b>Ivo', role_id: roles.viewer });
    for (let i = 0; i < 3; i++) {
      const opened = await page(made.token);
      expect(opened.statusCode).toBe(200);
      expect(opened.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(opened.headers['cache-control']).toBe('no-store');
      expect(opened.body).toContain('value="&lt;b&gt;Ivo"');
      expect(opened.body).toMatch(/name="password" type="password" autocomplete="new-password"/);
    }
    const head = await api.app.inject({ method: 'HEAD', url: `/v1/auth/accept-invite?token=${made.token}` });
    expect(head.statusCode).toBe(200);
    const accepted = await form({ token: made.token, ...names, password });
    expect([accepted.statusCode, accepted.body]).toEqual([200, expect.stringContaining('Welcome')]);
    const again = await form({ token: made.token, ...names, password }); // by a double click: it says what the first one did
    expect([again.statusCode, again.body]).toEqual([200, expect.stringContaining('Welcome')]);
    expect(again.cookies).toEqual([]);
    expect((await page(made.token)).statusCode).toBe(400);
    await rowsOf(api, `update administrator_invites set ended_at = ended_at - interval '1 minute' where id = $1`, [
      made.id,
    ]);
    const late = await form({ token: made.token, ...names, password });
    expect([late.statusCode, late.body]).toEqual([400, expect.stringContaining('no longer works')]);
  });

  test('shows what is wrong with the password on the form, and keeps what was typed', async () => {
    const made = await invite(owner, { role_id: roles.viewer, locale: 'de' });
    for (const [typed, text] of [
      ['short', 'too short'],
      ['password123', 'data breach'],
      ['iwan iwan', 'little more than a name'],
      ['', 'Choose a password.'],
    ] as const) {
      const refused = await form(
        { token: made.token, ...names, first_name: 'Iwan', password: typed },
        { 'accept-language': 'en' },
      );
      expect(refused.statusCode).toBe(400);
      expect(refused.body).toContain(text);
      expect(refused.body).toContain('value="Iwan"');
    }
    const missing = await form({ token: made.token, last_name: 'Kern', password }, { 'accept-language': 'en' });
    expect([missing.statusCode, missing.body]).toEqual([400, expect.stringContaining('Something is missing')]);
    // If the browser prefers no language, the page uses the invite's.
    expect((await page(made.token, { 'accept-language': '*' })).body).toContain('<html lang="de">');
  });

  test('reports an outage while it checks the form as an outage, and not as a dead link', async () => {
    const made = await invite(owner, { role_id: roles.viewer });
    const outage = new DomainError('service.unavailable', { retryAfter: 5 });
    const { db } = api.database;
    const ask = db.transaction.bind(db);
    const asked = jest.spyOn(db, 'transaction');
    const incomplete = { token: made.token, last_name: 'Kern', password };
    asked.mockRejectedValueOnce(outage);
    const first = await form(incomplete);
    expect((await form(incomplete)).body).toContain('Something is missing');
    const whole = { token: made.token, ...names, password };
    expect((await form(whole)).statusCode).toBe(200);
    asked.mockImplementationOnce(ask).mockRejectedValueOnce(outage); // after the first look found it used
    const twice = await form(whole);
    asked.mockRestore();
    for (const { statusCode, headers, body } of [first, twice]) {
      expect([statusCode, headers['retry-after'], body]).toEqual([503, '5', expect.stringContaining('<h1>')]);
    }
  });

  test('asks a person with a sign-in for nothing', async () => {
    const person = await newPerson(api, { passwordHash: await passwordsHash('their own words 7') });
    const made = await invite(owner, { email: person.email, role_id: roles.viewer });
    const opened = await page(made.token);
    expect(opened.body).not.toContain('type="password"');
    const hidden = [...opened.body.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
    const accepted = await form(Object.fromEntries(hidden.map(([, name, value]) => [name, value])));
    expect(accepted.statusCode).toBe(200);
  });

  test('reports a dead link to a browser by a page, and to a program by the envelope', async () => {
    const invalid = await page('nonsense');
    expect([invalid.statusCode, invalid.body]).toEqual([400, expect.stringContaining('no longer works')]);
    const asked = await page('nonsense', { accept: 'application/json' });
    expect(outcomeOf(asked)).toBe('400 invite.link_invalid');
  });

  test('does not accept its form from another site', async () => {
    const made = await invite(owner, { role_id: roles.viewer });
    const foreign = await form({ token: made.token, ...names, password }, { origin: 'https://evil.example' });
    expect(foreign.statusCode).toBe(403);
    expect(await membersNamed(made.email)).toEqual([]);
  });
});

test('an address may look up ten links a minute and accept five an hour, exactly', async () => {
  const limited = await startApi({ RATE_LIMITS: 'on', TRUST_PROXY: 'true' });
  const names = { first_name: 'Ivo', last_name: 'Kern' };
  const ask = (path: string, address: string) =>
    limited.app.inject({
      method: 'POST',
      url: `/v1/auth${path}`,
      payload: { token: 'x', ...(path === '/accept-invite' && names) },
      headers: { 'x-forwarded-for': address },
    });
  try {
    for (const [path, points, windowSeconds] of [
      ['/invite-info', 10, 60],
      ['/accept-invite', 5, 3600],
    ] as const) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(path, '203.0.113.1')));
      expect(outcomesOf(answers)).toEqual({
        '400 invite.link_invalid': points,
        '429 rate_limit.exceeded': 20 - points,
      });
      expect(answers[0]?.headers['ratelimit-policy']).toContain(`q=${points};w=${windowSeconds}`);
      expect((await ask(path, '203.0.113.2')).statusCode).toBe(400);
    }
  } finally {
    await limited.stop();
  }
});
