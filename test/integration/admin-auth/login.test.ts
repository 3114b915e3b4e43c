import argon2 from 'argon2';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { Event } from '../../../entities/event.js';
import { User } from '../../../entities/user.js';
import { UserSession } from '../../../entities/user-session.js';
import { DomainError } from '../../../src/domain/errors.js';
import { minutes } from '../../../src/platform/clock.js';
import { eventsRecorded } from '../../../src/platform/metrics/metrics.js';
import { type AdminAuth, bearer, cookieOf, newAdminAuth } from '../../support/admin-auth.js';
import { expectEqualTimes } from '../../support/equal-times.js';
import { until } from '../../support/until.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

const sessionsOf = (userId: string) => auth.db.transaction('system', (tx) => tx.findBy(UserSession, { userId }));
const withoutTime = (body: { error: object }) => ({ ...body.error, timestamp: null });

describe('outcomes', () => {
  test('one application: signed in, bound to it', async () => {
    const ana = await auth.addUser();
    const [{ account, applications }] = ana.accounts as [(typeof ana.accounts)[number]];
    const answer = await auth.post('/login', { email: ana.email, password: ana.password }, { 'user-agent': 'Firefox' });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      data: {
        outcome: 'authenticated',
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 900,
        user: { id: ana.id, email: ana.email, first_name: 'Ana', last_name: 'Brandt' },
        account: { id: account.id, name: account.name, slug: account.slug },
        application: { id: applications[0]?.id, name: 'App 0', slug: applications[0]?.slug },
        mfa_enrollment_required: false,
      },
    });
    const token = answer.json().data.access_token;
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', typ: 'at+jwt' });
    const [session] = await sessionsOf(ana.id);
    const claims = decodeJwt(token);
    expect(claims).toEqual({
      iss: 'http://localhost:3000',
      sub: ana.id,
      aud: 'http://localhost:3000',
      client_id: 'gatehouse-portal',
      iat: expect.any(Number),
      exp: (claims.iat as number) + 900,
      jti: expect.any(String),
      scope: 'portal',
      sid: session?.id,
      auth_time: expect.any(Number),
      acr: 'urn:gatehouse:aal1',
      amr: ['pwd'],
      principal_type: 'platform_admin',
      account_id: account.id,
      application_id: applications[0]?.id,
    });
    expect(session).toMatchObject({ accountId: account.id, ipAddress: '127.0.0.1', userAgent: 'Firefox' });
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('the case of the address does not matter', async () => {
    const ana = await auth.addUser();
    const answer = await auth.post('/login', { email: ana.email.toUpperCase(), password: ana.password });
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data.user.email).toBe(ana.email);
  });

  test('several applications: the person chooses, once', async () => {
    const ana = await auth.addUser({ accounts: [2, 1] });
    const answer = await auth.post('/login', { email: ana.email, password: ana.password });
    const { data } = answer.json();
    expect(answer.statusCode).toBe(200);
    expect(Object.keys(data).sort()).toEqual(['applications', 'outcome', 'selection_token']);
    expect(data.outcome).toBe('application_selection_required');
    expect(data.applications).toHaveLength(3);
    expect(data.applications[0]).toEqual({
      id: expect.any(String),
      name: 'App 0',
      slug: expect.any(String),
      account: { id: ana.accounts[0]?.account.id, name: 'Account 0', slug: ana.accounts[0]?.account.slug },
    });
    expect(answer.cookies).toEqual([]);
    expect(await sessionsOf(ana.id)).toEqual([]);

    const wanted = ana.accounts[1]?.applications[0]?.id;
    const choice = { selection_token: data.selection_token, application_id: wanted };
    const chosen = await auth.post('/select-application', choice);
    expect(chosen.statusCode).toBe(200);
    expect(chosen.json().data.application.id).toBe(wanted);
    expect(chosen.json().data.account.id).toBe(ana.accounts[1]?.account.id);
    expect(cookieOf(chosen).value).not.toBe('');

    const again = await auth.post('/select-application', choice);
    expect(again.statusCode).toBe(401);
    expect(await sessionsOf(ana.id)).toHaveLength(1);
  });

  test('a selection token is valid for five minutes, for its own user’s applications, and for nothing else', async () => {
    const [ana, ben] = [await auth.addUser({ accounts: [2] }), await auth.addUser()];
    const { data } = (await auth.post('/login', { email: ana.email, password: ana.password })).json();
    const application_id = ana.accounts[0]?.applications[0]?.id;

    const foreign = { selection_token: data.selection_token, application_id: ben.accounts[0]?.applications[0]?.id };
    expect((await auth.post('/select-application', foreign)).json().error.code).toBe('application.not_found');
    expect((await auth.get('/me', bearer(data.selection_token))).statusCode).toBe(401);
    for (const selection_token of ['', 'x', 'test.', `${data.selection_token.slice(0, -2)}AA`, 'a.b.c']) {
      expect((await auth.post('/select-application', { selection_token, application_id })).statusCode).toBe(401);
    }
    // Another sealed value of ours is no selection token.
    const other = auth.sealing.seal(JSON.stringify({ userId: ana.id }), 'signing-key/1');
    expect((await auth.post('/select-application', { selection_token: other, application_id })).statusCode).toBe(401);

    auth.pass(minutes(5));
    const late = await auth.post('/select-application', { selection_token: data.selection_token, application_id });
    expect(late.statusCode).toBe(401);
  });

  test('application_id selects at once; an application that is not the person’s leads to the choice', async () => {
    const [ana, ben] = [await auth.addUser({ accounts: [3] }), await auth.addUser()];
    const wanted = ana.accounts[0]?.applications[2]?.id;
    const credentials = { email: ana.email, password: ana.password };
    const answer = await auth.post('/login', { ...credentials, application_id: wanted });
    expect(answer.json().data).toMatchObject({ outcome: 'authenticated', application: { id: wanted } });
    const foreign = ben.accounts[0]?.applications[0]?.id;
    const other = await auth.post('/login', { ...credentials, application_id: foreign });
    expect(other.json().data.outcome).toBe('application_selection_required');
    const single = { email: ben.email, password: ben.password, application_id: wanted };
    expect((await auth.post('/login', single)).json().data).toMatchObject({
      outcome: 'application_selection_required',
      applications: [{ id: foreign }],
    });
  });

  test('a user without an account is signed in all the same, bound to nothing', async () => {
    const ana = await auth.addUser({ accounts: [] });
    const answer = await auth.post('/login', { email: ana.email, password: ana.password });
    const { data } = answer.json();
    expect(data).toMatchObject({ outcome: 'account_required', account: null, application: null });
    expect(decodeJwt(data.access_token)).not.toHaveProperty('account_id');
    const me = await auth.get('/me', bearer(data.access_token));
    expect(me.json().data).toMatchObject({ user: { id: ana.id }, accounts: [], account: null, application: null });
  });

  test('a user whose account has no applications is bound to the account', async () => {
    const ana = await auth.addUser({ accounts: [0] });
    const application_id = ana.id; // ignored: there is nothing to choose
    const answer = await auth.post('/login', { email: ana.email, password: ana.password, application_id });
    expect(answer.json().data).toMatchObject({
      outcome: 'authenticated',
      account: { id: ana.accounts[0]?.account.id },
      application: null,
    });
  });
});

describe('a refusal', () => {
  test('is the same for a wrong password, an unknown address and a user without a password', async () => {
    const [ana, sso] = [await auth.addUser(), await auth.addUser({ password: null })];
    const answers = await Promise.all([
      auth.post('/login', { email: ana.email, password: 'wrong horse' }),
      auth.post('/login', { email: 'nobody@example.com', password: ana.password }),
      auth.post('/login', { email: sso.email, password: 'violet tractor 19' }),
      auth.post('/login', { email: sso.email, password: '' }),
    ]);
    for (const answer of answers) {
      expect(answer.statusCode).toBe(401);
      expect(answer.json().error).toMatchObject({
        statusCode: 401,
        code: null,
        path: '/v1/auth/login',
        method: 'POST',
      });
      expect(withoutTime(answer.json())).toEqual(withoutTime((answers[0] as (typeof answers)[0]).json()));
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(answer.cookies).toEqual([]);
      expect(Object.keys(answer.headers).sort()).toEqual(Object.keys((answers[0] as typeof answer).headers).sort());
    }
  });

  test('is an event that names the user, never the address', async () => {
    const ana = await auth.addUser();
    await auth.post('/login', { email: ana.email, password: 'wrong horse' });
    await auth.post('/login', { email: 'nobody-at-all@example.com', password: 'wrong horse' });
    await auth.post('/login', { email: ana.email, password: ana.password });
    const events = await auth.db.transaction('system', (tx) => tx.findBy(Event, { resourceId: ana.id }));
    expect(events.map(({ action, outcome }) => [action, outcome])).toEqual(
      expect.arrayContaining([
        ['auth.admin_sign_in_failed', 'failure'],
        ['auth.admin_signed_in', 'success'],
      ]),
    );
    const all = await auth.db.transaction('system', (tx) => tx.find(Event));
    expect(JSON.stringify(all)).not.toContain('nobody-at-all');
    expect(JSON.stringify(all)).not.toContain(ana.email);
    expect(all.some(({ action, resourceId }) => action === 'auth.admin_sign_in_failed' && resourceId === null)).toBe(
      true,
    );
  });

  test('is in the audit log of each Account of the person, and counted once', async () => {
    const ana = await auth.addUser({ accounts: [1, 1] });
    const counted = async () => {
      const { values } = await eventsRecorded.get();
      return values.find(({ labels }) => labels.action === 'auth.admin_sign_in_failed')?.value ?? 0;
    };
    const before = await counted();
    await auth.post('/login', { email: ana.email, password: 'wrong horse' });
    const where = { resourceId: ana.id, action: 'auth.admin_sign_in_failed' };
    const events = await auth.db.transaction('system', (tx) => tx.findBy(Event, where));
    expect(events.map(({ accountId }) => accountId).sort()).toEqual(
      ana.accounts.map(({ account }) => account.id).sort(),
    );
    expect(events.every(({ customerVisible }) => customerVisible)).toBe(true);
    expect(await counted()).toBe(before + 1);
  });

  test('takes as long for an unknown address as for a wrong password', async () => {
    const ana = await auth.addUser();
    const refused = async (email: string) => {
      expect((await auth.post('/login', { email, password: 'wrong horse' })).statusCode).toBe(401);
    };
    let i = 0;
    await expectEqualTimes(
      () => refused(ana.email),
      () => refused(`unknown-${i++}@example.com`),
    );
  });
});

test('a hash of weaker parameters is replaced after the next sign-in, which does not wait for it', async () => {
  const ana = await auth.addUser();
  const weak = await argon2.hash(ana.password, { memoryCost: 1024, timeCost: 1, parallelism: 1 });
  await auth.db.transaction('system', (tx) => tx.update(User, { id: ana.id }, { passwordHash: weak }));
  const signIn = async () => (await auth.post('/login', { email: ana.email, password: ana.password })).statusCode;
  const full = jest.spyOn(auth.passwords, 'hash').mockRejectedValueOnce(new DomainError('service.unavailable'));
  expect(await signIn()).toBe(200);
  expect(full).toHaveBeenCalledTimes(1);
  full.mockRestore();
  expect(await signIn()).toBe(200);
  await until('the hash is replaced', async () => {
    const { passwordHash } = await auth.db.transaction('system', (tx) => tx.findOneByOrFail(User, { id: ana.id }));
    return /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/.test(passwordHash ?? '');
  });
  expect(await signIn()).toBe(200);
});
