import { createMfaResetByOperator } from '../../../src/domain/admin-mfa/reset.js';
import { createMfaAttempts } from '../../../src/domain/mfa/attempts.js';
import { minutes } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';
import { ok, refusalOf, withFactors } from '../../support/admin-mfa.js';
import { comingUpon } from '../../support/uncommitted.js';

let auth: AdminAuth;
let person: ReturnType<typeof withFactors>;
beforeAll(async () => {
  auth = await newAdminAuth({ rateLimits: true });
  person = withFactors(auth);
});
afterAll(() => auth.close());

let address = 0;
/** Sends each request from a new address, so that limits by address do not interfere. */
const elsewhere = () => ({ 'x-forwarded-for': `198.51.100.${++address}` });
const loginOf = async ({ email, password }: { email: string; password: string }) =>
  ok(await auth.post('/login', { email, password }, elsewhere()));

test('ten wrong answers of a user in a quarter of an hour lock the challenge, in every sign-in and from everywhere', async () => {
  const ana = await auth.addUser();
  const { access_token: token } = await loginOf(ana);
  const app = await person.enrollTotp(token);
  const { challenge_token: first } = await loginOf(ana);
  const { challenge_token: second } = await loginOf(ana);
  const wrong = (token: string, i: number) =>
    i % 2 === 0
      ? person.answer('totp', token, '000000', elsewhere())
      : person.answer('recovery-code', token, 'AAAA-AAAA-AAAA-AAAA', elsewhere());
  const answers = await Promise.all([...Array(13).keys()].map((i) => wrong(i < 7 ? first : second, i)));
  expect(answers.filter(({ statusCode }) => statusCode === 401)).toHaveLength(10);
  const locked = answers.filter(({ statusCode }) => statusCode === 429);
  expect(locked).toHaveLength(3);
  expect(locked[0]?.json().error.code).toBe('mfa.challenge_locked');
  expect(Number(locked[0]?.headers['retry-after'])).toBeGreaterThan(0);
  // The right code is not verified either, and enrolling is no way around the lock.
  const right = await person.answer('totp', second, app.code(), elsewhere());
  expect(refusalOf(right)).toEqual([429, 'mfa.challenge_locked']);
  const begun = ok(await auth.post('/mfa/totp/enroll', undefined, bearer(token)));
  const confirmation = { enrollment_token: begun.enrollment_token, code: '000000' };
  const confirmed = await auth.post('/mfa/totp/confirm', confirmation, bearer(token));
  expect(refusalOf(confirmed)).toEqual([429, 'mfa.challenge_locked']);
});

const nextBurst = () =>
  auth.db.transaction('system', (tx) => tx.query(`delete from rate_limits where key like 'mfa-user:%'`));

test('fifty wrong answers of a user in a day lock until the day is over; a reset of their factors resets the count', async () => {
  const ana = await auth.addUser();
  await person.enrollTotp((await loginOf(ana)).access_token);
  const { challenge_token: token } = await loginOf(ana);
  for (let i = 0; i < 50; i++) {
    if (i % 10 === 0) await nextBurst();
    expect((await person.answer('totp', token, '000000', elsewhere())).statusCode).toBe(401);
  }
  await nextBurst();
  const locked = await person.answer('totp', token, '000000', elsewhere());
  expect(refusalOf(locked)).toEqual([429, 'mfa.challenge_locked']);
  expect(Number(locked.headers['retry-after'])).toBeGreaterThan(86_000);
  await createMfaResetByOperator({ db: auth.db, now: auth.now })(ana.email);
  await person.enrollTotp((await loginOf(ana)).access_token);
});

test('a sign-in that ends while an answer to it is being checked does not reset the day’s count', async () => {
  const ana = await auth.addUser();
  const app = await person.enrollTotp((await loginOf(ana)).access_token);
  const { challenge_token: token } = await loginOf(ana);
  const attempts = createMfaAttempts({ db: auth.db, enabled: true, whose: 'user', now: auth.now });
  for (let i = 0; i < 49; i++) {
    if (i % 10 === 0) await nextBurst();
    await attempts.counted(ana.id, async () => null);
  }
  await nextBurst();
  const late = await comingUpon(
    auth.database,
    (tx) => tx.query('update pending_user_sign_ins set completed_at = now() where user_id = $1', [ana.id]),
    () => person.answer('totp', token, app.code(), elsewhere()),
  );
  expect(refusalOf(late)).toEqual([400, 'mfa.challenge_invalid']);
  await attempts.counted(ana.id, async () => null);
  await nextBurst();
  await expect(attempts.counted(ana.id, async () => null)).rejects.toMatchObject({ code: 'mfa.challenge_locked' });
});

test('right answers do not count as guesses', async () => {
  const ana = await auth.addUser();
  const { recovery_codes: codes } = await person.enrollTotp((await loginOf(ana)).access_token);
  for (const code of codes as string[]) {
    const { challenge_token: token } = await loginOf(ana);
    ok(await person.answer('recovery-code', token, code, elsewhere()));
  }
  const { challenge_token: token, available_factors } = await loginOf(ana);
  expect(available_factors).toEqual(['totp']);
  expect((await person.answer('totp', token, '000000', elsewhere())).statusCode).toBe(401);
});

test.each([
  ['/mfa/challenge/totp', 10, { code: '000000' }],
  ['/mfa/challenge/recovery-code', 10, { code: 'x' }],
  ['/mfa/challenge/webauthn', 10, { response: {} }],
  ['/mfa/challenge/webauthn/options', 10, {}],
])('%s answers %i requests of an address per minute', async (path, most, more) => {
  const headers = elsewhere();
  const body = { challenge_token: 'x', ...more };
  const answers = await Promise.all([...Array(most + 2).keys()].map(() => auth.post(path, body, headers)));
  expect(answers.filter(({ statusCode }) => statusCode === 400)).toHaveLength(most);
  const limited = answers.filter(({ statusCode }) => statusCode === 429);
  expect(limited.map((answer) => answer.json().error.code)).toEqual(['rate_limit.exceeded', 'rate_limit.exceeded']);
});

test('an address gets the options of an enrollment five times a minute', async () => {
  const ana = await auth.addUser();
  const { access_token: token } = await loginOf(ana);
  const headers = { ...bearer(token), ...elsewhere() };
  const answers = await Promise.all(
    [...Array(6).keys()].map(() => auth.post('/mfa/webauthn/enroll/options', undefined, headers)),
  );
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 200, 200, 429]);
  auth.pass(minutes(1));
});
