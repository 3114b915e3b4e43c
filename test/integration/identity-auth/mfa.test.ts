import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { createOwnSessions } from '../../../src/domain/sessions/own-sessions.js';
import { days, minutes, seconds } from '../../../src/platform/clock.js';
import { createAuthenticator } from '../../support/authenticator.js';
import { apiOf, bearer, type LoginResult } from '../../support/identity-auth.js';
import { waitingMails } from '../../support/identity-mails.js';
import { enrollTotp, hidden, passwordStep } from '../../support/mfa.js';
import { newProvider } from '../../support/oauth/provider.js';
import { newOrganization, setPolicy } from '../../support/organizations.js';

const provider = await newProvider();
const api = apiOf(provider);
afterAll(() => provider.close());

const required = { mfaPolicy: 'required' } as const;

/** Creates a person with an authenticator app who has sent the password. */
async function challenged(settings: Partial<EnvironmentSettings> = required, more: object = {}) {
  const place = await provider.newEnvironment(settings);
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  const totp = await enrollTotp(provider, place, ana);
  const result = await api.signedIn(client, ana, more);
  const token = result.mfa_challenge?.challenge_token ?? '';
  const answer = (kind: string, body: object, headers: Record<string, string> = {}) =>
    api.post(`/mfa/challenge/${kind}`, { challenge_token: token, ...body }, headers);
  return { place, client, ana, totp, result, token, answer };
}
const refusalOf = (response: Awaited<ReturnType<typeof api.post>>) => [response.statusCode, response.json().error.code];
/** Returns how the tokens describe the sign-in. */
const toldBy = ({ access_token: token }: LoginResult) => {
  const { amr, acr, auth_time: authTime } = decodeJwt(token);
  return { amr, acr, authTime };
};

describe('where a second factor is asked for', () => {
  test('the password gets a challenge, and no tokens', async () => {
    const { result, ana } = await challenged();
    expect(result).toEqual({
      requires_application_selection: false,
      requires_mfa_challenge: true,
      expires_in: 600,
      identity: { id: ana.id, email: ana.email, first_name: 'Ana', last_name: 'Arendt' },
      access_token: null,
      token_type: null,
      applications: null,
      mfa_challenge: {
        challenge_token: expect.stringMatching(/^[\w-]{43}$/),
        available_factors: ['totp', 'email_otp', 'recovery_code'],
        expires_at: new Date(provider.now().getTime() + minutes(10)).toISOString(),
      },
      mfa_enrollment_pending: false,
      grace_expires_at: null,
      refresh_token: null,
      scope: null,
      selection_token: null,
    });
    const sessions = await provider.query('select from sessions where identity_id = $1', [ana.id]);
    expect(sessions).toHaveLength(0);
  });

  test('the app’s code completes it, with the login’s scope and the password’s time', async () => {
    const { answer, totp, ana } = await challenged(required, { scope: 'openid email' });
    const at = Math.floor(provider.now().getTime() / 1000);
    provider.wait(minutes(1));
    const done = await answer('totp', { code: totp.code() });
    expect(done.statusCode).toBe(200);
    expect(done.headers['set-cookie']).toBeUndefined();
    const { data } = done.json();
    expect(data).toMatchObject({ requires_mfa_challenge: false, mfa_challenge: null, scope: 'openid email' });
    expect(toldBy(data)).toEqual({ amr: ['pwd', 'otp', 'mfa'], acr: 'urn:gatehouse:aal2', authTime: at });
    expect((await api.get('/me', bearer(data.access_token))).json().data).toMatchObject({
      identity: { id: ana.id },
      session: { amr: ['pwd', 'otp', 'mfa'], acr: 'urn:gatehouse:aal2' },
    });
    const [passed] = await provider.query<{ metadata: object }>(
      `select metadata from events where action = 'auth.mfa_challenge_passed' and resource_id = $1`,
      [ana.id],
    );
    expect(passed?.metadata).toMatchObject({ factor: 'totp' });
  });

  test('ending all sessions of the person ends the challenge as well, and those of another person do not', async () => {
    const sessions = createOwnSessions({ db: provider.db, now: provider.now });
    for (const isOwn of [true, false]) {
      const { answer, totp, ana, place } = await challenged();
      expect(await sessions.endOthers(place, isOwn ? ana.id : uuidv7(), uuidv7())).toBe(0);
      const answered = await answer('totp', { code: totp.code() });
      expect(isOwn ? refusalOf(answered) : answered.statusCode).toEqual(isOwn ? [400, 'mfa.challenge_invalid'] : 200);
    }
  });

  test('a wrong code leaves the challenge open', async () => {
    const { answer, totp } = await challenged();
    const wrong = totp.code() === '000000' ? '111111' : '000000';
    expect(refusalOf(await answer('totp', { code: wrong }))).toEqual([401, 'mfa.code_invalid']);
    expect((await answer('totp', { code: totp.code() })).statusCode).toBe(200);
  });

  test.each(['12345', '1234567', 'abcdef', '12 345', ''])('the code %j is refused as malformed', async (code) => {
    const { answer } = await challenged();
    expect(refusalOf(await answer('totp', { code }))).toEqual([400, 'validation.failed']);
  });

  test('a code works once, in whichever sign-in', async () => {
    const { client, ana, answer, totp } = await challenged();
    const code = totp.code();
    expect((await answer('totp', { code })).statusCode).toBe(200);
    const { mfa_challenge: again } = await api.signedIn(client, ana);
    const replayed = await api.post('/mfa/challenge/totp', { challenge_token: again.challenge_token, code });
    expect(refusalOf(replayed)).toEqual([401, 'mfa.code_invalid']);
  });

  test('a recovery code completes the challenge too, once, as two factors', async () => {
    const { client, ana, answer, totp } = await challenged();
    const [code = ''] = totp.recoveryCodes ?? [];
    const { data } = (await answer('recovery-code', { code: code.toLowerCase() })).json();
    expect(toldBy(data)).toMatchObject({ amr: ['pwd', 'mfa'], acr: 'urn:gatehouse:aal2' });
    const { mfa_challenge: again } = await api.signedIn(client, ana);
    const replayed = await api.post('/mfa/challenge/recovery-code', { challenge_token: again.challenge_token, code });
    expect(refusalOf(replayed)).toEqual([401, 'mfa.code_invalid']);
  });

  test('a mailed code completes the challenge, and never as two strong factors', async () => {
    const { answer, ana, client } = await challenged();
    expect(refusalOf(await answer('email-otp', { code: '123456' }))).toEqual([401, 'mfa.code_invalid']);
    const sent = await answer('email-otp/send', {});
    expect([sent.statusCode, sent.json().data.message]).toEqual([200, expect.any(String)]);
    const code = await provider.mailedCode('mfa');
    // It is bound to the sign-in that issued it.
    const { mfa_challenge: other } = await api.signedIn(client, ana);
    const elsewhere = await api.post('/mfa/challenge/email-otp', { challenge_token: other.challenge_token, code });
    expect(refusalOf(elsewhere)).toEqual([401, 'mfa.code_invalid']);
    const { data } = (await answer('email-otp', { code })).json();
    expect(toldBy(data)).toMatchObject({ amr: ['pwd', 'otp'], acr: 'urn:gatehouse:aal1' });
  });

  test('a code is mailed in the caller’s language, or else the environment’s', async () => {
    const { answer, place } = await challenged({ ...required, defaultLocale: 'de' });
    await answer('email-otp/send', {});
    const codes = async () =>
      (await waitingMails(provider, place.environmentId)).filter(({ template }) => template === 'second-step-code');
    expect(await codes()).toMatchObject([{ locale: 'de' }]);
    await answer('email-otp/send', {}, { 'accept-language': 'en' });
    expect(await codes()).toMatchObject([{ locale: 'de' }, { locale: 'en' }]);
  });

  test('no code is mailed if the environment does not allow them', async () => {
    const { answer, result } = await challenged({ ...required, mfaAllowedFactors: ['totp'] });
    expect(result.mfa_challenge.available_factors).toEqual(['totp']);
    expect((await answer('email-otp/send', {})).json().error.code).toBe('mfa.email_unavailable');
  });

  test('a sign-in that requests two strong factors is challenged whatever the policy', async () => {
    const aal2 = { acr_values: 'urn:gatehouse:aal2' };
    const { result, answer, totp, client, ana } = await challenged({ mfaPolicy: 'off' }, aal2);
    expect(result.mfa_challenge.available_factors).toEqual(['totp', 'recovery_code']);
    expect(toldBy((await answer('totp', { code: totp.code() })).json().data).acr).toBe('urn:gatehouse:aal2');
    expect(await api.signedIn(client, ana)).toMatchObject({ requires_mfa_challenge: false });
  });

  test('a sign-in that prefers two factors, and accepts one, challenges a person who has one for it', async () => {
    const rather = { acr_values: 'urn:gatehouse:aal2 urn:gatehouse:aal1' };
    const { result, answer, totp, client, place } = await challenged({ mfaPolicy: 'off' }, rather);
    expect(result.mfa_challenge.available_factors).toEqual(['totp', 'recovery_code']);
    expect(toldBy((await answer('totp', { code: totp.code() })).json().data).acr).toBe('urn:gatehouse:aal2');
    const bo = await place.newIdentity();
    expect(await api.signedIn(client, bo, rather)).toMatchObject({ requires_mfa_challenge: false });
  });
});

describe('a passkey or security key', () => {
  async function withKey() {
    const place = await provider.newEnvironment(required);
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const { access_token: token } = await api.signedIn(client, ana);
    const key = createAuthenticator({ origin: provider.baseUrl });
    const begun = (await api.post('/mfa/webauthn/enroll/options', undefined, bearer(token))).json().data;
    const added = await api.post(
      '/mfa/webauthn/enroll/verify',
      { enrollment_token: begun.enrollment_token, response: key.create(begun.options), label: 'Blue key' },
      bearer(token),
    );
    const { mfa_challenge: challenge } = await api.signedIn(client, ana);
    const ask = { challenge_token: challenge.challenge_token };
    const options = async () => (await api.post('/mfa/challenge/webauthn/options', ask)).json().data;
    const answer = (response: object) => api.post('/mfa/challenge/webauthn', { ...ask, response });
    return { key, token, begun, added, challenge, options, answer };
  }

  test('is enrolled by a signed-in person, and completes the next sign-in', async () => {
    const { key, added, challenge, options, answer } = await withKey();
    expect(added.statusCode).toBe(201);
    expect(added.json().data).toMatchObject({
      factor: { type: 'webauthn', label: 'Blue key', enrolled_at: expect.any(String) },
      recovery_codes: expect.arrayContaining([expect.stringMatching(/^[A-Z2-7-]{19}$/)]),
    });
    expect(challenge.available_factors).toEqual(['webauthn', 'email_otp', 'recovery_code']);
    const { data } = (await answer(key.get(await options()))).json();
    expect(toldBy(data)).toMatchObject({ amr: ['pwd', 'hwk', 'user', 'mfa'], acr: 'urn:gatehouse:aal2' });
  });

  test('answers each challenge once, and only the newest one', async () => {
    const { key, options, answer } = await withKey();
    const old = key.get(await options());
    await options();
    expect(refusalOf(await answer(old))).toEqual([401, 'mfa.code_invalid']);
    expect(refusalOf(await answer({}))).toEqual([401, 'mfa.code_invalid']);
    const right = key.get(await options(), { tampered: true });
    expect(refusalOf(await answer(right))).toEqual([401, 'mfa.code_invalid']);
    expect((await answer(key.get(await options()))).statusCode).toBe(200);
  });

  test('is not asked for where the person has none: the browser would offer every passkey that it has', async () => {
    const { answer } = await challenged();
    expect(refusalOf(await answer('webauthn/options', {}))).toEqual([400, 'mfa.factor_not_allowed']);
  });

  test('is not enrolled twice with one set of options, nor with another session’s', async () => {
    const { key, token, begun } = await withKey();
    const again = { enrollment_token: begun.enrollment_token, response: key.create(begun.options) };
    const spent = await api.post('/mfa/webauthn/enroll/verify', again, bearer(token));
    expect(refusalOf(spent)).toEqual([400, 'mfa.enrollment_expired']);
    const place = await provider.newEnvironment(required);
    const other = await api.signedIn(await place.newClient(), await place.newIdentity());
    const foreign = await api.post('/mfa/webauthn/enroll/verify', again, bearer(other.access_token));
    expect(refusalOf(foreign)).toEqual([400, 'mfa.enrollment_expired']);
  });
});

describe('a challenge token', () => {
  const kinds: [string, object][] = [
    ['totp', { code: '123456' }],
    ['recovery-code', { code: 'AAAA-AAAA-AAAA-AAAA' }],
    ['email-otp', { code: '123456' }],
    ['email-otp/send', {}],
    ['webauthn', { response: {} }],
    ['webauthn/options', {}],
  ];

  test.each(kinds)(
    'for %s that is unknown, expired, completed or of the hosted pages is refused alike',
    async (kind, body) => {
      const ask = (token: string) => api.post(`/mfa/challenge/${kind}`, { challenge_token: token, ...body });
      const { place, client, ana, answer, totp, token: complete } = await challenged();
      expect((await answer('totp', { code: totp.code() })).statusCode).toBe(200);
      const { page } = await passwordStep(provider.browser(), client, ana);
      const hosted = hidden(page, 'challenge_token');
      expect(hosted).toMatch(/^[\w-]{43}$/);
      const { mfa_challenge: deactivated } = await api.signedIn(client, ana);
      const { mfa_challenge: over } = await api.signedIn(client, ana);
      await provider.query('update environment_memberships set is_active = false where environment_id = $1', [
        place.environmentId,
      ]);
      expect(refusalOf(await ask(deactivated.challenge_token))).toEqual([400, 'mfa.challenge_invalid']);
      await provider.query('update environment_memberships set is_active = true where environment_id = $1', [
        place.environmentId,
      ]);
      provider.wait(minutes(10));
      for (const token of ['', 'x', 'A'.repeat(43), complete, hosted, over.challenge_token]) {
        expect(refusalOf(await ask(token))).toEqual([400, 'mfa.challenge_invalid']);
      }
    },
  );

  test('is invalid on the hosted pages', async () => {
    const { token, client } = await challenged();
    const fields = { challenge_token: token, code: '123456', client_id: client.clientId };
    const refused = await provider.browser().post('/oauth/mfa-challenge', fields, { origin: provider.baseUrl });
    expect(refused.statusCode).toBe(400);
  });

  test('is completed by one of two right answers at once', async () => {
    const { answer, totp } = await challenged();
    const [one = '', two = ''] = totp.recoveryCodes ?? [];
    const answers = await Promise.all([answer('recovery-code', { code: one }), answer('recovery-code', { code: two })]);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400]);
  });

  test('is void after a new password', async () => {
    const { answer, totp, ana, client } = await challenged();
    await api.post('/password/forgot', { client_id: client.clientId, email: ana.email });
    const { lastLink } = await import('../../support/identity-mails.js');
    const link = await lastLink(provider, client.environmentId);
    const token = new URLSearchParams(link.split('?')[1]).get('token');
    const reset = { client_id: client.clientId, token, password: 'another long password' };
    expect((await api.post('/password/reset', reset)).statusCode).toBe(200);
    expect(refusalOf(await answer('totp', { code: totp.code() }))).toEqual([400, 'mfa.challenge_invalid']);
  });

  test('lets its client’s scripts read the answer, also when it has expired', async () => {
    const { answer } = await challenged();
    const origin = 'https://app.example.com';
    const wrong = await answer('totp', { code: '000000' }, { origin });
    expect(wrong.headers['access-control-allow-origin']).toBe(origin);
    provider.wait(minutes(10));
    const over = await answer('totp', { code: '000000' }, { origin });
    expect([over.statusCode, over.headers['access-control-allow-origin']]).toEqual([400, origin]);
    const foreign = await answer('totp', { code: '000000' }, { origin: 'https://evil.example.com' });
    expect(foreign.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('a device', () => {
  const cookieOf = (response: Awaited<ReturnType<typeof api.post>>) => {
    const [cookie] = response.cookies;
    return { ...cookie, header: { cookie: `${cookie?.name}=${cookie?.value}` } };
  };

  test('is remembered if the person asks for that, and is no second factor', async () => {
    const { answer, totp, client, ana } = await challenged({ ...required, mfaTrustedDeviceDays: 30 });
    const done = await answer('totp', { code: totp.code(), remember_device: true });
    const cookie = cookieOf(done);
    expect(cookie).toMatchObject({
      name: 'trusted_device',
      httpOnly: true,
      sameSite: 'Lax',
      path: '/',
      maxAge: days(30) / 1000,
    });
    const { data } = (await api.login(client, ana, {}, cookie.header)).json();
    expect(data).toMatchObject({ requires_mfa_challenge: false, mfa_challenge: null });
    expect(toldBy(data)).toMatchObject({ amr: ['pwd'], acr: 'urn:gatehouse:aal1' });
    expect(await api.signedIn(client, ana)).toMatchObject({ requires_mfa_challenge: true }); // another browser
    const strong = await api.login(client, ana, { acr_values: 'urn:gatehouse:aal2' }, cookie.header);
    expect(strong.json().data.requires_mfa_challenge).toBe(true);
    provider.wait(days(30));
    expect((await api.login(client, ana, {}, cookie.header)).json().data.requires_mfa_challenge).toBe(true);
  });

  test('that another person trusted is not trusted', async () => {
    const { place, answer, totp, client } = await challenged({ ...required, mfaTrustedDeviceDays: 30 });
    const { header } = cookieOf(await answer('totp', { code: totp.code(), remember_device: true }));
    const ben = await place.newIdentity();
    await enrollTotp(provider, place, ben);
    expect((await api.login(client, ben, {}, header)).json().data.requires_mfa_challenge).toBe(true);
  });

  test('is not remembered if the environment allows no days for it', async () => {
    const { answer, totp } = await challenged({ ...required, mfaTrustedDeviceDays: 0 });
    const done = await answer('totp', { code: totp.code(), remember_device: true });
    expect([done.statusCode, done.cookies]).toEqual([200, []]);
  });

  test('has its cookie also if the sign-in is refused after the factor', async () => {
    const { answer, totp, client, ana, place } = await challenged({ ...required, mfaTrustedDeviceDays: 30 });
    const before = cookieOf(await answer('totp', { code: totp.code(), remember_device: true }));
    provider.wait(minutes(1));
    const { mfa_challenge: again } = await api.signedIn(client, ana);
    const policy = { allowed_methods: ['email_otp' as const] };
    const organization = await newOrganization(provider, place, { members: [ana], policy });
    const factor = { challenge_token: again.challenge_token, code: totp.code(), remember_device: true };
    const refused = await api.post('/mfa/challenge/totp', factor, before.header);
    expect(refusalOf(refused)).toEqual([403, 'login.method_not_allowed']);
    await setPolicy(provider, organization, {});
    expect((await api.login(client, ana, {}, cookieOf(refused).header)).json().data.requires_mfa_challenge).toBe(false);
  });

  test('is not remembered by a wrong code', async () => {
    const { answer } = await challenged({ ...required, mfaTrustedDeviceDays: 30 });
    expect((await answer('totp', { code: '000000', remember_device: true })).cookies).toEqual([]);
  });
});

test('a factor that the environment does not allow lets nobody in, and the grace to enroll an allowed one applies', async () => {
  const { answer, totp, result, place } = await challenged({
    ...required,
    mfaGracePeriodDays: 7,
    mfaAllowedFactors: ['webauthn', 'recovery_code'],
  });
  expect(result.mfa_challenge.available_factors).toEqual(['totp', 'recovery_code']);
  const { data } = (await answer('totp', { code: totp.code() })).json();
  expect(data).toMatchObject({ mfa_enrollment_pending: true, grace_expires_at: expect.any(String) });
  expect(toldBy(data).acr).toBe('urn:gatehouse:aal1');
  const ben = await place.newIdentity();
  const benTotp = await enrollTotp(provider, place, ben);
  await provider.query('update environment_settings set mfa_grace_period_days = 0 where environment_id = $1', [
    place.environmentId,
  ]);
  provider.wait(seconds(2)); // a process caches a client's settings for a second
  const { mfa_challenge: challenge } = await api.signedIn(await place.newClient(), ben);
  const refused = await api.post('/mfa/challenge/totp', {
    challenge_token: challenge.challenge_token,
    code: benTotp.code(),
  });
  expect(refusalOf(refused)).toEqual([403, 'mfa.enrollment_required']);
});
