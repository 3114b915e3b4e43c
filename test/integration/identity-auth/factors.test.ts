import { jest } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { DomainError } from '../../../src/domain/errors.js';
import { settleNewPassword } from '../../../src/domain/passwords/new-password.js';
import { minutes } from '../../../src/platform/clock.js';
import { dbWithin } from '../../../src/platform/database/db-within.js';
import { createAuthenticator } from '../../support/authenticator.js';
import { apiOf, bearer } from '../../support/identity-auth.js';
import { lockWaits, untilWaiting } from '../../support/lock-waits.js';
import { enrollTotp, giveFactor, totpCode } from '../../support/mfa.js';
import type { TestEnvironment } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { tokensFor } from '../../support/oauth/tokens.js';
import { newOrganization, setPolicy } from '../../support/organizations.js';
import { newOther } from '../../support/other-environment.js';
import { giveKey } from '../../support/passkeys.js';
import { newOidcConnection } from '../../support/sso.js';
import { until } from '../../support/until.js';

const provider = await newProvider();
const api = apiOf(provider);
afterAll(() => provider.close());

type Headers = Record<string, string>;

async function signedIn(settings: Partial<EnvironmentSettings> = {}) {
  const place = await provider.newEnvironment(settings);
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  return { place, client, ana, as: bearer((await api.signedIn(client, ana)).access_token) };
}
/** Enrolls an app and confirms it with its first code. */
async function enrolled(as: Headers) {
  const begun = (await api.post('/mfa/totp/enroll', undefined, as)).json().data;
  const body = { enrollment_token: begun.enrollment_token, code: totpCode(begun.secret, provider.now()) };
  return { begun, body, answer: await api.post('/mfa/totp/confirm', body, as) };
}
/** Signs a person in with an app. */
async function withApp(settings: Partial<EnvironmentSettings> = {}) {
  const place = await provider.newEnvironment(settings);
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  const totp = await enrollTotp(provider, place, ana);
  const strong = async () => {
    const asked = await api.signedIn(client, ana, { acr_values: 'urn:gatehouse:aal2' });
    const answer = { challenge_token: asked.mfa_challenge.challenge_token, code: totp.code() };
    const { data } = (await api.post('/mfa/challenge/totp', answer)).json();
    provider.wait(30_000);
    return bearer(data.access_token);
  };
  return { place, client, ana, totp, strong, as: await strong() };
}
const refusalOf = ({ statusCode, json }: Awaited<ReturnType<typeof api.post>>) => [statusCode, json().error.code];
const summary = async (as: Headers) => (await api.get('/mfa/factors', as)).json().data;
const sessionOf = async (as: Headers) => (await api.get('/me', as)).json().data.session;
/** Changes the factor kinds that an Environment allows. */
async function allowOnly({ environmentId }: { environmentId: string }, kinds: string[]) {
  await provider.query('update environment_settings set mfa_allowed_factors = $2 where environment_id = $1', [
    environmentId,
    kinds,
  ]);
  provider.wait(2000); // a process caches a client's settings for a second
}

describe('an authenticator app', () => {
  test('is enrolled with its first code; the first factor brings ten recovery codes', async () => {
    const { ana, as } = await signedIn({ mfaPolicy: 'required' });
    const { begun, answer } = await enrolled(as);
    expect(decodeURIComponent(begun.otpauth_uri)).toContain(`Acme:${ana.email}?`);
    expect(begun).toEqual({
      enrollment_token: expect.any(String),
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      otpauth_uri: expect.stringMatching(/^otpauth:\/\/totp\/Acme:/),
      qr_svg: expect.stringMatching(/^<svg /),
    });
    expect(answer.statusCode).toBe(201);
    const { factor, recovery_codes: codes } = answer.json().data;
    expect(factor).toEqual({
      id: expect.any(String),
      type: 'totp',
      label: 'Authenticator app',
      enrolled_at: provider.now().toISOString(),
      last_used_at: provider.now().toISOString(),
      signs_in: false,
    });
    expect(codes).toHaveLength(10);
    expect(await summary(as)).toEqual({
      factors: [factor],
      recovery_codes_generation: 1,
      recovery_codes_remaining: 10,
      mfa_admin_reset_at: null,
    });
    const [event] = await provider.query<{ resource_id: string }>(
      `select resource_id from events where action = 'identity.mfa_enrolled' and resource_id = $1`,
      [ana.id],
    );
    expect(event).toBeDefined();
    const [grace] = await provider.query<{ status: string }>('select status from mfa_graces where identity_id = $1', [
      ana.id,
    ]);
    expect(grace?.status).toBe('enrolled');
  });

  test('is not enrolled by a wrong code, too late, twice, or for another person', async () => {
    const { as } = await signedIn();
    const { body, answer } = await enrolled(as);
    expect(answer.statusCode).toBe(201);
    expect(refusalOf(await api.post('/mfa/totp/confirm', body, as))).toEqual([409, 'mfa.already_enrolled']);

    const other = await signedIn();
    const foreign = await api.post('/mfa/totp/confirm', body, other.as);
    expect(refusalOf(foreign)).toEqual([400, 'mfa.enrollment_expired']);
    const begun = (await api.post('/mfa/totp/enroll', undefined, other.as)).json().data;
    const wrong = { enrollment_token: begun.enrollment_token, code: '000000' };
    expect(refusalOf(await api.post('/mfa/totp/confirm', wrong, other.as))).toEqual([401, 'mfa.code_invalid']);
    const forged = { ...body, enrollment_token: 'x' };
    expect(refusalOf(await api.post('/mfa/totp/confirm', forged, other.as))).toEqual([400, 'mfa.enrollment_expired']);
  });

  test('is not enrolled besides twenty others', async () => {
    const { as, ana } = await withApp();
    // The copies allow nobody to sign in: a secret is sealed for its own factor.
    await provider.query(
      `insert into mfa_factors select (jsonb_populate_record(f, jsonb_build_object('id', gen_random_uuid()))).*
       from mfa_factors f, generate_series(1, 19) where f.identity_id = $1`,
      [ana.id],
    );
    expect(refusalOf((await enrolled(as)).answer)).toEqual([409, 'mfa.too_many_factors']);
    await provider.query(
      'delete from mfa_factors where id in (select id from mfa_factors where identity_id = $1 order by id desc limit 1)',
      [ana.id],
    );
    expect((await enrolled(as)).answer.statusCode).toBe(201);
  });

  test('is not enrolled if the environment does not allow it', async () => {
    const { as } = await signedIn({ mfaAllowedFactors: ['webauthn'] });
    expect(refusalOf(await api.post('/mfa/totp/enroll', undefined, as))).toEqual([400, 'mfa.factor_not_allowed']);
    const keys = await signedIn({ mfaAllowedFactors: ['totp'] });
    const refused = await api.post('/mfa/webauthn/enroll/options', undefined, keys.as);
    expect(refusalOf(refused)).toEqual([400, 'mfa.factor_not_allowed']);
  });

  test('is not enrolled if the environment has ceased to allow it since the beginning', async () => {
    const { place, as } = await signedIn();
    const begun = (await api.post('/mfa/totp/enroll', undefined, as)).json().data;
    await allowOnly(place, ['webauthn']);
    const body = { enrollment_token: begun.enrollment_token, code: totpCode(begun.secret, provider.now()) };
    expect(refusalOf(await api.post('/mfa/totp/confirm', body, as))).toEqual([400, 'mfa.factor_not_allowed']);
    expect((await summary(as)).factors).toEqual([]);
  });

  test('is added once, if two first factors are confirmed at the same moment', async () => {
    const { place, ana, as } = await signedIn();
    const bodies: object[] = [];
    for (let i = 0; i < 2; i++) {
      const begun = (await api.post('/mfa/totp/enroll', undefined, as)).json().data;
      bodies.push({ enrollment_token: begun.enrollment_token, code: totpCode(begun.secret, provider.now()) });
    }
    const waiting = () => lockWaits(provider.database.ownerUrl, 'select from identities%');
    const answers: number[] = [];
    const confirm = async (body: object) => {
      answers.push((await api.post('/mfa/totp/confirm', body, as)).statusCode);
    };
    let confirmed: Promise<void>[] = [];
    await provider.db.transaction({ accountId: place.accountId }, async (tx) => {
      await tx.query('select from identities where id = $1 for update', [ana.id]);
      confirmed = bodies.map(confirm);
      const look = async () => (await waiting()) + answers.length === bodies.length;
      await until('both have found no factor and wait', look);
    });
    await Promise.all(confirmed);
    expect(answers.sort()).toEqual([201, 403]);
    expect((await summary(as)).factors).toHaveLength(1);
  });

  test('makes the session that enrolled it first a two-factor session', async () => {
    const { as } = await signedIn();
    const { answer } = await enrolled(as);
    expect((await api.get('/me', as)).json().data.session).toMatchObject({
      amr: ['pwd', 'otp', 'mfa'],
      acr: 'urn:gatehouse:aal2',
    });
    const { id } = answer.json().data.factor;
    expect((await api.delete(`/mfa/factors/${id}`, as)).statusCode).toBe(204);
  });

  test('can be enrolled again with its Idempotency-Key, which shows the same codes again', async () => {
    const { as } = await signedIn();
    const begun = (await api.post('/mfa/totp/enroll', undefined, as)).json().data;
    const body = { enrollment_token: begun.enrollment_token, code: totpCode(begun.secret, provider.now()) };
    const keyed = { ...as, 'idempotency-key': 'one' };
    const first = await api.post('/mfa/totp/confirm', body, keyed);
    const again = await api.post('/mfa/totp/confirm', body, keyed);
    expect([first.statusCode, again.statusCode]).toEqual([201, 201]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.json()).toEqual(first.json());
    const [kept] = await provider.query<{ sealed: string }>('select body_sealed as sealed from idempotent_requests');
    expect(kept?.sealed).not.toContain(first.json().data.recovery_codes[0]);
  });

  test('is not shown again by that key to a session that could not have it', async () => {
    const { client, ana, as } = await withApp({ mfaPolicy: 'off' });
    const renew = (by: Headers) => api.post('/mfa/recovery-codes', undefined, { ...by, 'idempotency-key': 'codes' });
    const first = await renew(as);
    expect(first.statusCode).toBe(201);
    const byPassword = bearer((await api.signedIn(client, ana)).access_token);
    expect(refusalOf(await renew(byPassword))).toEqual([403, 'auth.reauthentication_required']);
    expect((await renew(as)).json()).toEqual(first.json());
    provider.wait(minutes(10));
    expect(refusalOf(await renew(as))).toEqual([403, 'auth.reauthentication_required']);
  });
});

test('a first factor is added by a recent sign-in, not by a token alone', async () => {
  const { place, client, ana, as } = await signedIn();
  const begun = (await api.post('/mfa/totp/enroll', undefined, as)).json().data;
  provider.wait(minutes(10));
  const body = { enrollment_token: begun.enrollment_token, code: totpCode(begun.secret, provider.now()) };
  for (const [path, sent] of [
    ['/mfa/totp/enroll'],
    ['/mfa/totp/confirm', body],
    ['/mfa/webauthn/enroll/options'],
    ['/mfa/webauthn/enroll/verify', { enrollment_token: 'x', response: {} }],
  ] as [string, object?][])
    expect([path, refusalOf(await api.post(path, sent, as))]).toEqual([path, [403, 'auth.reauthentication_required']]);
  expect((await summary(as)).factors).toEqual([]);
  // A person whose grace still runs signs in again to enroll.
  await provider.query(`update environment_settings set mfa_policy = 'required' where environment_id = $1`, [
    place.environmentId,
  ]);
  provider.wait(2000);
  const pending = await api.signedIn(client, ana);
  expect(pending.mfa_enrollment_pending).toBe(true);
  expect((await enrolled(bearer(pending.access_token))).answer.statusCode).toBe(201);
});

test('a factor can be renamed in any session of its person, and in nobody else’s', async () => {
  const { place, client, ana } = await withApp({ mfaPolicy: 'off' });
  const plain = bearer((await api.signedIn(client, ana)).access_token);
  const [{ id }] = (await summary(plain)).factors;
  const renamed = await api.patch(`/mfa/factors/${id}`, { label: ' Ana’s telephone ' }, plain);
  expect([renamed.statusCode, renamed.json().data]).toEqual([
    200,
    expect.objectContaining({ id, label: 'Ana’s telephone' }),
  ]);
  await api.patch(`/mfa/factors/${id}`, { label: 'Ana’s telephone' }, plain);
  expect((await summary(plain)).factors).toMatchObject([{ id, label: 'Ana’s telephone' }]);
  const events = await provider.query<{ metadata: object }>(
    `select metadata from events where action = 'auth.mfa_renamed' and actor_id = $1`,
    [ana.id],
  );
  expect(events).toEqual([{ metadata: { factor_id: id, factor: 'totp' } }]);
  const ben = bearer((await api.signedIn(client, await place.newIdentity())).access_token);
  expect(refusalOf(await api.patch(`/mfa/factors/${id}`, { label: 'Mine' }, ben))).toEqual([
    404,
    'mfa.factor_not_found',
  ]);
  for (const label of ['', 'a\nb', 'x'.repeat(101)])
    expect(refusalOf(await api.patch(`/mfa/factors/${id}`, { label }, plain))).toEqual([400, 'validation.failed']);
});

test('a test environment changes no factors of a person who is in production', async () => {
  const { place, client, ana, totp, as } = await withApp({ mfaPolicy: 'off' });
  const production = await newOther(provider, place, { type: 'production' });
  await production.join(ana.id);
  const [{ id }] = (await summary(as)).factors;
  const refused = [403, 'identity.in_production'];
  expect(refusalOf(await api.post('/mfa/totp/enroll', undefined, as))).toEqual(refused);
  expect(refusalOf(await api.post('/mfa/webauthn/enroll/options', undefined, as))).toEqual(refused);
  expect(refusalOf(await api.delete(`/mfa/factors/${id}`, as))).toEqual(refused);
  expect(refusalOf(await api.patch(`/mfa/factors/${id}`, { label: 'Mine' }, as))).toEqual(refused);
  expect(refusalOf(await api.post('/mfa/recovery-codes', undefined, as))).toEqual(refused);
  const asked = await api.signedIn(production.client, ana, { acr_values: 'urn:gatehouse:aal2' });
  const answer = { challenge_token: asked.mfa_challenge.challenge_token, code: totp.code() };
  const there = bearer((await api.post('/mfa/challenge/totp', answer)).json().data.access_token);
  expect((await api.post('/mfa/recovery-codes', undefined, there)).statusCode).toBe(201);
  expect(
    refusalOf(await api.post('/mfa/totp/enroll', undefined, bearer((await api.signedIn(client, ana)).access_token))),
  ).toEqual(refused);
});

describe('a person who has a factor', () => {
  const changes: [string, (as: Headers, id: string) => ReturnType<typeof api.post>][] = [
    ['adds no app', (as) => api.post('/mfa/totp/enroll', undefined, as)],
    ['adds no key', (as) => api.post('/mfa/webauthn/enroll/options', undefined, as)],
    ['removes no factor', (as, id) => api.delete(`/mfa/factors/${id}`, as)],
    ['makes no recovery codes', (as) => api.post('/mfa/recovery-codes', undefined, as)],
  ];

  test.each(changes)('%s by a sign-in with the password alone, or older than ten minutes', async (_, change) => {
    const { client, ana, as } = await withApp({ mfaPolicy: 'off' });
    const [{ id }] = (await summary(as)).factors;
    const weak = bearer((await api.signedIn(client, ana)).access_token);
    expect(refusalOf(await change(weak, id))).toEqual([403, 'auth.reauthentication_required']);
    provider.wait(minutes(10));
    expect(refusalOf(await change(as, id))).toEqual([403, 'auth.reauthentication_required']);
  });

  test.each(changes)('%s by an identity provider that reports two factors', async (_, change) => {
    const { place, as } = await withApp({ mfaPolicy: 'off' });
    const [{ id }] = (await summary(as)).factors;
    const nowhere = { issuer: 'https://idp.example', clientId: 'gatehouse', clientSecret: 'secret' };
    const connection = await newOidcConnection(provider, place, nowhere);
    const said = (own: Date | null) =>
      provider.query('update sessions set sso_connection_id = $2, own_factor_at = $3 where environment_id = $1', [
        place.environmentId,
        connection.id,
        own,
      ]);
    await said(null);
    expect(refusalOf(await change(as, id))).toEqual([403, 'auth.reauthentication_required']);
    await said(provider.now());
    expect((await change(as, id)).statusCode).toBeLessThan(300);
  });

  test('cannot add another in a session whose provider reports `otp`: that was no mailed code of ours', async () => {
    const { place, client, ana } = await signedIn({ mfaPolicy: 'off' });
    await giveFactor(provider, place, ana.id, { id: uuidv7(), type: 'email_otp', label: 'Email' });
    const as = bearer((await api.signedIn(client, ana)).access_token);
    const nowhere = { issuer: 'https://idp.example', clientId: 'gatehouse', clientSecret: 'secret' };
    const { id } = await newOidcConnection(provider, place, nowhere);
    const add = () => api.post('/mfa/totp/enroll', undefined, as);
    const say = (own: Date | null, by: string | null) =>
      provider.query(
        `update sessions set sso_connection_id = $2, own_factor_at = $3, amr = '{otp}' where environment_id = $1`,
        [place.environmentId, by, own],
      );
    await say(null, id);
    expect(refusalOf(await add())).toEqual([403, 'auth.reauthentication_required']);
    for (const [own, by] of [[provider.now(), id] as const, [null, null] as const]) {
      await say(own, by);
      expect((await add()).statusCode).toBe(200);
    }
  });

  test('cannot change factors either if the environment does not allow the person’s factor', async () => {
    const { place, client, ana, as } = await withApp({ mfaPolicy: 'off' });
    const [{ id }] = (await summary(as)).factors;
    await allowOnly(place, ['email_otp']);
    const weak = bearer((await api.signedIn(client, ana)).access_token);
    expect(refusalOf(await api.delete(`/mfa/factors/${id}`, weak))).toEqual([403, 'auth.reauthentication_required']);
  });

  test('uses a mailed code first, if that is their only factor', async () => {
    const place = await provider.newEnvironment({ mfaPolicy: 'optional' });
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const before = bearer((await api.signedIn(client, ana)).access_token);
    const factor = { id: uuidv7(), type: 'email_otp', label: 'Email' } as const;
    await giveFactor(provider, place, ana.id, factor);
    for (const [, change] of changes) {
      expect(refusalOf(await change(before, factor.id))).toEqual([403, 'auth.reauthentication_required']);
    }
    const { mfa_challenge: challenge } = await api.signedIn(client, ana);
    const ask = { challenge_token: challenge.challenge_token };
    await api.post('/mfa/challenge/email-otp/send', ask);
    const code = await provider.mailedCode('mfa');
    const { data } = (await api.post('/mfa/challenge/email-otp', { ...ask, code })).json();
    const shown = bearer(data.access_token);
    expect((await enrolled(shown)).answer.statusCode).toBe(201);
    expect((await sessionOf(shown)).acr).toBe('urn:gatehouse:aal1'); // the code was the second factor, not the app
  });

  test('renews no recovery codes if the environment does not allow them', async () => {
    const { place, as } = await withApp();
    await allowOnly(place, ['totp', 'webauthn']);
    const refused = await api.post('/mfa/recovery-codes', undefined, as);
    expect(refusalOf(refused)).toEqual([400, 'mfa.factor_not_allowed']);
    expect(await summary(as)).toMatchObject({ recovery_codes_generation: 1 });
  });

  test('gets a mail when an administrator has reset the factors', async () => {
    const { ana, as } = await withApp();
    const at = new Date('2026-02-03T04:05:06Z');
    await provider.query('update identities set mfa_admin_reset_at = $2 where id = $1', [ana.id, at]);
    expect((await summary(as)).mfa_admin_reset_at).toBe(at.toISOString());
  });

  test('adds another, removes it, and renews codes by a recent sign-in with it', async () => {
    const { as, ana, totp } = await withApp({ mfaPolicy: 'required' });
    const { answer } = await enrolled(as);
    expect([answer.statusCode, answer.json().data.recovery_codes]).toEqual([201, null]);
    const { factors } = await summary(as);
    expect(factors).toHaveLength(2);
    const key = createAuthenticator({ origin: provider.baseUrl });
    const begun = (await api.post('/mfa/webauthn/enroll/options', undefined, as)).json().data;
    expect(begun.options).toMatchObject({
      rp: { id: 'localhost', name: 'Shop' },
      user: { name: ana.email, displayName: 'Ana Arendt' },
    });
    const proof = { enrollment_token: begun.enrollment_token, response: key.create(begun.options) };
    const overload = new DomainError('service.unavailable');
    const failing = jest.spyOn(provider.logins.factors, 'enroll').mockRejectedValueOnce(overload);
    expect((await api.post('/mfa/webauthn/enroll/verify', proof, as)).statusCode).toBe(503);
    failing.mockRestore();
    const added = await api.post('/mfa/webauthn/enroll/verify', proof, as); // the same answer works once more
    expect([added.statusCode, added.json().data.recovery_codes]).toEqual([201, null]);
    expect((await summary(as)).factors[2]).toEqual(added.json().data.factor);
    expect((await api.delete(`/mfa/factors/${added.json().data.factor.id}`, as)).statusCode).toBe(204);
    expect((await sessionOf(as)).amr).toEqual(['pwd', 'otp', 'mfa']); // as at the sign-in
    const renewed = await api.post('/mfa/recovery-codes', undefined, as);
    expect([renewed.statusCode, renewed.json().data.recovery_codes.length]).toEqual([201, 10]);
    expect(renewed.json().data.recovery_codes).not.toEqual(totp.recoveryCodes);
    expect(await summary(as)).toMatchObject({ recovery_codes_generation: 2, recovery_codes_remaining: 10 });
    expect((await api.delete(`/mfa/factors/${factors[1].id}`, as)).statusCode).toBe(204);
    expect((await api.delete(`/mfa/factors/${factors[1].id}`, as)).statusCode).toBe(404);
    const last = await api.delete(`/mfa/factors/${factors[0].id}`, as);
    expect(refusalOf(last)).toEqual([409, 'mfa.last_factor']);
    expect((await summary(as)).factors).toHaveLength(1);
  });

  test('can remove the last one if none is required, and its recovery codes with it', async () => {
    const { as, client, ana } = await withApp({ mfaPolicy: 'optional' });
    const [{ id }] = (await summary(as)).factors;
    expect((await api.delete(`/mfa/factors/${id}`, as)).statusCode).toBe(204);
    expect(await summary(as)).toMatchObject({ factors: [], recovery_codes_remaining: 0 });
    expect(await api.signedIn(client, ana)).toMatchObject({ requires_mfa_challenge: false });
    expect(refusalOf(await api.post('/mfa/recovery-codes', undefined, as))).toEqual([409, 'mfa.not_enrolled']);
  });

  test('keeps the last one as long as their organization requires one', async () => {
    const { as, ana, place } = await withApp({ mfaPolicy: 'optional' });
    const organization = await newOrganization(provider, place, { policy: { require_mfa: true }, members: [ana] });
    const path = `/mfa/factors/${(await summary(as)).factors[0].id}`;
    expect(refusalOf(await api.delete(path, as))).toEqual([409, 'mfa.last_factor']);
    await setPolicy(provider, organization, { require_mfa: false });
    expect((await api.delete(path, as)).statusCode).toBe(204);
  });

  test('does not see or remove another person’s', async () => {
    const [ana, ben] = [await withApp(), await withApp()];
    const [{ id }] = (await summary(ben.as)).factors;
    expect(refusalOf(await api.delete(`/mfa/factors/${id}`, ana.as))).toEqual([404, 'mfa.factor_not_found']);
    expect((await summary(ben.as)).factors).toHaveLength(1);
  });

  test('can change the password only in a session with it', async () => {
    const { client, ana, as } = await withApp({ mfaPolicy: 'off' });
    const body = { current_password: 'correct horse battery', new_password: 'another long password' };
    const weak = bearer((await api.signedIn(client, ana)).access_token);
    expect(refusalOf(await api.put('/password', body, weak))).toEqual([403, 'auth.reauthentication_required']);
    provider.wait(minutes(11));
    expect((await api.put('/password', body, as)).statusCode).toBe(200); // the password has just been proved
  });
});

describe('a change that is under way', () => {
  /** Has a request see the previous state, and wait until the other request has finished. */
  async function afterIt<T>(
    { place, ana }: { place: TestEnvironment; ana: { id: string } },
    request: () => Promise<T>,
    other: (tx: EntityManager) => Promise<unknown>,
  ): Promise<T> {
    let answer: Promise<T> | undefined;
    await provider.db.transaction({ accountId: place.accountId }, async (tx) => {
      await tx.query('select from identities where id = $1 for update', [ana.id]);
      answer = request();
      await untilWaiting(provider.database.ownerUrl, 1, 'select from identities%');
      await other(tx);
    });
    return answer as Promise<T>;
  }
  /** Resets the password as the link of a mail does. */
  const resetPassword =
    ({ accountId, applicationId, environmentId }: TestEnvironment, { id: identityId }: { id: string }) =>
    (tx: EntityManager) =>
      settleNewPassword(
        tx,
        { accountId, applicationId, environmentId, identityId, membershipId: null },
        { passwordHash: null, method: 'reset_link', provesEmail: true, now: provider.now() },
      );
  const kept = async ({ id }: { id: string }) => {
    const [row] = await provider.query<{ factors: string[] | null; generation: number; codes: number }>(
      `select (select array_agg(id) from mfa_factors where identity_id = i.id) as factors, recovery_codes_generation as generation,
         (select count(*)::int from recovery_codes where identity_id = i.id) as codes from identities i where id = $1`,
      [id],
    );
    return row;
  };
  async function confirming(as: Headers) {
    const begun = (await api.post('/mfa/totp/enroll', undefined, as)).json().data;
    const body = { enrollment_token: begun.enrollment_token, code: totpCode(begun.secret, provider.now()) };
    return () => api.post('/mfa/totp/confirm', body, as);
  }

  test('of a first factor adds none once the owner has set a new password, which ended the session', async () => {
    const { place, ana, as } = await signedIn();
    const answer = await afterIt({ place, ana }, await confirming(as), resetPassword(place, ana));
    expect(refusalOf(answer)).toEqual([401, null]);
    expect(await kept(ana)).toEqual({ factors: null, generation: 0, codes: 0 });
  });

  test.each<[string, (as: Headers, id: string) => Promise<() => ReturnType<typeof api.post>>]>([
    ['another factor', (as) => confirming(as)],
    ['the removal of a factor', async (as, id) => () => api.delete(`/mfa/factors/${id}`, as)],
    ['new recovery codes', async (as) => () => api.post('/mfa/recovery-codes', undefined, as)],
  ])('of %s changes nothing either once the owner has set a new password', async (_, begin) => {
    const { place, ana, as } = await withApp({ mfaPolicy: 'optional' });
    const before = await kept(ana);
    const request = await begin(as, before?.factors?.[0] ?? '');
    expect(refusalOf(await afterIt({ place, ana }, request, resetPassword(place, ana)))).toEqual([401, null]);
    expect(await kept(ana)).toEqual(before);
  });

  test('adds no second factor if another one was added while it ran and the session has not used that one', async () => {
    const place = await provider.newEnvironment({ mfaPolicy: 'optional' });
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const mailbox = { id: uuidv7(), type: 'email_otp', label: 'Email' } as const;
    await giveFactor(provider, place, ana.id, mailbox);
    const { mfa_challenge: challenge } = await api.signedIn(client, ana);
    const ask = { challenge_token: challenge.challenge_token };
    await api.post('/mfa/challenge/email-otp/send', ask);
    const shown = { ...ask, code: await provider.mailedCode('mfa') };
    const as = bearer((await api.post('/mfa/challenge/email-otp', shown)).json().data.access_token);
    const key = createAuthenticator({ origin: provider.baseUrl });
    const own = { ...place, id: ana.id, email: ana.email };
    const answer = await afterIt({ place, ana }, await confirming(as), (tx) =>
      giveKey({ db: dbWithin(tx), logins: provider.logins, now: provider.now }, own, key),
    );
    expect(refusalOf(answer)).toEqual([403, 'auth.reauthentication_required']);
    expect((await summary(as)).factors.map(({ type }: { type: string }) => type).sort()).toEqual([
      'email_otp',
      'webauthn',
    ]);
  });

  test('does not renew recovery codes after an administrator has reset the factors, and asks for no factor', async () => {
    const { place, client, ana, as } = await withApp({ mfaPolicy: 'required' });
    const { accountId, applicationId, environmentId } = place;
    const waiting = (count: number) => untilWaiting(provider.database.ownerUrl, count);
    let both: [Promise<unknown>, ReturnType<typeof api.post>] | undefined;
    await provider.db.transaction({ accountId }, async (tx) => {
      await tx.query('select from identities where id = $1 for update', [ana.id]);
      const reset = provider.logins.mfaReset({ accountId, applicationId, environmentId }, ana.id);
      await waiting(1);
      both = [reset, api.post('/mfa/recovery-codes', undefined, as)];
      await waiting(2);
    });
    const [, answer] = await Promise.all(both!);
    expect(refusalOf(answer)).toEqual([409, 'mfa.not_enrolled']);
    expect(await kept(ana)).toEqual({ factors: null, generation: 1, codes: 0 });
    expect(await api.signedIn(client, ana)).toMatchObject({
      requires_mfa_challenge: false,
      mfa_enrollment_pending: true,
    });
  });
});

test('an enrollment stores neither a secret nor a factor until it is confirmed', async () => {
  const { as, ana } = await signedIn();
  await api.post('/mfa/totp/enroll', undefined, as);
  const rows = await provider.query('select from mfa_factors where identity_id = $1', [ana.id]);
  expect(rows).toHaveLength(0);
});

test('a token of the hosted login works here as well', async () => {
  const { client, ana } = await signedIn();
  const { access_token: token } = await tokensFor(provider.browser(), client, ana.email);
  expect((await enrolled(bearer(token))).answer.statusCode).toBe(201);
});
