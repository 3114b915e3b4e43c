import { IsNull } from 'typeorm';
import { Email } from '../../../entities/email.js';
import { Event } from '../../../entities/event.js';
import { UserMfaFactor } from '../../../entities/user-mfa-factor.js';
import { UserRecoveryCode } from '../../../entities/user-recovery-code.js';
import { UserSession } from '../../../entities/user-session.js';
import { adminMfaMails } from '../../../src/domain/admin-mfa/mails.js';
import { createMfaResetByOperator } from '../../../src/domain/admin-mfa/reset.js';
import { createUserTotp } from '../../../src/domain/admin-mfa/totp.js';
import { minutes } from '../../../src/platform/clock.js';
import { hashSecret } from '../../../src/platform/crypto/one-time-secret.js';
import { type AdminAuth, bearer, cookieHeader, cookieOf, newAdminAuth } from '../../support/admin-auth.js';
import { ok, provedIn, providerOf, refusalOf, withFactors } from '../../support/admin-mfa.js';
import { totpCode } from '../../support/mfa.js';

let auth: AdminAuth;
let person: ReturnType<typeof withFactors>;
beforeAll(async () => {
  auth = await newAdminAuth();
  person = withFactors(auth);
});
afterAll(() => auth.close());

const aal1 = 'urn:gatehouse:aal1';
const aal2 = 'urn:gatehouse:aal2';

/** Creates a user with an authenticator app. */
async function withApp(accounts?: number[]) {
  const ana = await auth.addUser(accounts && { accounts });
  const token = await person.session(ana);
  return { ...ana, token, app: await person.enrollTotp(token) };
}

const eventsOf = (userId: string) =>
  auth.db.transaction('system', (tx) => tx.find(Event, { where: { resourceId: userId }, order: { createdAt: 'asc' } }));
const actionsOf = async (userId: string) => (await eventsOf(userId)).map(({ action }) => action);
const mailsTo = (recipientId: string) => auth.db.transaction('system', (tx) => tx.findBy(Email, { recipientId }));

describe('an authenticator app', () => {
  test('is enrolled with its first code, with recovery codes, an event and a mail', async () => {
    const ana = await auth.addUser();
    const token = await person.session(ana);
    const begun = ok(await auth.post('/mfa/totp/enroll', undefined, bearer(token)));
    expect(begun.otpauth_uri).toMatch(/^otpauth:\/\/totp\/Gatehouse:/);
    expect(begun.qr_svg).toMatch(/^<svg/);
    const app = await person.enrollTotp(token);
    expect(app.recovery_codes).toHaveLength(10);
    const { factors, ...codes } = ok(await auth.get('/mfa/factors', bearer(token)));
    expect(codes).toEqual({ recovery_codes_generation: 1, recovery_codes_remaining: 10 });
    expect(factors).toEqual([
      {
        id: app.factor.id,
        type: 'totp',
        label: 'Authenticator app',
        signs_in: false,
        enrolled_at: expect.any(String),
        last_used_at: expect.any(String),
      },
    ]);
    const [event] = (await eventsOf(ana.id)).filter(({ action }) => action === 'auth.admin_mfa_enrolled');
    expect(event).toMatchObject({
      accountId: ana.accounts[0]?.account.id,
      actorType: 'platform_admin',
      actorId: ana.id,
      metadata: { factor_id: app.factor.id, factor: 'totp' },
    });
    expect(await mailsTo(ana.id)).toEqual([
      expect.objectContaining({ template: 'admin-security-notice', subjectId: event?.id }),
    ]);
  });

  test('accepts only the code of the present half minute, if the operator configures that', async () => {
    const { id, email, app } = await withApp();
    const [usual, strict] = [1, 0].map((totpDriftSteps) => createUserTotp({ ...auth, totpDriftSteps }));
    await auth.whileTimeStands(async () => {
      const soon = new Date(auth.now().getTime() + 30_000);
      const next = totpCode(app.secret, soon);
      expect(await strict?.verify(id, next, auth.db)).toBe(false);
      expect(await usual?.verify(id, next, auth.db)).toBe(true);
      const { secret, sealed } = await strict!.begin({ id, email, issuer: 'Gatehouse' });
      expect(() => strict?.confirm(id, { sealed, code: totpCode(secret, soon) })).toThrow(
        expect.objectContaining({ code: 'mfa.code_invalid' }),
      );
      expect(strict?.confirm(id, { sealed, code: totpCode(secret, auth.now()) })).toMatchObject({ type: 'totp' });
    });
  });

  test('is reported by a mail that says what happened, in either language', async () => {
    const ana = await withApp();
    const [mail] = await mailsTo(ana.id);
    const subjects = adminMfaMails({ signInUrl: 'https://admin.example.com' });
    const said = (locale: 'en' | 'de', recipientId: string | null) =>
      auth.db.transaction('system', (tx) =>
        subjects['admin-security-notice'](tx, mail?.subjectId as string, locale, recipientId),
      );
    expect(await said('en', ana.id)).toEqual({
      to: ana.email,
      values: {
        first_name: 'Ana',
        what: 'A second sign-in step was added: Authenticator app.',
        happened_at_text: expect.any(String),
        link: 'https://admin.example.com',
      },
    });
    expect((await said('de', ana.id))?.values.what).toMatch(/^Ein zweiter Anmeldeschritt wurde eingerichtet/);
    expect(await said('en', null)).toBeNull();
  });

  test('stores its secret sealed, and recovery codes as hashes', async () => {
    const ana = await withApp();
    const [factor] = await auth.db.transaction('system', (tx) => tx.findBy(UserMfaFactor, { userId: ana.id }));
    expect(factor?.secret).not.toContain(ana.app.secret);
    const codes = await auth.db.transaction('system', (tx) => tx.findBy(UserRecoveryCode, { userId: ana.id }));
    for (const { codeHash, hashParameters } of codes) {
      expect([codeHash.length, hashParameters]).toEqual([32, codes[0]?.hashParameters]);
    }
    expect(codes[0]?.hashParameters).toMatch(/^\$argon2id\$/);
  });

  test('makes the session that enrolls it a two-factor session, also after a refresh', async () => {
    const ana = await auth.addUser();
    const started = await person.login(ana);
    const token = ok(started).access_token;
    expect(provedIn(token)).toEqual({ amr: ['pwd'], acr: aal1 });
    await person.enrollTotp(token);
    const refreshed = ok(await auth.post('/refresh', undefined, cookieHeader(started)));
    expect(provedIn(refreshed.access_token)).toEqual({ amr: ['pwd', 'otp', 'mfa'], acr: aal2 });
  });

  test('can be one of at most twenty factors', async () => {
    const { id, token, app } = await withApp();
    const copy = (count: number) =>
      auth.db.transaction('system', (tx) =>
        tx.query(
          `insert into user_mfa_factors select (jsonb_populate_record(f, jsonb_build_object('id', gen_random_uuid()))).*
           from user_mfa_factors f, generate_series(1, $2) where f.id = $1`,
          [app.factor.id, count],
        ),
      );
    await copy(18);
    await person.enrollTotp(token);
    await expect(person.enrollTotp(token)).rejects.toThrow('mfa.too_many_factors');
    expect(await auth.db.transaction('system', (tx) => tx.countBy(UserMfaFactor, { userId: id }))).toBe(20);
  });

  test('is not enrolled by a wrong code, twice, or by another user', async () => {
    const [ana, bob] = [await auth.addUser(), await auth.addUser()];
    const [token, other] = [await person.session(ana), await person.session(bob)];
    const begun = ok(await auth.post('/mfa/totp/enroll', undefined, bearer(token)));
    const confirm = (code: string, as = token) =>
      auth.post('/mfa/totp/confirm', { enrollment_token: begun.enrollment_token, code }, bearer(as));
    expect(refusalOf(await confirm('000000'))).toEqual([401, 'mfa.code_invalid']);
    const app = await person.enrollTotp(token);
    expect(refusalOf(await confirm(app.code(), other))).toEqual([400, 'mfa.enrollment_expired']);
    auth.pass(minutes(31));
    const again = ok(await person.answer('totp', await person.challenge(ana), app.code()));
    expect(refusalOf(await confirm('000000', again.access_token))).toEqual([400, 'mfa.enrollment_expired']);
  });
});

describe('a sign-in with a second factor', () => {
  test('asks for the factor, and starts no session before', async () => {
    const ana = await withApp();
    const before = await auth.db.transaction('system', (tx) => tx.countBy(UserSession, { userId: ana.id }));
    const asked = await person.login(ana);
    expect(ok(asked)).toEqual({
      outcome: 'mfa_required',
      challenge_token: expect.stringMatching(/^[\w-]{43}$/),
      available_factors: ['totp', 'recovery_code'],
      expires_at: expect.any(String),
    });
    expect(asked.cookies).toEqual([]);
    expect(await auth.db.transaction('system', (tx) => tx.countBy(UserSession, { userId: ana.id }))).toBe(before);
    const answer = await person.answer('totp', ok(asked).challenge_token, ana.app.code());
    expect(ok(answer)).toMatchObject({
      outcome: 'authenticated',
      user: { id: ana.id },
      mfa_enrollment_required: false,
    });
    expect(cookieOf(answer).value).toEqual(expect.any(String));
    expect(provedIn(ok(answer).access_token)).toEqual({ amr: ['pwd', 'otp', 'mfa'], acr: aal2 });
    const { items } = (await auth.get('/sessions', bearer(ok(answer).access_token))).json();
    expect(items.find(({ current }: { current: boolean }) => current)).toMatchObject({
      amr: ['pwd', 'otp', 'mfa'],
      acr: aal2,
    });
    const { data: me } = (await auth.get('/me', bearer(ok(answer).access_token))).json();
    expect(me.session).toEqual({
      amr: ['pwd', 'otp', 'mfa'],
      acr: aal2,
      authenticated_at: expect.any(String),
    });
  });

  test('asks for the factor after a right password only; a wrong one is refused as usual', async () => {
    const ana = await withApp();
    const wrong = await auth.post('/login', { email: ana.email, password: 'another tractor 20' });
    const nobody = await auth.post('/login', { email: 'nobody@example.com', password: 'another tractor 20' });
    const withoutTime = (body: { error: object }) => ({ ...body.error, timestamp: null });
    expect(withoutTime(wrong.json())).toEqual(withoutTime(nobody.json()));
    expect(wrong.statusCode).toBe(401);
  });

  test('continues with the choice of an application, which keeps both proofs', async () => {
    const ana = await auth.addUser({ accounts: [2] });
    const first = ok(await person.login(ana));
    const [chosen] = first.applications;
    const select = (token: string) =>
      auth.post('/select-application', { selection_token: token, application_id: chosen.id });
    const app = await person.enrollTotp(ok(await select(first.selection_token)).access_token);
    const answered = ok(await person.answer('totp', await person.challenge(ana), app.code()));
    expect(answered.outcome).toBe('application_selection_required');
    const entered = await select(answered.selection_token);
    expect(provedIn(ok(entered).access_token)).toEqual({ amr: ['pwd', 'otp', 'mfa'], acr: aal2 });
    expect(refusalOf(await select(answered.selection_token))).toEqual([401, null]);
  });

  test('keeps the application that was requested first', async () => {
    const ana = await auth.addUser({ accounts: [2] });
    const [, wanted] = ana.accounts[0]?.applications ?? [];
    const token = ok(await person.login(ana, { application_id: wanted?.id })).access_token;
    const app = await person.enrollTotp(token);
    const challenge = await person.challenge(ana, { application_id: wanted?.id });
    expect(ok(await person.answer('totp', challenge, app.code())).application.id).toBe(wanted?.id);
  });

  test('accepts a code once, from anybody, also at the same moment', async () => {
    const ana = await withApp();
    const code = ana.app.code();
    const tokens = await Promise.all([1, 2, 3].map(() => person.challenge(ana)));
    const answers = await Promise.all(tokens.map((token) => person.answer('totp', token, code)));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401, 401]);
    const open = tokens[answers.findIndex(({ statusCode }) => statusCode === 401)] as string;
    expect(refusalOf(await person.answer('totp', open, code))).toEqual([401, 'mfa.code_invalid']);
    auth.pass(30_000);
    ok(await person.answer('totp', open, ana.app.code()));
  });

  test('accepts one answer to a challenge', async () => {
    const ana = await withApp();
    const token = await person.challenge(ana);
    const codes = ana.app.recovery_codes as string[];
    const answers = await Promise.all(codes.slice(0, 3).map((code) => person.answer('recovery-code', token, code)));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400, 400]);
    expect(refusalOf(await person.answer('recovery-code', token, codes[4] as string))).toEqual([
      400,
      'mfa.challenge_invalid',
    ]);
  });

  test('accepts an old recovery code, hashed with SHA-256, once', async () => {
    const ana = await withApp();
    const [code] = ana.app.recovery_codes as [string];
    await auth.db.transaction('system', async (tx) => {
      const row = await tx.findOneByOrFail(UserRecoveryCode, { userId: ana.id });
      const old = { codeHash: hashSecret(code.replaceAll('-', '')), hashParameters: null };
      await tx.update(UserRecoveryCode, { id: row.id }, old);
    });
    const answer = async () => person.answer('recovery-code', await person.challenge(ana), code);
    ok(await answer());
    expect(refusalOf(await answer())).toEqual([401, 'mfa.code_invalid']);
  });

  test('accepts a recovery code once, however it is typed, and mails a notice', async () => {
    const ana = await withApp();
    const [code] = ana.app.recovery_codes as [string];
    const typed = code.toLowerCase().replaceAll('-', ' ');
    const entered = ok(await person.answer('recovery-code', await person.challenge(ana), typed));
    expect(provedIn(entered.access_token)).toEqual({ amr: ['pwd', 'mfa'], acr: aal2 });
    expect(refusalOf(await person.answer('recovery-code', await person.challenge(ana), code))).toEqual([
      401,
      'mfa.code_invalid',
    ]);
    const { recovery_codes_remaining } = ok(await auth.get('/mfa/factors', bearer(entered.access_token)));
    expect(recovery_codes_remaining).toBe(9);
    expect(await actionsOf(ana.id)).toEqual(
      expect.arrayContaining([
        'auth.admin_mfa_challenge_passed',
        'auth.admin_recovery_code_used',
        'auth.admin_mfa_challenge_failed',
      ]),
    );
    expect(await mailsTo(ana.id)).toHaveLength(2);
  });

  test('accepts no code of another person', async () => {
    const [ana, bob] = [await withApp(), await withApp()];
    const token = await person.challenge(ana);
    expect(refusalOf(await person.answer('totp', token, bob.app.code()))).toEqual([401, 'mfa.code_invalid']);
    const [code] = bob.app.recovery_codes as [string];
    expect(refusalOf(await person.answer('recovery-code', token, code))).toEqual([401, 'mfa.code_invalid']);
  });

  test('ends with its token after ten minutes, or by a new password; every bad token is refused alike', async () => {
    const ana = await withApp();
    const late = await person.challenge(ana);
    auth.pass(minutes(10));
    expect(refusalOf(await person.answer('totp', late, ana.app.code()))).toEqual([400, 'mfa.challenge_invalid']);
    for (const token of ['', 'x', 'x'.repeat(43)]) {
      expect(refusalOf(await person.answer('totp', token, ana.app.code()))).toEqual([400, 'mfa.challenge_invalid']);
    }
    const token = await person.challenge(ana);
    await auth.users.passwords.forgot({ email: ana.email, locale: 'en' });
    const password = 'quiet orange lantern 7';
    ok(await auth.post('/password/reset', { token: await auth.passwordTokenFor(ana.id), password }));
    expect(refusalOf(await person.answer('totp', token, ana.app.code()))).toEqual([400, 'mfa.challenge_invalid']);
    // The new password is no way around the factor.
    auth.pass(30_000);
    expect(ok(await person.login({ ...ana, password })).outcome).toBe('mfa_required');
  });

  test('refuses pages of other sites', async () => {
    const ana = await withApp();
    const token = await person.challenge(ana);
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect(refusalOf(await person.answer('totp', token, ana.app.code(), headers))).toEqual([403, 'origin.foreign']);
  });
});

describe('changing factors', () => {
  test('needs a sign-in of the last ten minutes', async () => {
    const ana = await auth.addUser();
    const started = await person.login(ana);
    auth.pass(minutes(10));
    const { access_token: token } = ok(await auth.post('/refresh', undefined, cookieHeader(started)));
    for (const path of ['/mfa/totp/enroll', '/mfa/webauthn/enroll/options', '/mfa/recovery-codes']) {
      const answer = await auth.post(path, undefined, bearer(token));
      expect(refusalOf(answer)).toEqual([403, 'auth.reauthentication_required']);
    }
  });

  test('needs the second factor of a user who has one: an older session of the password alone changes none', async () => {
    const ana = await auth.addUser();
    const thief = await person.session(ana);
    const begun = ok(await auth.post('/mfa/totp/enroll', undefined, bearer(thief)));
    const app = await person.enrollTotp(await person.session(ana));
    const refused = [403, 'auth.reauthentication_required'];
    expect(refusalOf(await auth.post('/mfa/totp/enroll', undefined, bearer(thief)))).toEqual(refused);
    const confirmation = { enrollment_token: begun.enrollment_token, code: '000000' };
    expect(refusalOf(await auth.post('/mfa/totp/confirm', confirmation, bearer(thief)))).toEqual(refused);
    expect(refusalOf(await auth.delete(`/mfa/factors/${app.factor.id}`, bearer(thief)))).toEqual(refused);
    expect(refusalOf(await auth.post('/mfa/recovery-codes', undefined, bearer(thief)))).toEqual(refused);
    expect(ok(await auth.get('/mfa/factors', bearer(thief))).factors).toHaveLength(1);
  });

  test('repeats its answer for an Idempotency-Key, but only to the session that may have it', async () => {
    const ana = await auth.addUser();
    const thief = await person.session(ana);
    const token = await person.session(ana);
    await person.enrollTotp(token);
    const renew = (by: string) =>
      auth.post('/mfa/recovery-codes', undefined, { ...bearer(by), 'idempotency-key': 'codes' });
    const codes = ok(await renew(token), 201);
    expect(refusalOf(await renew(thief))).toEqual([403, 'auth.reauthentication_required']);
    expect(ok(await renew(token), 201)).toEqual(codes);
  });

  test('adds one factor, if two sessions enroll a first one at the same moment', async () => {
    const ana = await auth.addUser();
    const tokens = await Promise.all([person.session(ana), person.session(ana)]);
    const begun = [];
    for (const token of tokens) begun.push(ok(await auth.post('/mfa/totp/enroll', undefined, bearer(token))));
    const answers = await Promise.all(
      begun.map(({ enrollment_token, secret }, i) =>
        auth.post(
          '/mfa/totp/confirm',
          { enrollment_token, code: totpCode(secret, auth.now()) },
          bearer(tokens[i] as string),
        ),
      ),
    );
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 403]);
  });

  test('removes a factor from sign-ins, and with the last one the recovery codes', async () => {
    const ana = await withApp();
    const { access_token: token } = ok(await person.answer('totp', await person.challenge(ana), ana.app.code()));
    expect((await auth.delete(`/mfa/factors/${ana.app.factor.id}`, bearer(token))).statusCode).toBe(204);
    expect(refusalOf(await auth.delete(`/mfa/factors/${ana.app.factor.id}`, bearer(token)))).toEqual([
      404,
      'mfa.factor_not_found',
    ]);
    const left = ok(await auth.get('/mfa/factors', bearer(token)));
    expect(left).toEqual({ factors: [], recovery_codes_generation: 0, recovery_codes_remaining: 0 });
    expect(ok(await person.login(ana)).outcome).toBe('authenticated');
    expect(await actionsOf(ana.id)).toContain('auth.admin_mfa_removed');
    expect(await mailsTo(ana.id)).toHaveLength(2);
    expect(refusalOf(await auth.post('/mfa/recovery-codes', undefined, bearer(token)))).toEqual([
      409,
      'mfa.not_enrolled',
    ]);
  });

  test('renames a factor; nobody else sees or changes it', async () => {
    const [ana, bob] = [await withApp(), await withApp()];
    const rename = (token: string, label: string) =>
      auth.app.inject({
        method: 'PATCH',
        url: `/v1/auth/mfa/factors/${ana.app.factor.id}`,
        payload: { label },
        headers: bearer(token),
      });
    expect(ok(await rename(ana.token, ' Work phone ')).label).toBe('Work phone');
    expect(await actionsOf(ana.id)).toContain('auth.admin_mfa_renamed');
    expect((await rename(ana.token, ' ')).statusCode).toBe(400);
    expect(refusalOf(await rename(bob.token, 'Mine'))).toEqual([404, 'mfa.factor_not_found']);
    expect(refusalOf(await auth.delete(`/mfa/factors/${ana.app.factor.id}`, bearer(bob.token)))).toEqual([
      404,
      'mfa.factor_not_found',
    ]);
  });

  test('renews recovery codes, and makes the old ones void', async () => {
    const ana = await withApp();
    const [old] = ana.app.recovery_codes as [string];
    const { recovery_codes: fresh } = ok(await auth.post('/mfa/recovery-codes', undefined, bearer(ana.token)), 201);
    expect(fresh).toHaveLength(10);
    expect(await actionsOf(ana.id)).toContain('auth.admin_recovery_codes_renewed');
    const token = await person.challenge(ana);
    expect(refusalOf(await person.answer('recovery-code', token, old))).toEqual([401, 'mfa.code_invalid']);
    ok(await person.answer('recovery-code', token, fresh[0]));
    const { recovery_codes_generation } = ok(await auth.get('/mfa/factors', bearer(ana.token)));
    expect(recovery_codes_generation).toBe(2);
  });

  test('is for signed-in administrators only', async () => {
    for (const [method, path] of [
      ['GET', '/mfa/factors'],
      ['POST', '/mfa/totp/enroll'],
      ['POST', '/mfa/recovery-codes'],
    ] as const) {
      const answer = await auth.app.inject({ method, url: `/v1/auth${path}` });
      expect(refusalOf(answer)).toEqual([401, null]);
    }
  });
});

describe('nothing else is a way around the factor', () => {
  test('a choice of the application that waited while the factor was enrolled starts no session', async () => {
    const ana = await auth.addUser({ accounts: [2] });
    const [first, second] = [ok(await person.login(ana)), ok(await person.login(ana))];
    const select = ({ selection_token, applications }: typeof first) =>
      auth.post('/select-application', { selection_token, application_id: applications[0].id });
    await person.enrollTotp(ok(await select(first)).access_token);
    expect(refusalOf(await select(second))).toEqual([401, null]);
  });

  test('a choice of the application whose factors were reset meanwhile starts no session', async () => {
    const ana = await auth.addUser({ accounts: [2] });
    const app = await person.enrollTotp((await auth.sessionOf(ana.id)).accessToken);
    const answered = ok(await person.answer('totp', await person.challenge(ana), app.code()));
    await createMfaResetByOperator(auth)(ana.email);
    const choice = { selection_token: answered.selection_token, application_id: answered.applications[0].id };
    expect(refusalOf(await auth.post('/select-application', choice))).toEqual([401, null]);
    const sessions = await auth.db.transaction('system', (tx) =>
      tx.countBy(UserSession, { userId: ana.id, revokedAt: IsNull() }),
    );
    expect(sessions).toBe(0);
  });

  test('the link of a registration that was confirmed already starts no session', async () => {
    const ana = await withApp();
    const browser = { ipAddress: null, userAgent: null };
    const [{ applications }] = ana.accounts as [(typeof ana.accounts)[number]];
    const confirmed = auth.users.signIn.signInConfirmed({
      userId: ana.id,
      applicationId: applications[0]?.id as string,
      sessionId: crypto.randomUUID(),
      ...browser,
    });
    await expect(confirmed).rejects.toMatchObject({ code: 'registration.link_invalid' });
  });

  test('a session for a new account is as strong as the session that created it', async () => {
    const ana = await withApp();
    const { access_token: token } = ok(await person.answer('totp', await person.challenge(ana), ana.app.code()));
    const names = { account_name: 'Second', application_name: 'App' };
    const made = ok(await auth.post('/accounts', names, bearer(token)), 201);
    expect(provedIn(made.access_token)).toEqual({ amr: ['pwd', 'otp', 'mfa'], acr: aal2 });
  });

  test('a sign-in by an identity provider needs the factor too, unless the provider asked for two factors', async () => {
    const ana = await withApp();
    const { by, connectionId } = await providerOf(auth, ana);
    const weak = await by(['pwd']);
    expect(weak.outcome).toBe('mfa_required');
    const { challengeToken } = weak as { challengeToken: string };
    const entered = ok(await person.answer('totp', challengeToken, ana.app.code()));
    expect(provedIn(entered.access_token)).toEqual({ amr: ['pwd', 'otp', 'mfa'], acr: aal2 });
    const strong = await by(['pwd', 'mfa']);
    expect(strong.outcome).toBe('authenticated');
    expect(provedIn((strong as { accessToken: string }).accessToken)).toEqual({ amr: ['pwd', 'mfa'], acr: aal2 });
    const sessions = await auth.db.transaction('system', (tx) => tx.findBy(UserSession, { userId: ana.id }));
    expect(sessions.filter(({ ssoConnectionId }) => ssoConnectionId === connectionId)).toHaveLength(2);
  });
});
