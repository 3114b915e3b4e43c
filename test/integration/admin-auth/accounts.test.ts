import { decodeJwt } from 'jose';
import type { Repository } from 'typeorm';
import { AccountIntent } from '../../../entities/account-intent.js';
import { Email } from '../../../entities/email.js';
import { Event } from '../../../entities/event.js';
import { OutboxMessage } from '../../../entities/outbox-message.js';
import { PasswordLink } from '../../../entities/password-link.js';
import { UserSession } from '../../../entities/user-session.js';
import { hours } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, cookieHeader, cookieOf, newAdminAuth } from '../../support/admin-auth.js';
import { ageKeys } from '../../support/age-keys.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

const names = (more: object = {}) => ({ account_name: ' Northwind Trading ', application_name: 'Shop', ...more });
/** Signs a user in; returns the user and the headers of their calls. */
async function signedIn(more: Parameters<AdminAuth['addUser']>[0] = {}, at = auth) {
  const user = await at.addUser(more);
  const session = await at.sessionOf(user.id);
  return { user, session, headers: bearer(session.accessToken) };
}
const intentsOf = (userId: string, at = auth) =>
  at.db.transaction('system', (tx) => tx.find(AccountIntent, { where: { userId }, order: { id: 'asc' } }));
const accountsOf = async (headers: Record<string, string>, at = auth) =>
  (await at.get('/me', headers)).json().data.accounts as { name: string; slug: string }[];
const outcome = ({ statusCode, body }: { statusCode: number; body: string }) =>
  `${statusCode} ${body ? JSON.parse(body).error?.code : ''}`;

test('a user creates a whole account, and gets a session of it', async () => {
  const { user, session, headers } = await signedIn();
  const answer = await auth.post('/accounts', names(), headers);
  expect(answer.statusCode).toBe(201);
  expect(answer.json()).toEqual({
    data: {
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 900,
      user: { id: user.id, email: user.email, first_name: 'Ana', last_name: 'Brandt' },
      account: { id: expect.any(String), name: 'Northwind Trading', slug: 'northwind-trading' },
      application: { id: expect.any(String), name: 'Shop', slug: 'shop' },
      mfa_enrollment_required: false,
    },
  });
  const { access_token, account, application } = answer.json().data;
  const claims = decodeJwt(access_token);
  expect(claims).toMatchObject({ sub: user.id, account_id: account.id, application_id: application.id, amr: ['pwd'] });
  expect(claims.auth_time).toBe(decodeJwt(session.accessToken).auth_time); // nothing was authenticated again
  expect(answer.cookies.map(({ name }) => name)).toEqual(['admin_refresh', 'admin_session']);
  const me = await auth.get('/me', bearer(access_token));
  expect(me.json().data.account).toEqual(account);
  expect(me.json().data.accounts).toContainEqual(
    expect.objectContaining({ roles: [expect.objectContaining({ name: 'Owner' })] }),
  );
  expect((await auth.get('/me', headers)).statusCode).toBe(200); // the session of the request goes on
  expect((await auth.post('/refresh', undefined, cookieHeader(answer))).statusCode).toBe(200);
  const [event] = await auth.db.transaction('system', (tx) =>
    tx.findBy(Event, { action: 'account.created', accountId: account.id }),
  );
  expect(event).toMatchObject({ actorType: 'platform_admin', actorId: user.id });
});

test('an account’s short name is the requested one, or 409 if it is taken; without a request a free one is found', async () => {
  const { headers } = await signedIn();
  const asked = await auth.post('/accounts', names({ account_slug: 'asked-for' }), headers);
  expect(asked.json().data.account.slug).toBe('asked-for');
  expect(outcome(await auth.post('/accounts', names({ account_slug: 'asked-for' }), headers))).toBe(
    '409 account.slug_taken',
  );
  const twice = [await auth.post('/accounts', names(), headers), await auth.post('/accounts', names(), headers)];
  expect(new Set(twice.map((one) => one.json().data.account.slug)).size).toBe(2);
});

test.each([
  [{}],
  [{ account_name: '', application_name: 'x' }],
  [{ account_name: 'x', application_name: '  ' }],
  [{ account_name: 'x', application_name: 'y', account_slug: 'Not A Slug' }],
  [{ account_name: 'x', application_name: 'y', account_slug: null }],
  [{ account_name: 'x', application_name: 'y', plan: 'free' }],
  [{ account_name: 'x\u0000', application_name: 'y' }],
  [{ account_name: 7, application_name: 'y' }],
])('%j is 400', async (body) => {
  const { headers } = await signedIn();
  expect(outcome(await auth.post('/accounts', body, headers))).toBe('400 validation.failed');
});

describe('a caller who is no signed-in admin', () => {
  const calls: [string, () => { method: 'GET' | 'POST' | 'DELETE' | 'PUT'; url: string; payload?: object }][] = [
    ['creates', () => ({ method: 'POST', url: '/v1/auth/accounts', payload: names() })],
    ['reads', () => ({ method: 'GET', url: '/v1/auth/accounts/resume' })],
    ['resumes', () => ({ method: 'POST', url: '/v1/auth/accounts/resume' })],
    ['discards', () => ({ method: 'DELETE', url: '/v1/auth/accounts/resume' })],
    [
      'changes a password',
      () => ({ method: 'PUT', url: '/v1/auth/password', payload: { current_password: 'x', new_password: 'y' } }),
    ],
  ];
  test.each(calls)('%s nothing', async (_, call) => {
    const inject = (headers: Record<string, string>) => auth.app.inject({ ...call(), headers });
    expect(outcome(await inject({}))).toBe('401 null');
    expect(outcome(await inject(bearer('nonsense')))).toBe('401 null');
    const { user, session, headers } = await signedIn();
    await auth.users.sessions.end({
      userId: user.id,
      sessionId: session.sessionId,
      accountId: null,
      applicationId: null,
    });
    expect(outcome(await inject(headers))).toBe('401 null');
    const claims = { sub: user.id, aud: auth.baseUrl, iat: 0, sid: session.sessionId, principal_type: 'identity' };
    const exp = Math.floor(Date.now() / 1000) + 60;
    const foreign = await auth.keys.sign({ ...claims, exp, iat: exp - 60 } as never, { typ: 'at+jwt' });
    expect(outcome(await inject(bearer(foreign)))).toBe('403 null');
    expect(outcome(await inject({ ...headers, 'x-api-key': 'k' }))).toBe('400 auth.multiple_credentials');
  });
});

test('a user without a password is refused; the intent is parked with a link to set one, and can be resumed afterwards', async () => {
  const { user, headers } = await signedIn({ password: null, accounts: [] });
  const refused = await auth.post('/accounts', names({ account_slug: 'sso-only' }), headers);
  expect(outcome(refused)).toBe('403 account.password_required');
  expect(refused.cookies).toEqual([]);
  expect(await accountsOf(headers)).toEqual([]);
  const [intent] = await intentsOf(user.id);
  expect(intent).toMatchObject({ status: 'parked', accountName: 'Northwind Trading', accountSlug: 'sso-only' });
  const [message] = await auth.db.transaction('system', (tx) => tx.findBy(OutboxMessage, { process: 'accountIntent' }));
  expect(message?.input).toEqual({
    intentId: intent?.id,
    expiresAt: intent?.expiresAt.toISOString(),
    isAwaited: true,
  });
  const email = await auth.db.transaction('system', (tx) => tx.findOneByOrFail(Email, { subjectId: intent?.id }));
  expect(email.template).toBe('set-password');
  const actions = await auth.db.transaction('system', (tx) => tx.findBy(Event, { resourceId: intent?.id }));
  expect(actions).toMatchObject([{ action: 'auth.account_intent_parked', actorId: user.id }]);
  // Resuming is no way around this, neither for the user nor by a direct call of the process.
  expect(outcome(await auth.post('/accounts/resume', undefined, headers))).toBe('403 account.password_required');
  expect(await auth.accountIntents.claim(intent!.id, user.id)).toEqual({ mine: false, status: 'parked' });
  expect(await intentsOf(user.id)).toEqual([intent]);

  expect(await auth.accountIntents.announce(intent!.id)).toBe('parked'); // as its process does, perhaps twice
  expect(await auth.accountIntents.announce(intent!.id)).toBe('parked');
  const links = await auth.db.transaction('system', (tx) => tx.findBy(PasswordLink, { userId: user.id }));
  expect(links).toMatchObject([{ purpose: 'set', id: intent?.id }]);
  const token = await auth.passwordTokenFor(user.id);
  const password = 'a brand new violet tractor';
  expect((await auth.post('/password/reset', { token, password })).statusCode).toBe(200);
  const login = await auth.post('/login', { email: user.email, password });
  expect(login.json().data.outcome).toBe('account_required');
  const own = bearer(login.json().data.access_token);
  expect((await auth.get('/accounts/resume', own)).json()).toEqual({
    data: { account_name: 'Northwind Trading', application_name: 'Shop' },
  });
  const resumed = await auth.post('/accounts/resume', undefined, own);
  expect([resumed.statusCode, resumed.json().data.account.slug]).toEqual([201, 'sso-only']);
});

describe('Idempotency-Key', () => {
  test('the same request gets the same answer and cookies again, and creates nothing', async () => {
    const { headers } = await signedIn({ accounts: [] });
    const keyed = { ...headers, 'idempotency-key': 'create-1' };
    const first = await auth.post('/accounts', names(), keyed);
    const again = await auth.post('/accounts', names(), keyed);
    expect(again.statusCode).toBe(201);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.body).toBe(first.body);
    expect(again.headers['set-cookie']).toEqual(first.headers['set-cookie']);
    expect(await accountsOf(headers)).toHaveLength(1);
    // A session that was refreshed is not set back to a used token.
    const refreshed = await auth.post('/refresh', undefined, cookieHeader(first));
    expect(refreshed.statusCode).toBe(200);
    const late = await auth.post('/accounts', names(), keyed);
    expect([late.body, late.cookies]).toEqual([first.body, []]);
    expect(outcome(await auth.post('/accounts', names({ account_slug: 'other' }), keyed))).toBe(
      '400 idempotency.key_reused',
    );
    expect(outcome(await auth.post('/accounts', names(), { ...headers, 'idempotency-key': 'ü' }))).toBe(
      '400 idempotency.key_invalid',
    );
    expect(await accountsOf(headers)).toHaveLength(1);
  });

  test('a day later the same key stands for another request', async () => {
    const own = await newAdminAuth();
    try {
      const user = await own.addUser({ accounts: [] });
      const create = async () => {
        const headers = { ...bearer((await own.sessionOf(user.id)).accessToken), 'idempotency-key': 'daily' };
        const answer = await own.post('/accounts', names(), headers);
        return [answer.statusCode, answer.json().data.account.id];
      };
      const first = await create();
      await own.db.statement({ name: 'forget', text: 'delete from idempotent_requests where key = $1 returning 1' }, [
        'daily',
      ]);
      expect(await create()).toEqual(first); // the answer to this request was lost
      own.pass(hours(24));
      await ageKeys(own.database.ownerUrl, hours(24));
      const second = await create();
      expect([second[0], second[1] === first[1]]).toEqual([201, false]);
      expect(await intentsOf(user.id, own)).toHaveLength(2);
    } finally {
      await own.close();
    }
  });

  test('a stored answer is sealed', async () => {
    const { headers } = await signedIn();
    const answer = await auth.post('/accounts', names(), { ...headers, 'idempotency-key': 'create-2' });
    const stored = JSON.stringify(
      await auth.db.source.manager.transaction(async (tx) => {
        await tx.query(`select set_config('gatehouse.scope', 'system', true)`);
        return tx.query('select * from idempotent_requests where key = $1', ['create-2']);
      }),
    );
    for (const secret of [cookieOf(answer).value, answer.json().data.access_token, 'Northwind']) {
      expect(stored).not.toContain(secret);
    }
  });

  test('a process that died between the Account and its answer has still created one Account', async () => {
    const { user, headers } = await signedIn({ accounts: [] });
    const keyed = { ...headers, 'idempotency-key': 'create-3' };
    const first = await auth.post('/accounts', names(), keyed);
    await auth.db.statement(
      {
        name: 'die',
        text: `update idempotent_requests set status_code = null, locked_until = now() - interval '1 s' where key = 'create-3' returning 1`,
      },
      [],
    );
    const again = await auth.post('/accounts', names(), keyed);
    expect(again.statusCode).toBe(201);
    expect(again.json().data.account).toEqual(first.json().data.account);
    expect(await accountsOf(headers)).toHaveLength(1);
    expect(await intentsOf(user.id)).toHaveLength(1);
  });

  test('twenty requests at once create one Account', async () => {
    const { headers } = await signedIn({ accounts: [] });
    const keyed = { ...headers, 'idempotency-key': 'create-4' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => auth.post('/accounts', names(), keyed)));
    for (const { statusCode } of answers) expect([201, 409]).toContain(statusCode);
    expect(await accountsOf(headers)).toHaveLength(1);
  });

  test('a refusal is stored as well: an SSO-only user’s intent is parked once', async () => {
    const { user, headers } = await signedIn({ password: null });
    const keyed = { ...headers, 'idempotency-key': 'create-5' };
    for (let i = 0; i < 2; i++) {
      expect(outcome(await auth.post('/accounts', names(), keyed))).toBe('403 account.password_required');
    }
    expect(await intentsOf(user.id)).toHaveLength(1);
  });
});

test('the session of a new account lasts no longer than the session that created it', async () => {
  const { user, session, headers } = await signedIn();
  const expiresAt = new Date(Date.now() + 3_600_000);
  const sessions = <T>(work: (table: Repository<UserSession>) => Promise<T>) =>
    auth.db.transaction('system', (tx) => work(tx.getRepository(UserSession)));
  await sessions((table) => table.update({ id: session.sessionId }, { expiresAt }));
  expect((await auth.post('/accounts', names(), headers)).statusCode).toBe(201);
  const all = await sessions((table) => table.findBy({ userId: user.id }));
  expect(all.map((one) => one.expiresAt)).toEqual([expiresAt, expiresAt]);
});

test('a session that ended while the Account was created gets no new session', async () => {
  const { user, session } = await signedIn();
  const subject = { userId: user.id, sessionId: session.sessionId, accountId: null, applicationId: null };
  await auth.users.sessions.end(subject);
  const caller = { subject, claimId: user.id, ipAddress: null, userAgent: null };
  const wanted = { accountName: 'Late', applicationName: 'x', locale: 'en' } as const;
  await expect(auth.users.accounts.create(wanted, caller)).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
});

test('a user may create ten accounts an hour', async () => {
  const limited = await newAdminAuth({ rateLimits: true });
  try {
    const one = await signedIn({}, limited);
    const other = await signedIn({}, limited);
    for (const [url, payload, usual] of [
      ['/v1/auth/accounts', names(), 201],
      ['/v1/auth/accounts/resume', undefined, 404],
    ] as const) {
      const call = (headers: Record<string, string>, key: string) =>
        limited.app.inject({ method: 'POST', url, payload, headers: { ...headers, 'idempotency-key': key } });
      for (let i = 0; i < 10; i++) {
        const answer = await call(one.headers, `${url}-${i}`);
        expect(answer.statusCode).toBe(usual);
        expect(answer.headers['ratelimit-policy']).toContain('q=10;w=3600');
      }
      const refused = await call(one.headers, `${url}-new`);
      expect(outcome(refused)).toBe('429 rate_limit.exceeded');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(hours(1) / 1000 - 60);
      expect((await call(one.headers, `${url}-9`)).statusCode).toBe(usual); // its answer is stored and creates nothing
      expect((await call(other.headers, `${url}-0`)).statusCode).toBe(usual);
    }
  } finally {
    await limited.close();
  }
});

test('a member of a thousand accounts cannot create another', async () => {
  const { user, headers } = await signedIn();
  await auth.db.transaction('system', (tx) =>
    tx.query(
      `with made as (
         insert into accounts (id, name, slug, created_at, updated_at)
         select gen_random_uuid(), 'Many', 'many-' || n || '-' || left($1::text, 40), now(), now() from generate_series(1, 998) n returning id)
       insert into memberships (id, account_id, user_id, created_at) select gen_random_uuid(), id, $1::uuid, now() from made`,
      [user.id],
    ),
  );
  const there = (await accountsOf(headers)).length;
  const answers = [await auth.post('/accounts', names(), headers), await auth.post('/accounts', names(), headers)];
  expect([there, ...answers.map(outcome)]).toEqual([999, '201 undefined', '409 account.limit_reached']);
});
