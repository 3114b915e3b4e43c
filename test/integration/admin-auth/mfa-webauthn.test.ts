import { Event } from '../../../entities/event.js';
import { minutes } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';
import { ok, provedIn, refusalOf, withFactors } from '../../support/admin-mfa.js';

let auth: AdminAuth;
let person: ReturnType<typeof withFactors>;
beforeAll(async () => {
  auth = await newAdminAuth();
  person = withFactors(auth);
});
afterAll(() => auth.close());

const aal2 = 'urn:gatehouse:aal2';

async function withKey(options: Parameters<typeof person.newKey>[0] = {}) {
  const ana = await auth.addUser();
  const token = await person.session(ana);
  return { ...ana, token, key: await person.enrollKey(token, person.newKey(options)) };
}

test('a security key is enrolled, named and used as the second factor', async () => {
  const ana = await auth.addUser();
  const token = await person.session(ana);
  const key = await person.enrollKey(token, person.newKey({ verifiesUser: false }), 'On my ring');
  expect(key.factor).toMatchObject({ type: 'webauthn', label: 'On my ring' });
  expect(key.recovery_codes).toHaveLength(10);
  const asked = ok(await person.login(ana));
  expect(asked.available_factors).toEqual(['webauthn', 'recovery_code']);
  const entered = ok(await person.answerKey(asked.challenge_token, key.authenticator));
  expect(provedIn(entered.access_token)).toEqual({ amr: ['pwd', 'hwk', 'mfa'], acr: aal2 });
});

test('a synced passkey that verified its user is shown as such', async () => {
  const ana = await withKey({ isSynced: true, verifiesUser: true, counts: false });
  expect(ana.key.factor.label).toBe('Passkey');
  const entered = ok(await person.answerKey(await person.challenge(ana), ana.key.authenticator));
  expect(provedIn(entered.access_token)).toEqual({ amr: ['pwd', 'swk', 'user', 'mfa'], acr: aal2 });
});

test('a further factor brings no new recovery codes, and the options exclude existing keys', async () => {
  const ana = await withKey();
  const app = await person.enrollTotp(ana.token);
  expect(app.recovery_codes).toBeNull();
  const begun = ok(await auth.post('/mfa/webauthn/enroll/options', undefined, bearer(ana.token)));
  expect(begun.options.excludeCredentials).toHaveLength(1);
  expect(begun.options.rp).toEqual({ id: 'localhost', name: 'Gatehouse' });
  expect(ok(await person.login(ana)).available_factors).toEqual(['totp', 'webauthn', 'recovery_code']);
});

test.each([
  ['another origin', { origin: 'https://evil.example' }],
  ['another relying party', { rpId: 'evil.example' }],
  ['another challenge', { challenge: 'AAAAAAAAAAAAAAAAAAAAAA' }],
  ['a wrong signature', { tampered: true }],
  ['a frame of another site', { crossOrigin: true }],
  ['no user presence', { userPresent: false }],
])('an answer with %s is refused', async (_, flaws) => {
  const ana = await withKey();
  const challengeToken = await person.challenge(ana);
  const options = ok(await auth.post('/mfa/challenge/webauthn/options', { challenge_token: challengeToken }));
  const response = ana.key.authenticator.get(options, flaws);
  const answer = await auth.post('/mfa/challenge/webauthn', { challenge_token: challengeToken, response });
  expect(refusalOf(answer)).toEqual([401, 'mfa.code_invalid']);
});

test('a challenge can be answered once: not again, and not in another sign-in', async () => {
  const ana = await withKey({ counts: false });
  const [one, other] = [await person.challenge(ana), await person.challenge(ana)];
  const options = ok(await auth.post('/mfa/challenge/webauthn/options', { challenge_token: one }));
  const response = ana.key.authenticator.get(options);
  const answer = (token: string) => auth.post('/mfa/challenge/webauthn', { challenge_token: token, response });
  expect(refusalOf(await answer(other))).toEqual([401, 'mfa.code_invalid']);
  const answers = await Promise.all([answer(one), answer(one), answer(one)]);
  const passed = answers.filter(({ statusCode }) => statusCode === 200);
  expect(passed).toHaveLength(1);
  expect((await answer(one)).statusCode).toBe(400);
});

test('a wrong answer uses up its challenge too, and the sign-in continues with new options', async () => {
  const ana = await withKey();
  const challengeToken = await person.challenge(ana);
  const options = ok(await auth.post('/mfa/challenge/webauthn/options', { challenge_token: challengeToken }));
  const right = ana.key.authenticator.get(options);
  for (const response of [{ ...right, id: 'AAAA', rawId: 'AAAA' }, right]) {
    const answer = await auth.post('/mfa/challenge/webauthn', { challenge_token: challengeToken, response });
    expect(refusalOf(answer)).toEqual([401, 'mfa.code_invalid']);
  }
  ok(await person.answerKey(challengeToken, ana.key.authenticator));
});

test('a foreign key, and one whose counter went back, are refused; the latter with a warning', async () => {
  const [ana, bob] = [await withKey(), await withKey()];
  const refused = [401, 'mfa.code_invalid'];
  const optionsOf = async (token: string) =>
    ok(await auth.post('/mfa/challenge/webauthn/options', { challenge_token: token }));
  const answer = (token: string, response: object) =>
    auth.post('/mfa/challenge/webauthn', { challenge_token: token, response });
  const first = await person.challenge(ana);
  const strange = bob.key.authenticator.get({ ...(await optionsOf(first)), allowCredentials: [] });
  expect(refusalOf(await answer(first, strange))).toEqual(refused);
  ok(await person.answerKey(await person.challenge(ana), ana.key.authenticator));
  const challengeToken = await person.challenge(ana);
  const response = ana.key.authenticator.get(await optionsOf(challengeToken), { counter: 1 });
  expect(refusalOf(await answer(challengeToken, response))).toEqual(refused);
  const warned = await auth.db.transaction('system', (tx) =>
    tx.findBy(Event, { resourceId: ana.id, action: 'auth.admin_webauthn_counter_regressed' }),
  );
  expect(warned).toEqual([expect.objectContaining({ severity: 'warning', outcome: 'denied' })]);
});

test('an enrollment belongs to its session, and works once and for six minutes; a key can be enrolled once', async () => {
  const [ana, bob] = [await auth.addUser(), await auth.addUser()];
  const [token, other] = [await person.session(ana), await person.session(bob)];
  const key = person.newKey();
  const begin = async (as: string) => ok(await auth.post('/mfa/webauthn/enroll/options', undefined, bearer(as)));
  const verify = (begun: { enrollment_token: string }, response: object, as: string) =>
    auth.post('/mfa/webauthn/enroll/verify', { enrollment_token: begun.enrollment_token, response }, bearer(as));
  const expired = [400, 'mfa.enrollment_expired'];

  const begun = await begin(token);
  const response = key.create(begun.options);
  expect(refusalOf(await verify(begun, response, other))).toEqual(expired);
  ok(await verify(begun, response, token), 201);
  expect(refusalOf(await verify(begun, response, token))).toEqual(expired);

  const again = await begin(other);
  const credentialId = Buffer.from(response.id, 'base64url');
  expect(refusalOf(await verify(again, key.create(again.options, { credentialId }), other))).toEqual([
    409,
    'mfa.already_enrolled',
  ]);
  const late = await begin(other);
  auth.pass(minutes(7));
  expect(refusalOf(await verify(late, key.create(late.options), other))).toEqual(expired);
});
