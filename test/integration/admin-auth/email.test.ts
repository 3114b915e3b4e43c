import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { Email } from '../../../entities/email.js';
import { EmailChange } from '../../../entities/email-change.js';
import { Event } from '../../../entities/event.js';
import { OutboxMessage } from '../../../entities/outbox-message.js';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { User } from '../../../entities/user.js';
import { createMfaResetByOperator } from '../../../src/domain/admin-mfa/reset.js';
import { emailChangeToken } from '../../../src/domain/email-changes/link.js';
import { hours, minutes } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, cookieOf, newAdminAuth } from '../../support/admin-auth.js';
import { withFactors } from '../../support/admin-mfa.js';
import { expectEqualTimes } from '../../support/equal-times.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { untilWaiting } from '../../support/lock-waits.js';
import { newOidcConnection } from '../../support/sso.js';
import { statementsOf } from '../../support/statements.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

type Answer = Awaited<ReturnType<AdminAuth['post']>>;

const outcome = ({ statusCode, body }: Answer) =>
  body.startsWith('{') && statusCode >= 400 ? `${statusCode} ${JSON.parse(body).error.code}` : `${statusCode}`;
const newAddress = () => `${randomBytes(6).toString('hex')}@new.example.com`;
const system: AdminAuth['db']['transaction'] = (scope, work) => auth.db.transaction(scope, work);
const rows = <Row>(text: string, values: unknown[]) => system('system', (tx) => tx.query<Row[]>(text, values));
const eventsOf = (resourceId: string, action: string) =>
  system('system', (tx) => tx.findBy(Event, { resourceId, action }));
const changeOf = (userId: string) =>
  system('system', (tx) =>
    tx.findOneOrFail(EmailChange, { where: { userId }, order: { createdAt: 'desc', id: 'desc' } }),
  );
const tokenOf = async (userId: string) => emailChangeToken(auth.sealing, await changeOf(userId)).token;
const signIn = (email: string, password: string) => auth.post('/login', { email, password });
const emailOf = async (id: string) => (await system('system', (tx) => tx.findOneByOrFail(User, { id }))).email;

async function signedIn(options?: Parameters<AdminAuth['addUser']>[0]) {
  const user = await auth.addUser(options);
  const answer = await signIn(user.email, user.password);
  return { user, headers: bearer(answer.json().data.access_token) };
}
type Person = Awaited<ReturnType<typeof signedIn>>;

/** The same for somebody in two Accounts. */
async function signedInToTwo(): Promise<Person> {
  const user = await auth.addUser({ accounts: [1, 1] });
  return { user, headers: bearer((await auth.sessionOf(user.id)).accessToken) };
}

/** Requests a new address; returns the link's token and the cookie of the browser. */
async function requested({ user, headers }: Person, email = newAddress()) {
  const answer = await auth.post('/email', { email }, headers);
  expect(outcome(answer)).toBe('200');
  const cookie = { cookie: `admin_email_change=${cookieOf(answer, 'admin_email_change').value}` };
  return { email, token: await tokenOf(user.id), cookie };
}
const confirm = (token: string, more: object = {}, headers: Record<string, string> = {}) =>
  auth.post('/email/confirm', { token, ...more }, headers);
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const asForm = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  auth.post('/email/confirm', new URLSearchParams(fields).toString(), { ...form, ...headers });

describe('requesting a new address', () => {
  test('gets the same answer whether or not somebody signs in with it, and only the text of the mail differs', async () => {
    const other = await auth.addUser();
    const people = [await signedIn(), await signedIn()] as const;
    const answers = [
      await auth.post('/email', { email: newAddress() }, people[0].headers),
      await auth.post('/email', { email: other.email.toUpperCase() }, people[1].headers),
    ];
    expect(answers.map(outcome)).toEqual(['200', '200']);
    expect(answers[1]?.body).toBe(answers[0]?.body);
    expect(Object.keys(answers[1]?.headers ?? {})).toEqual(Object.keys(answers[0]?.headers ?? {}));
    const templates = [];
    for (const { user, headers } of people) {
      expect((await auth.get('/email', headers)).statusCode).toBe(200);
      const { id } = await changeOf(user.id);
      const mails = await system('system', (tx) => tx.findBy(Email, { subjectId: id }));
      templates.push(mails.map(({ template }) => template));
    }
    expect(templates).toEqual([['email-change'], ['email-change-taken']]);
  });

  test('costs as many statements and as much time for an address with which somebody signs in', async () => {
    const other = await auth.addUser();
    const me = await signedIn();
    const request = (email: string) => auth.post('/email', { email }, me.headers);
    await request(newAddress());
    await expectEqualTimes(
      () => request(other.email),
      () => request(newAddress()),
    );
    expect(await statementsOf(() => request(other.email))).toBe(await statementsOf(() => request(newAddress())));
  });

  test('tells the present address, and every account of the user, without naming an address', async () => {
    const me = await signedInToTwo();
    const { email } = await requested(me);
    const events = await eventsOf(me.user.id, 'auth.admin_email_change_requested');
    expect(events.map(({ accountId }) => accountId).sort()).toEqual(
      me.user.accounts.map(({ account }) => account.id).sort(),
    );
    expect(JSON.stringify(events)).not.toContain(email);
    const notices = await system('system', (tx) =>
      tx.findBy(Email, { recipientId: me.user.id, template: 'admin-security-notice' }),
    );
    expect(events.map(({ id }) => id)).toContain(notices[0]?.subjectId);
    const outbox = await system('system', (tx) => tx.find(OutboxMessage));
    expect(JSON.stringify(outbox)).not.toContain(email);
    expect(outbox).toContainEqual(expect.objectContaining({ process: 'emailChange' }));
  });

  test('stores neither the token of the link nor the value of the cookie', async () => {
    const me = await signedIn();
    const { token, cookie } = await requested(me);
    const tables = ['email_changes', 'outbox', 'emails', 'events', 'idempotent_requests'];
    const stored = JSON.stringify(await Promise.all(tables.map((table) => rows(`select * from ${table}`, []))));
    expect(stored).not.toContain(token);
    expect(stored).not.toContain(cookie.cookie.split('=')[1]);
  });

  test('needs a sign-in of the last ten minutes', async () => {
    const own = await newAdminAuth();
    try {
      const user = await own.addUser();
      const login = await own.post('/login', { email: user.email, password: user.password });
      own.pass(minutes(10));
      const answer = await own.post('/email', { email: newAddress() }, bearer(login.json().data.access_token));
      expect(outcome(answer)).toBe('403 auth.reauthentication_required');
    } finally {
      await own.close();
    }
  });

  test('needs the second factor of somebody who has one by now', async () => {
    const me = await signedIn();
    const person = withFactors(auth);
    await person.enrollTotp(await person.session(me.user));
    expect(outcome(await auth.post('/email', { email: newAddress() }, me.headers))).toBe(
      '403 auth.reauthentication_required',
    );
  });

  test('is refused to somebody who is not signed in, and for the address that they have', async () => {
    const me = await signedIn();
    expect((await auth.post('/email', { email: newAddress() })).statusCode).toBe(401);
    for (const email of [me.user.email, me.user.email.toUpperCase()]) {
      expect(outcome(await auth.post('/email', { email }, me.headers))).toBe('409 email_change.unchanged');
    }
    expect(outcome(await auth.get('/email', me.headers))).toBe('404 email_change.not_found');
  });

  test('from another origin is refused', async () => {
    const me = await signedIn();
    const headers = { ...me.headers, origin: 'https://evil.example' };
    expect(outcome(await auth.post('/email', { email: newAddress() }, headers))).toBe('403 origin.foreign');
  });

  test.each([[{}], [{ email: 'no address' }], [{ email: null }], [{ email: 'a@example.com', more: 1 }]])(
    '%j is 400',
    async (body) => {
      const me = await signedIn();
      expect(outcome(await auth.post('/email', body, me.headers))).toBe('400 validation.failed');
    },
  );

  test('a newer one replaces an older one, whose link no longer works', async () => {
    const me = await signedIn();
    const older = await requested(me);
    const newer = await requested(me);
    expect(outcome(await confirm(older.token, {}, older.cookie))).toBe('400 email_change.link_invalid');
    expect((await auth.get('/email', me.headers)).json().data).toMatchObject({ email: newer.email });
    const [event] = await eventsOf(me.user.id, 'auth.admin_email_change_withdrawn');
    expect(event?.metadata).toMatchObject({ reason: 'replaced' });
    expect(outcome(await confirm(newer.token, {}, newer.cookie))).toBe('200');
    expect(await emailOf(me.user.id)).toBe(newer.email);
  });

  test('two at once leave one', async () => {
    const me = await signedIn();
    const answers = await Promise.all([1, 2, 3].map(() => auth.post('/email', { email: newAddress() }, me.headers)));
    expect(answers.map(outcome)).toEqual(['200', '200', '200']);
    expect(
      await rows(`select from email_changes where user_id = $1 and status = 'pending'`, [me.user.id]),
    ).toHaveLength(1);
  });

  test('repeated with its key gets the answer and the cookie of the first, and only one mail is sent', async () => {
    const me = await signedIn();
    const headers = { ...me.headers, 'idempotency-key': 'one request' };
    const headersOf = { ...headers, 'idempotency-key': uuidv7() };
    const email = newAddress();
    const [first, again] = [
      await auth.post('/email', { email }, headersOf),
      await auth.post('/email', { email }, headersOf),
    ];
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(cookieOf(again, 'admin_email_change').value).toBe(cookieOf(first, 'admin_email_change').value);
    expect(await rows('select from email_changes where user_id = $1', [me.user.id])).toHaveLength(1);
  });

  test('can be withdrawn, also if nothing waits', async () => {
    const me = await signedIn();
    const { token, cookie } = await requested(me);
    for (const _ of [1, 2]) expect((await auth.delete('/email', me.headers)).statusCode).toBe(204);
    expect(outcome(await confirm(token, {}, cookie))).toBe('400 email_change.link_invalid');
    expect(outcome(await auth.get('/email', me.headers))).toBe('404 email_change.not_found');
    expect(await eventsOf(me.user.id, 'auth.admin_email_change_withdrawn')).toHaveLength(1);
    expect(await changeOf(me.user.id)).toMatchObject({ status: 'withdrawn', email: null });
  });
});

describe('limits on requests', () => {
  let limited: AdminAuth;
  beforeAll(async () => {
    limited = await newAdminAuth({ rateLimits: true });
  });
  afterAll(() => limited.close());
  const session = async (ip: string) => {
    const user = await limited.addUser();
    const login = { email: user.email, password: user.password };
    const answer = await limited.post('/login', login, { 'x-forwarded-for': ip });
    return bearer(answer.json().data.access_token);
  };

  test('five per hour and user, and three per hour and address, whoever asks and however it is written', async () => {
    const me = await session('203.0.113.1');
    for (let i = 0; i < 5; i++) expect(outcome(await limited.post('/email', { email: newAddress() }, me))).toBe('200');
    expect(outcome(await limited.post('/email', { email: newAddress() }, me))).toBe('429 rate_limit.exceeded');
    const known = await limited.addUser();
    for (const [i, email] of [known.email, newAddress()].entries()) {
      const [one, other] = [await session(`203.0.113.${2 * i + 2}`), await session(`203.0.113.${2 * i + 3}`)];
      for (const typed of [email, email.toUpperCase(), email]) {
        expect(outcome(await limited.post('/email', { email: typed }, one))).toBe('200');
      }
      expect(outcome(await limited.post('/email', { email }, other))).toBe('429 rate_limit.exceeded');
    }
  });

  test('twenty confirmations per hour and network', async () => {
    const from = { 'x-forwarded-for': '198.51.100.7' };
    const token = randomBytes(32).toString('base64url');
    for (let i = 0; i < 20; i++) {
      expect(outcome(await limited.post('/email/confirm', { token }, from))).toBe('400 email_change.link_invalid');
    }
    expect(outcome(await limited.post('/email/confirm', { token }, from))).toBe('429 rate_limit.exceeded');
  });

  test('wrong guesses at an address that was nobody’s do not lock out who has proved it', async () => {
    const user = await limited.addUser();
    const login = (email: string, ip: string) =>
      limited.post('/login', { email, password: user.password }, { 'x-forwarded-for': ip });
    const { access_token } = (await login(user.email, '198.51.100.20')).json().data;
    const email = newAddress();
    for (let i = 0; i < 11; i++) await login(email, `198.51.100.${30 + i}`);
    expect(outcome(await login(email, '198.51.100.60'))).toBe('429 rate_limit.exceeded');
    expect(outcome(await limited.post('/email', { email }, bearer(access_token)))).toBe('200');
    const change = await limited.db.transaction('system', (tx) => tx.findOneByOrFail(EmailChange, { userId: user.id }));
    const { token } = emailChangeToken(limited.sealing, change);
    expect(outcome(await limited.post('/email/confirm', { token, password: user.password }))).toBe('200');
    expect(outcome(await login(email, '198.51.100.61'))).toBe('200');
  });
});

describe('confirming a new address', () => {
  test('changes and verifies it, ends other sessions and password links, mails the old one, and works once', async () => {
    const me = await signedInToTwo();
    const { user } = me;
    await system('system', (tx) => tx.update(User, { id: user.id }, { emailVerifiedAt: null }));
    const others = [await auth.sessionOf(user.id), await auth.sessionOf(user.id)];
    await auth.post('/password/forgot', { email: user.email });
    const passwordToken = await auth.passwordTokenFor(user.id);
    const { email, token, cookie } = await requested(me);
    const answer = await confirm(token, {}, cookie);
    expect(outcome(answer)).toBe('200');
    expect(cookieOf(answer, 'admin_email_change').value).toBe('');

    expect(await system('system', (tx) => tx.findOneByOrFail(User, { id: user.id }))).toMatchObject({
      email,
      emailVerifiedAt: expect.any(Date),
    });
    expect((await auth.get('/me', me.headers)).json().data.user).toMatchObject({ email, email_verified: true });
    for (const other of others) {
      expect((await auth.get('/me', bearer(other.accessToken))).statusCode).toBe(401);
    }
    expect((await signIn(user.email, user.password)).statusCode).toBe(401);
    expect((await signIn(email, user.password)).statusCode).toBe(200);
    expect(outcome(await auth.post('/password/reset', { token: passwordToken, password: 'amber harvest 2041' }))).toBe(
      '400 password.link_invalid',
    );
    const events = await eventsOf(user.id, 'auth.admin_email_changed');
    expect(events.map(({ accountId }) => accountId).sort()).toEqual(
      user.accounts.map(({ account }) => account.id).sort(),
    );
    expect(events[0]).toMatchObject({ actorType: 'platform_admin', actorId: user.id });
    const metadata = { revoked_session_ids: [expect.any(String), expect.any(String)] };
    expect(events[0]).toMatchObject({ metadata });
    const change = await changeOf(user.id);
    expect(change).toMatchObject({ status: 'confirmed', email: null, formerEmail: user.email });
    const mails = await system('system', (tx) => tx.findBy(Email, { subjectId: change.id, template: 'email-changed' }));
    expect(mails).toHaveLength(1);
    expect(outcome(await confirm(token, {}, cookie))).toBe('400 email_change.link_invalid');
    expect(outcome(await auth.get('/email', me.headers))).toBe('404 email_change.not_found');
  });

  test('by opening its link changes nothing', async () => {
    const me = await signedIn();
    const { token, cookie } = await requested(me);
    for (const headers of [{}, cookie]) {
      const page = await auth.get(`/email/confirm?token=${token}`, { accept: 'text/html', ...headers });
      expect([page.statusCode, page.body.includes('name="password"')]).toEqual([200, headers !== cookie]);
    }
    expect(await emailOf(me.user.id)).toBe(me.user.email);
    expect((await changeOf(me.user.id)).status).toBe('pending');
  });

  test('takes the password in any browser but the one that requested it, so that nobody confirms for a stranger', async () => {
    const me = await signedIn();
    const { token, email } = await requested(me);
    const stranger = await requested(await signedIn());
    for (const headers of [{}, stranger.cookie]) {
      expect(outcome(await confirm(token, {}, headers))).toBe('400 email_change.password_required');
      expect(outcome(await confirm(token, { password: 'wrong' }, headers))).toBe('400 password.wrong');
    }
    expect(await emailOf(me.user.id)).toBe(me.user.email);
    expect(outcome(await confirm(token, { password: me.user.password }))).toBe('200');
    expect(await emailOf(me.user.id)).toBe(email);
  });

  test('is over after ten wrong passwords, also in parallel; a right one does not count', async () => {
    const me = await signedIn();
    const taken = await auth.addUser();
    const { token, cookie } = await requested(me, taken.email);
    for (let i = 0; i < 3; i++) {
      expect(outcome(await confirm(token, { password: me.user.password }))).toBe('409 email_change.address_taken');
    }
    const answers = await Promise.all(Array.from({ length: 14 }, () => confirm(token, { password: 'wrong' })));
    expect(answers.map(outcome).filter((one) => one === '400 password.wrong')).toHaveLength(10);
    expect(outcome(await confirm(token, {}, cookie))).toBe('400 email_change.link_invalid');
  });

  test('is not possible for a user without a password in another browser', async () => {
    const user = await auth.addUser({ password: null });
    const { sessionId, accessToken } = await auth.sessionOf(user.id);
    expect(sessionId).toBeDefined();
    const { token, cookie } = await requested({ user, headers: bearer(accessToken) });
    for (const password of ['', 'anything']) {
      expect(outcome(await confirm(token, { password }))).toMatch(/password_required|password\.wrong/);
    }
    expect(outcome(await confirm(token, {}, cookie))).toBe('200');
  });

  test('of an address that somebody has taken meanwhile is 409, again and again, and leaves everything as it is', async () => {
    const me = await signedIn();
    const other = await signIn(me.user.email, me.user.password);
    const { token, cookie, email } = await requested(me);
    const rival = await auth.addUser();
    await system('system', (tx) => tx.update(User, { id: rival.id }, { email: email.toUpperCase() }));
    for (const _ of [1, 2]) expect(outcome(await confirm(token, {}, cookie))).toBe('409 email_change.address_taken');
    expect(await emailOf(me.user.id)).toBe(me.user.email);
    expect((await auth.get('/me', bearer(other.json().data.access_token))).statusCode).toBe(200);
    expect(await eventsOf(me.user.id, 'auth.admin_email_changed')).toEqual([]);
    await system('system', (tx) => tx.update(User, { id: rival.id }, { email: rival.email }));
    expect(outcome(await confirm(token, {}, cookie))).toBe('200');
  });

  test('of one address by two users at once succeeds for one of them', async () => {
    const people = [await signedIn(), await signedIn()];
    const email = newAddress();
    const links = [];
    for (const person of people) links.push(await requested(person, email));
    const answers = await Promise.all(links.map(({ token, cookie }) => confirm(token, {}, cookie)));
    expect(answers.map(outcome).sort()).toEqual(['200', '409 email_change.address_taken']);
    expect(await rows('select from users where email = $1', [email])).toHaveLength(1);
  });

  test('by the same link at once changes it once', async () => {
    const me = await signedIn();
    const { token, cookie } = await requested(me);
    const answers = await Promise.all([1, 2, 3].map(() => confirm(token, {}, cookie)));
    expect(answers.map(outcome).sort()).toEqual([
      '200',
      '400 email_change.link_invalid',
      '400 email_change.link_invalid',
    ]);
  });

  test('discards registrations of the address that wait', async () => {
    const email = newAddress();
    const names = { first_name: 'Ana', last_name: 'Brandt', account_name: 'Other', application_name: 'App' };
    expect((await auth.post('/register', { email, password: 'violet tractor 20', ...names })).statusCode).toBe(201);
    const registration = await system('system', (tx) => tx.findOneByOrFail(PendingRegistration, { email }));
    const me = await signedIn();
    const { token, cookie } = await requested(me, email);
    expect(outcome(await confirm(token, {}, cookie))).toBe('200');
    const { id } = registration;
    expect(await system('system', (tx) => tx.findOneByOrFail(PendingRegistration, { id }))).toMatchObject({
      status: 'discarded',
      endedReason: 'address_has_a_user',
      userId: me.user.id,
    });
  });

  test.each<[string, (me: Person) => Promise<unknown>]>([
    ['24 hours', async () => auth.pass(hours(24))],
    ['a sign-out of the session that requested it', ({ headers }) => auth.post('/logout', undefined, headers)],
    [
      'the end of that session by its user',
      async ({ user, headers }) => {
        const { sessionId } = await changeOf(user.id);
        return auth.delete(`/sessions/${sessionId}`, headers);
      },
    ],
    [
      'a new password, also from the same session',
      async ({ user, headers }) => {
        auth.pass(5);
        const change = { current_password: user.password, new_password: 'amber harvest 2041' };
        expect((await auth.put('/password', change, headers)).statusCode).toBe(200);
      },
    ],
    [
      'a reset of the second factors',
      ({ user }) => createMfaResetByOperator({ db: auth.db, now: auth.now })(user.email),
    ],
  ])('is not possible after %s', async (_, event) => {
    const me = await signedIn();
    const { token, cookie } = await requested(me);
    await event(me);
    expect(outcome(await confirm(token, {}, cookie))).toBe('400 email_change.link_invalid');
    expect(outcome(await auth.get(`/email/confirm?token=${token}`, { accept: 'application/json' }))).toBe(
      '400 email_change.link_invalid',
    );
    expect(await emailOf(me.user.id)).toBe(me.user.email);
  });

  test('is no longer possible once the user is deleted', async () => {
    const me = await signedIn({ accounts: [] });
    const { token, cookie } = await requested(me);
    expect((await auth.delete('/me', me.headers)).statusCode).toBe(204);
    expect(outcome(await confirm(token, {}, cookie))).toBe('400 email_change.link_invalid');
  });

  test('refuses a sign-in that was proved before and starts its session after', async () => {
    const me = await signedIn({ accounts: [2] });
    const selecting = await signIn(me.user.email, me.user.password);
    const { selection_token, applications } = selecting.json().data;
    expect(selecting.json().data.outcome).toBe('application_selection_required');
    const session = await auth.sessionOf(me.user.id);
    const { token, cookie } = await requested({ user: me.user, headers: bearer(session.accessToken) });
    auth.pass(5);
    expect(outcome(await confirm(token, {}, cookie))).toBe('200');
    const chosen = await auth.post('/select-application', { selection_token, application_id: applications[0].id });
    expect(chosen.statusCode).toBe(401);
  });

  test.each<[string, { applications: number; hasFactor: boolean }]>([
    ['', { applications: 1, hasFactor: false }],
    ['that leads to a choice', { applications: 2, hasFactor: false }],
    ['that leads to a second factor', { applications: 1, hasFactor: true }],
  ])(
    'leaves nothing of a sign-in by the old address %s, before whichever of its statements it comes',
    async (_, kind) => {
      const { enrollTotp, challenge, answer } = withFactors(auth);
      const data = (said: Answer) => JSON.parse(said.body).data;
      const attempt = async () => {
        const user = await auth.addUser({ accounts: [kind.applications] });
        let { accessToken } = await auth.sessionOf(user.id);
        const factor = kind.hasFactor ? await enrollTotp(accessToken) : null;
        if (factor) accessToken = data(await answer('totp', await challenge(user), factor.code())).access_token;
        auth.pass(30_000); // for the next code
        const { token, cookie } = await requested({ user, headers: bearer(accessToken) });
        const change = async () => {
          const confirmed = await confirm(token, {}, cookie);
          auth.pass(5);
          return outcome(confirmed);
        };
        return { change, factor, signIn: () => signIn(user.email, user.password) };
      };
      interface Led {
        applications?: { id: string }[];
        selection_token?: string;
        challenge_token?: string;
        access_token: string;
      }
      /** Goes on with what the sign-in has led to. */
      const next = (said: Led, code = '') => {
        const [first] = said.applications ?? [];
        if (first)
          return auth.post('/select-application', { selection_token: said.selection_token, application_id: first.id });
        if (said.challenge_token) return answer('totp', said.challenge_token, code);
        return auth.get('/me', bearer(said.access_token));
      };
      const alone = await attempt();
      const { outcome: login, statements } = await counted(alone.signIn);
      expect((await next(data(login), alone.factor?.code())).statusCode).toBe(200);
      for (let at = 1; at <= statements; at++) {
        const { change, factor, signIn: again } = await attempt();
        const [begun, changed] = await interleaved(auth.database.ownerUrl, at, again, change);
        const led = begun.statusCode === 200 ? await next(data(begun), factor?.code()) : begun;
        expect([at, changed, led.statusCode]).toEqual([at, '200', 401]);
      }
    },
  );

  test('ends a sign-in that waits for a second factor, also if another clock has dated that ahead', async () => {
    const { enrollTotp, challenge, answer } = withFactors(auth);
    const user = await auth.addUser();
    const { accessToken } = await auth.sessionOf(user.id);
    const { token, cookie } = await requested({ user, headers: bearer(accessToken) });
    const factor = await enrollTotp(accessToken);
    const waiting = await challenge(user);
    auth.pass(-5000);
    expect(outcome(await confirm(token, {}, cookie))).toBe('200');
    auth.pass(5000);
    expect(outcome(await answer('totp', waiting, factor.code()))).toBe('400 mfa.challenge_invalid');
  });

  test('waits for a sign-in that is about to start its session, and ends it', async () => {
    const me = await signedIn();
    const { token, cookie } = await requested(me);
    const client = await auth.db.pool.connect();
    try {
      await client.query(
        `begin; set local gatehouse.scope = 'system'; select from users where id = '${me.user.id}' for update`,
      );
      const both = Promise.all([confirm(token, {}, cookie), signIn(me.user.email, me.user.password)]);
      await untilWaiting(auth.database.ownerUrl, 2);
      await client.query('commit');
      const [confirmed, login] = await both;
      expect(outcome(confirmed)).toBe('200');
      // Whichever came first: a session of the old address does not outlive it.
      if (login.statusCode === 200) {
        expect((await auth.get('/me', bearer(login.json().data.access_token))).statusCode).toBe(401);
      }
    } finally {
      client.release();
    }
  });
});

describe('the page of the link', () => {
  test('confirms with a button, also if its form is sent twice', async () => {
    const me = await signedIn();
    const { token, cookie, email } = await requested(me);
    for (const _ of [1, 2]) {
      const page = await asForm({ token }, cookie);
      expect(page.statusCode).toBe(200);
      expect(page.body).toContain(email);
    }
    expect(await eventsOf(me.user.id, 'auth.admin_email_changed')).toHaveLength(1);
    const elsewhere = await asForm({ token });
    expect([elsewhere.statusCode, elsewhere.body.includes(email)]).toEqual([400, false]);
    auth.pass(minutes(1));
    expect((await asForm({ token }, cookie)).statusCode).toBe(400);
  });

  test('says what was wrong with the password, and that the address is taken', async () => {
    const me = await signedIn();
    const taken = await auth.addUser();
    const { token } = await requested(me, taken.email);
    const wrong = await asForm({ token, password: 'wrong' });
    expect([wrong.statusCode, wrong.body.includes('not the password of the sign-in')]).toEqual([400, true]);
    const refused = await asForm({ token, password: me.user.password });
    expect([refused.statusCode, refused.body.includes('already')]).toEqual([409, true]);
  });

  test('for a link that does not work says so', async () => {
    for (const token of ['x', randomBytes(32).toString('base64url')]) {
      const page = await auth.get(`/email/confirm?token=${token}`, { accept: 'text/html' });
      expect([page.statusCode, page.body.includes('no longer works')]).toEqual([400, true]);
    }
  });
});

describe('in a session that the identity provider of an account began', () => {
  /** Makes the person's session one of the provider of their first Account. */
  async function throughProvider({ user }: Person, sessionId: string) {
    const accountId = user.accounts[0]?.account.id as string;
    const where = { accountId, environmentId: null as never };
    const none = { issuer: '', clientId: '', clientSecret: '' };
    const connection = await newOidcConnection(auth, where, none, { scope: 'admin' });
    await rows('update user_sessions set sso_connection_id = $2, account_id = $3 where id = $1', [
      sessionId,
      connection.id,
      accountId,
    ]);
  }
  async function begun(accounts: number[]) {
    const user = await auth.addUser({ accounts, password: null });
    const { accessToken, sessionId } = await auth.sessionOf(user.id);
    return { me: { user, headers: bearer(accessToken) }, sessionId };
  }

  test('a member of that account alone can change the address', async () => {
    const { me, sessionId } = await begun([1]);
    await throughProvider(me, sessionId);
    const { email, token, cookie } = await requested(me);
    expect(outcome(await confirm(token, {}, cookie))).toBe('200');
    expect(await emailOf(me.user.id)).toBe(email);
  });

  test('a member of another account too cannot, since that account relies on the address as well', async () => {
    const { me, sessionId } = await begun([1, 1]);
    await throughProvider(me, sessionId);
    expect(outcome(await auth.post('/email', { email: newAddress() }, me.headers))).toBe(
      '403 account.other_sign_in_required',
    );
  });

  test('somebody who joined another account meanwhile cannot confirm', async () => {
    const { me, sessionId } = await begun([1, 1]);
    const { token, cookie } = await requested(me);
    await throughProvider(me, sessionId);
    expect(outcome(await confirm(token, {}, cookie))).toBe('400 email_change.link_invalid');
  });
});
