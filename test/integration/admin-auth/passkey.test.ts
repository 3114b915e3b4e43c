import { decodeJwt } from 'jose';
import { Event } from '../../../entities/event.js';
import { createMfaResetByOperator } from '../../../src/domain/admin-mfa/reset.js';
import { minutes } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, cookieOf, newAdminAuth } from '../../support/admin-auth.js';
import { ok, type PasskeyRequest, provedIn, providerOf, refusalOf, withFactors } from '../../support/admin-mfa.js';
import type { Flaws } from '../../support/authenticator.js';

let auth: AdminAuth;
let person: ReturnType<typeof withFactors>;
beforeAll(async () => {
  auth = await newAdminAuth();
  person = withFactors(auth);
});
afterAll(() => auth.close());

type Key = Parameters<typeof person.newKey>[0];
const passkey = { isSynced: true, verifiesUser: true } as const;

/** Creates a user who has enrolled a key after their password. */
async function withKey(key: Key = passkey, accounts = [1]) {
  const ana = await auth.addUser({ accounts });
  const { accessToken: token } = await auth.sessionOf(ana.id);
  return { ...ana, token, key: await person.enrollKey(token, person.newKey(key)) };
}

async function signsIn(token: string): Promise<boolean[]> {
  const { factors } = ok(await auth.get('/mfa/factors', bearer(token)));
  return factors.map((factor: { signs_in: boolean }) => factor.signs_in);
}

describe('of the second factors,', () => {
  test.each<[string, Key, boolean]>([
    ['a passkey that verified its user', passkey, true],
    ['a security key that stores the key and has a PIN', { isDiscoverable: true }, true],
    ['a key of which the browser does not say whether it is stored', { isDiscoverable: null }, true],
    ['a key that is not stored', { isDiscoverable: false }, false],
    ['a passkey without a PIN', { isSynced: true, verifiesUser: false }, false],
  ])('%s (%j) signs in by itself: %s', async (_, key, expected) => {
    const { key: enrolled, token } = await withKey(key);
    expect(enrolled.factor.signs_in).toBe(expected);
    expect(await signsIn(token)).toEqual([expected]);
  });

  test('one that was enrolled in a session of an identity provider does not, until it is used after the password', async () => {
    const ana = await auth.addUser();
    const { by } = await providerOf(auth, ana);
    const { accessToken: token } = (await by(['pwd'])) as { accessToken: string };
    const key = await person.enrollKey(token, person.newKey(passkey));
    expect(key.factor.signs_in).toBe(false);

    const { challengeToken } = (await by(['pwd'])) as { challengeToken: string };
    const { access_token: shown } = ok(await person.answerKey(challengeToken, key.authenticator));
    expect(await signsIn(shown)).toEqual([false]);
    // Nor one that is added after showing the first, which rests on the provider's word itself.
    const own = await person.enrollKey(shown, person.newKey(passkey));
    expect(own.factor.signs_in).toBe(false);

    ok(await person.answerKey(await person.challenge(ana), own.authenticator));
    expect(await signsIn(token)).toEqual([false, true]);
  });

  test.each<[string, Key]>([
    ['is not stored', { isDiscoverable: false }],
    ['does not verify its user', { isSynced: true, verifiesUser: false }],
  ])('a key that %s does not, however often it is used', async (_, key) => {
    const ana = await withKey(key);
    ok(await person.answerKey(await person.challenge(ana), ana.key.authenticator));
    expect(await signsIn(ana.token)).toEqual([false]);
  });
});

const aal2 = 'urn:gatehouse:aal2';
const refused = [401, null]; // as for a wrong password
const over = [400, 'mfa.challenge_invalid'];

const failuresOf = (resourceId: string | null) =>
  auth.db.transaction('system', (tx) =>
    tx.query<Pick<Event, 'outcome' | 'metadata' | 'accountId'>[]>(
      `select outcome, metadata, account_id as "accountId" from events where action = 'auth.admin_sign_in_failed'
       and resource_id is not distinct from $1 order by id`,
      [resourceId],
    ),
  );
const lastFailure = async (resourceId: string | null) => (await failuresOf(resourceId)).at(-1);

test('a passkey signs in alone: the options name nobody, and the session has two factors', async () => {
  const ana = await withKey();
  const { passkey_token, options } = await person.beginPasskey();
  expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required', allowCredentials: [] });
  const answer = await auth.post('/passkey', { passkey_token, response: ana.key.authenticator.get(options) });
  const signedIn = ok(answer);
  expect(signedIn).toMatchObject({
    outcome: 'authenticated',
    user: { id: ana.id, email: ana.email },
    account: { id: ana.accounts[0]?.account.id },
    mfa_enrollment_required: false,
  });
  expect(provedIn(signedIn.access_token)).toEqual({ amr: ['swk', 'user', 'mfa'], acr: aal2 });
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(cookieOf(answer)).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
  const { session } = ok(await auth.get('/me', bearer(signedIn.access_token)));
  expect(session).toMatchObject({ amr: ['swk', 'user', 'mfa'], acr: aal2 });
  const { factors } = ok(await auth.get('/mfa/factors', bearer(signedIn.access_token)));
  expect(factors[0].last_used_at > factors[0].enrolled_at).toBe(true);
});

test('a key that never leaves its chip is distinguished, and its session may change factors at once', async () => {
  const ana = await withKey({ isDiscoverable: true });
  auth.pass(minutes(11));
  const { access_token: token } = ok(await person.signInByPasskey(ana.key.authenticator));
  expect(provedIn(token)).toEqual({ amr: ['hwk', 'user', 'mfa'], acr: aal2 });
  const second = await person.enrollKey(token, person.newKey(passkey));
  expect(second.factor.signs_in).toBe(true);
});

test('the outcomes are those of a password', async () => {
  const several = await withKey(passkey, [1, 2]);
  const asked = ok(await person.signInByPasskey(several.key.authenticator));
  expect(asked).toMatchObject({ outcome: 'application_selection_required', applications: { length: 3 } });
  const application_id = several.accounts[1]!.applications[1]!.id;
  const chosen = await auth.post('/select-application', { selection_token: asked.selection_token, application_id });
  expect(provedIn(ok(chosen).access_token)).toEqual({ amr: ['swk', 'user', 'mfa'], acr: aal2 });
  const direct = ok(await person.signInByPasskey(several.key.authenticator, { application_id }));
  expect(direct).toMatchObject({ outcome: 'authenticated', application: { id: application_id } });

  // Never another application than the one that was asked for: of one that the person does not reach, they choose.
  const foreign = (await auth.addUser()).accounts[0]!.applications[0]!.id;
  expect(ok(await person.signInByPasskey(several.key.authenticator, { application_id: foreign }))).toMatchObject({
    outcome: 'application_selection_required',
    applications: { length: 3 },
  });

  const nowhere = await withKey(passkey, []);
  expect(ok(await person.signInByPasskey(nowhere.key.authenticator))).toMatchObject({
    outcome: 'account_required',
    account: null,
  });
});

test('a passkey is what an account asks for that requires a second factor', async () => {
  const ana = await withKey();
  const { account } = ana.accounts[0]!;
  await auth.db.transaction('system', (tx) =>
    tx.query('update accounts set require_mfa = true where id = $1', [account.id]),
  );
  const { access_token: token, mfa_enrollment_required } = ok(await person.signInByPasskey(ana.key.authenticator));
  expect(mfa_enrollment_required).toBe(false);
  const { sub: userId, sid: sessionId } = decodeJwt(token) as { sub: string; sid: string };
  const subject = { userId, sessionId, accountId: account.id, applicationId: null };
  const access = await auth.users.portal.find(subject, { accountSlug: account.slug });
  expect(access).toMatchObject({ owes: null });
});

test('a person whose membership has ended signs in without that account, as with the password', async () => {
  const ana = await withKey();
  await auth.db.transaction('system', (tx) => tx.query('delete from memberships where user_id = $1', [ana.id]));
  expect(ok(await person.signInByPasskey(ana.key.authenticator)).outcome).toBe('account_required');
});

describe('refused, and all alike:', () => {
  test.each<[string, Flaws]>([
    ['another origin', { origin: 'https://localhost.evil.example' }],
    ['another relying party', { rpId: 'evil.example' }],
    ['another challenge', { challenge: Buffer.alloc(32, 7).toString('base64url') }],
    ['a bad signature', { tampered: true }],
    ['no user verification', { userVerified: false }],
    ['no user presence', { userPresent: false }],
    ['no user handle', { userHandle: null }],
    ['the handle of somebody else', { userHandle: Buffer.alloc(16, 1).toString('base64url') }],
    ['a registration', { type: 'webauthn.create' }],
    ['a page in a foreign frame', { crossOrigin: true }],
    ['another kind of key than was enrolled', { synced: false }],
  ])('%s', async (_, flaws) => {
    const ana = await withKey();
    const answer = await person.signInByPasskey(ana.key.authenticator, { flaws });
    expect(refusalOf(answer)).toEqual(refused);
    expect(answer.cookies).toEqual([]);
    const isNobodys = flaws.userHandle === null || flaws.crossOrigin;
    expect(await lastFailure(isNobodys ? null : ana.id)).toMatchObject({
      outcome: 'failure',
      metadata: { method: 'passkey' },
    });
  });

  test('a key that nobody has, one that was removed, and what is no answer, with the same body', async () => {
    const ana = await withKey();
    const stranger = person.newKey(passkey);
    stranger.create(ok(await auth.post('/mfa/webauthn/enroll/options', undefined, bearer(ana.token))).options);
    const gone = await withKey();
    expect((await auth.delete(`/mfa/factors/${gone.key.factor.id}`, bearer(gone.token))).statusCode).toBe(204);
    const { passkey_token } = await person.beginPasskey();
    const answers = [
      await person.signInByPasskey(ana.key.authenticator, { flaws: { tampered: true } }),
      await person.signInByPasskey(stranger),
      await person.signInByPasskey(gone.key.authenticator),
      await auth.post('/passkey', { passkey_token, response: { id: 'x' } }),
    ];
    const bodies = answers.map((answer) => ({ ...answer.json().error, timestamp: null }));
    expect(bodies).toEqual(bodies.map(() => bodies[0]));
    expect(answers.map(refusalOf)).toEqual(answers.map(() => refused));
    expect(await lastFailure(null)).toMatchObject({
      outcome: 'failure',
      metadata: { method: 'passkey' },
      accountId: null,
    });
  });

  test('a counter that went back, which is a warning in the audit log and remembered', async () => {
    const ana = await withKey({ isDiscoverable: true });
    ok(await person.signInByPasskey(ana.key.authenticator));
    const answer = await person.signInByPasskey(ana.key.authenticator, { flaws: { counter: 1 } });
    expect(refusalOf(answer)).toEqual(refused);
    const warned = await auth.db.transaction('system', (tx) =>
      tx.findBy(Event, { resourceId: ana.id, action: 'auth.admin_webauthn_counter_regressed' }),
    );
    expect(warned).toEqual([expect.objectContaining({ severity: 'warning', outcome: 'denied' })]);
    expect(await failuresOf(ana.id)).toHaveLength(1);
  });
});

describe('a challenge', () => {
  const answer = ({ passkey_token }: Pick<PasskeyRequest, 'passkey_token'>, response: object) =>
    auth.post('/passkey', { passkey_token, response });

  test('is answered once, also by several requests at once, and is used up by a wrong answer', async () => {
    const ana = await withKey();
    const begun = await person.beginPasskey();
    const response = ana.key.authenticator.get(begun.options);
    const answers = await Promise.all(Array.from({ length: 4 }, () => answer(begun, response)));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400, 400, 400]);

    const other = await person.beginPasskey();
    expect(refusalOf(await answer(other, ana.key.authenticator.get(other.options, { tampered: true })))).toEqual(
      refused,
    );
    expect(refusalOf(await answer(other, ana.key.authenticator.get(other.options)))).toEqual(over);
  });

  test('of another page, of another purpose or of nobody is none, and it lasts half an hour', async () => {
    const ana = await withKey();
    const get = ({ options }: PasskeyRequest) => ana.key.authenticator.get(options);
    const [one, other] = [await person.beginPasskey(), await person.beginPasskey()];
    expect(refusalOf(await answer(other, get(one)))).toEqual(refused);
    const enrollment = ok(await auth.post('/mfa/webauthn/enroll/options', undefined, bearer(ana.token)));
    expect(refusalOf(await answer({ passkey_token: enrollment.enrollment_token }, get(one)))).toEqual(over);
    expect(refusalOf(await answer({ passkey_token: 'made up' }, get(one)))).toEqual(over);
    auth.pass(minutes(30));
    expect(refusalOf(await answer(one, get(one)))).toEqual(over);
  });
});

describe('what a password could not do, a passkey cannot either:', () => {
  test('a key that an identity provider’s session enrolled is a second factor only, whoever holds it', async () => {
    const ana = await auth.addUser({ password: null, accounts: [1, 1] });
    const { by } = await providerOf(auth, { ...ana, accounts: ana.accounts.slice(0, 1) });
    await auth.db.transaction('system', (tx) =>
      tx.query('delete from memberships where user_id = $1 and account_id = $2', [ana.id, ana.accounts[1]?.account.id]),
    );
    const { accessToken: token } = (await by(['pwd'])) as { accessToken: string };
    const { authenticator } = await person.enrollKey(token, person.newKey(passkey));
    const answer = await person.signInByPasskey(authenticator);
    expect(refusalOf(answer)).toEqual([403, 'mfa.second_factor_only']);
    expect(answer.cookies).toEqual([]);
    expect(await lastFailure(ana.id)).toMatchObject({
      outcome: 'denied',
      metadata: { method: 'passkey', reason: 'mfa.second_factor_only' },
      accountId: ana.accounts[0]?.account.id,
    });
  });

  test('a key that was enrolled as not stored does not sign in, even if it answers', async () => {
    const ana = await withKey({ isDiscoverable: false });
    expect(refusalOf(await person.signInByPasskey(ana.key.authenticator))).toEqual([403, 'mfa.second_factor_only']);
    // It is no way in afterwards, either.
    ok(await person.answerKey(await person.challenge(ana), ana.key.authenticator));
    expect(refusalOf(await person.signInByPasskey(ana.key.authenticator))).toEqual([403, 'mfa.second_factor_only']);
  });

  test('after a reset of the factors no passkey signs in, nor does a choice of an application that one led to', async () => {
    const ana = await withKey(passkey, [2]);
    const asked = ok(await person.signInByPasskey(ana.key.authenticator));
    const begun = await person.beginPasskey();
    expect(await createMfaResetByOperator(auth)(ana.email)).toBe(true);
    const response = ana.key.authenticator.get(begun.options);
    expect(refusalOf(await auth.post('/passkey', { passkey_token: begun.passkey_token, response }))).toEqual(refused);
    const choice = { selection_token: asked.selection_token, application_id: ana.accounts[0]!.applications[0]!.id };
    expect(refusalOf(await auth.post('/select-application', choice))).toEqual(refused);
  });

  test('a new password ends what a key can do that its thief had enrolled, until a key is used after it', async () => {
    const ana = await withKey(passkey, [2]);
    const asked = ok(await person.signInByPasskey(ana.key.authenticator));
    const password = 'amber harbour 23';
    const changed = { current_password: ana.password, new_password: password };
    expect((await auth.put('/password', changed, bearer(ana.token))).statusCode).toBe(200);
    const choice = { selection_token: asked.selection_token, application_id: ana.accounts[0]!.applications[0]!.id };
    expect(refusalOf(await auth.post('/select-application', choice))).toEqual(refused);
    expect(refusalOf(await person.signInByPasskey(ana.key.authenticator))).toEqual([403, 'mfa.second_factor_only']);
    ok(await person.answerKey(await person.challenge({ ...ana, password }), ana.key.authenticator));
    ok(await person.signInByPasskey(ana.key.authenticator));

    expect((await auth.post('/password/forgot', { email: ana.email })).statusCode).toBe(200);
    const link = { token: await auth.passwordTokenFor(ana.id), password: 'plumage over the harbour' };
    expect((await auth.post('/password/reset', link)).statusCode).toBe(200);
    expect(refusalOf(await person.signInByPasskey(ana.key.authenticator))).toEqual([403, 'mfa.second_factor_only']);
  });

  test('the challenge of a password that is locked stays locked, and a passkey is not affected by it', async () => {
    const limited = await newAdminAuth({ rateLimits: true });
    try {
      const its = withFactors(limited);
      const ana = await limited.addUser();
      const from = (n: number) => ({ 'x-forwarded-for': `2001:db8:${n.toString(16)}::1` });
      const login = (password: string, n: number) => limited.post('/login', { email: ana.email, password }, from(n));
      const { access_token: token } = ok(await login(ana.password, 1));
      const key = await its.enrollKey(token, its.newKey(passkey));
      for (let n = 2; n < 12; n++) expect((await login('wrong', n)).statusCode).toBe(401);
      expect((await login(ana.password, 12)).statusCode).toBe(429);
      ok(await its.signInByPasskey(key.authenticator, { headers: from(13) }));
      expect((await login(ana.password, 14)).statusCode).toBe(429);
    } finally {
      await limited.close();
    }
  });
});

test('requests from pages of other sites are refused, and set no cookie', async () => {
  const ana = await withKey();
  const headers = { origin: 'https://evil.example' };
  expect(refusalOf(await auth.post('/passkey/options', undefined, headers))).toEqual([403, 'origin.foreign']);
  const { passkey_token, options } = await person.beginPasskey();
  const body = { passkey_token, response: ana.key.authenticator.get(options) };
  expect(refusalOf(await auth.post('/passkey', body, headers))).toEqual([403, 'origin.foreign']);
  ok(await auth.post('/passkey', body, { origin: auth.baseUrl })); // the challenge was not used up
});

test.each([
  ['no token', { response: {} }],
  ['no answer', { passkey_token: 'x' }],
  ['an unknown field', { passkey_token: 'x', response: {}, email: 'ana@example.com' }],
  ['a text in place of the answer', { passkey_token: 'x', response: 'x' }],
  ['an application that is no id', { passkey_token: 'x', response: {}, application_id: 'shop' }],
  ['a token without end', { passkey_token: 'x'.repeat(4000), response: {} }],
])('%s is bad input', async (_, body) => {
  expect(refusalOf(await auth.post('/passkey', body))).toEqual([400, 'validation.failed']);
});

test('an address has sixty answers a minute', async () => {
  const limited = await newAdminAuth({ rateLimits: true });
  try {
    const hit = () => limited.post('/passkey', { passkey_token: 'x', response: {} });
    for (let i = 0; i < 60; i++) expect((await hit()).statusCode).toBe(400);
    const answer = await hit();
    expect(refusalOf(answer)).toEqual([429, 'rate_limit.exceeded']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  } finally {
    await limited.close();
  }
});
