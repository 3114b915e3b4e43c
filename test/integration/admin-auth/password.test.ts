import { IsNull } from 'typeorm';
import { Email } from '../../../entities/email.js';
import { Event } from '../../../entities/event.js';
import { PasswordLink } from '../../../entities/password-link.js';
import { User } from '../../../entities/user.js';
import { passwordLinkToken } from '../../../src/domain/passwords/links.js';
import { hours, minutes } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';
import { expectEqualTimes } from '../../support/equal-times.js';
import { untilWaiting } from '../../support/lock-waits.js';
import { statementsOf } from '../../support/statements.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

const next = 'amber harvest 2041';
const outcome = ({ statusCode, body }: { statusCode: number; body: string }) =>
  body.startsWith('{')
    ? `${statusCode} ${statusCode < 400 ? 'ok' : JSON.parse(body).error.code}`
    : `${statusCode} page`;
const from = (address: string) => ({ 'x-forwarded-for': address });
const userRow = (id: string) => auth.db.transaction('system', (tx) => tx.findOneByOrFail(User, { id }));
const mailsAbout = (subjectId: string, template: string) =>
  auth.db.transaction('system', (tx) => tx.findBy(Email, { subjectId, template }));
const eventsAbout = (resourceId: string, action: string) =>
  auth.db.transaction('system', (tx) => tx.findBy(Event, { resourceId, action }));
const signIn = (email: string, password: string) => auth.post('/login', { email, password });
const tokenOf = async (user: { id: string; email: string }, at = auth) => {
  expect((await at.post('/password/forgot', { email: user.email })).statusCode).toBe(200);
  return at.passwordTokenFor(user.id);
};
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const asForm = (token: string, password: string, headers: Record<string, string> = {}) =>
  auth.post('/password/reset', new URLSearchParams({ token, password }).toString(), { ...form, ...headers });

describe('requesting a password link', () => {
  test('gets the same answer for every address; only a known one gets a mail', async () => {
    const known = await auth.addUser();
    const answers = [];
    for (const email of [known.email.toUpperCase(), 'nobody@example.com']) {
      answers.push(await auth.post('/password/forgot', { email }));
    }
    const [one, other] = answers;
    expect(one?.statusCode).toBe(200);
    expect(one?.json()).toEqual({ data: { message: expect.any(String) } });
    expect(other?.body).toBe(one?.body);
    expect(Object.keys(other?.headers ?? {}).sort()).toEqual(Object.keys(one?.headers ?? {}).sort());
    const link = await auth.db.transaction('system', (tx) => tx.findOneByOrFail(PasswordLink, { userId: known.id }));
    const told = await eventsAbout(link.id, 'auth.password_link_requested');
    expect(told).toMatchObject([{ actorType: 'anonymous', metadata: { purpose: 'reset' } }]);
  });

  test('finds one administrator for one mailbox, however its domain is typed', async () => {
    const user = await auth.addUser();
    const name = `ana.${user.id}`;
    await auth.db.transaction('system', (tx) =>
      tx.update(User, { id: user.id }, { email: `${name}@xn--bcher-kva.example` }),
    );
    const typed = `${name}@Bücher.example`;
    expect((await signIn(typed, user.password)).statusCode).toBe(200);
    expect((await auth.post('/password/forgot', { email: typed })).statusCode).toBe(200);
    expect(await eventsAbout(user.id, 'auth.admin_signed_in')).toHaveLength(1);
    expect(await auth.passwordTokenFor(user.id)).toEqual(expect.any(String));
  });

  test('costs as many statements and as much time for an unknown address', async () => {
    const known = await auth.addUser();
    const forgot = async (email: string) => {
      expect((await auth.post('/password/forgot', { email })).statusCode).toBe(200);
    };
    let i = 0;
    await expectEqualTimes(
      () => forgot(known.email),
      () => forgot(`nobody-${i++}@example.com`),
    );
    expect(await statementsOf(() => auth.post('/password/forgot', { email: known.email }))).toBe(
      await statementsOf(() => auth.post('/password/forgot', { email: 'nobody@example.com' })),
    );
  });

  test.each([[{}], [{ email: 'no address' }], [{ email: 'a@example.com', more: 1 }], [{ email: null }]])(
    '%j is 400',
    async (body) => expect(outcome(await auth.post('/password/forgot', body))).toBe('400 validation.failed'),
  );
});

describe('setting a password by its link', () => {
  test('sets the password, ends every session, verifies the address, mails a notice, and works once', async () => {
    const user = await auth.addUser();
    await auth.db.transaction('system', (tx) => tx.update(User, { id: user.id }, { emailVerifiedAt: null }));
    const sessions = [await signIn(user.email, user.password), await signIn(user.email, user.password)];
    const tokens = sessions.map((one) => one.json().data.access_token as string);
    const token = await tokenOf(user);
    const answer = await auth.post('/password/reset', { token, password: next });
    expect([answer.statusCode, answer.json().data.message]).toEqual([200, expect.stringContaining('signed out')]);
    expect(answer.cookies).toEqual([]);
    for (const one of tokens) expect((await auth.get('/me', bearer(one))).statusCode).toBe(401);
    expect((await signIn(user.email, user.password)).statusCode).toBe(401);
    expect((await signIn(user.email, next)).statusCode).toBe(200);
    const row = await userRow(user.id);
    expect(row.emailVerifiedAt).not.toBeNull();
    expect(row.passwordHash).toMatch(/^\$argon2id\$/);
    expect(await mailsAbout(user.id, 'password-changed')).toHaveLength(1);
    const [event] = await eventsAbout(user.id, 'auth.password_reset');
    const metadata = { revoked_session_ids: [expect.any(String), expect.any(String)] };
    expect(event).toMatchObject({ actorType: 'platform_admin', actorId: user.id, metadata });
    expect(outcome(await auth.post('/password/reset', { token, password: 'yet another one 77' }))).toBe(
      '400 password.link_invalid',
    );
  });

  test('does not work by an older link once there is a newer one, nor by any after a change', async () => {
    const user = await auth.addUser();
    const older = await tokenOf(user);
    const newer = await tokenOf(user);
    expect(outcome(await auth.post('/password/reset', { token: older, password: next }))).toBe(
      '400 password.link_invalid',
    );
    auth.pass(5);
    const { access_token } = (await signIn(user.email, user.password)).json().data;
    const change = { current_password: user.password, new_password: next };
    expect((await auth.put('/password', change, bearer(access_token))).statusCode).toBe(200);
    expect(outcome(await auth.post('/password/reset', { token: newer, password: 'yet another one 77' }))).toBe(
      '400 password.link_invalid',
    );
  });

  test('twice in parallel with one link sets one password', async () => {
    const user = await auth.addUser();
    const token = await tokenOf(user);
    const answers = await Promise.all(
      ['first password 81', 'second password 82'].map((password) => auth.post('/password/reset', { token, password })),
    );
    expect(answers.map(outcome).sort()).toEqual(['200 ok', '400 password.link_invalid']);
  });

  test('with a refused password leaves the link valid', async () => {
    const user = await auth.addUser();
    const token = await tokenOf(user);
    expect(outcome(await auth.post('/password/reset', { token, password: 'password1' }))).toBe('400 password.breached');
    const guessable = await auth.post('/password/reset', { token, password: user.email });
    expect(outcome(guessable)).toBe('400 password.context_specific');
    const short = await auth.post('/password/reset', { token, password: 'short' });
    expect(short.json().error.details).toMatchObject([{ field: 'password', code: 'password.too_short' }]);
    expect(outcome(await auth.post('/password/reset', { token, password: next }))).toBe('200 ok');
  });

  test('by an expired link is 400, as by one that was never issued', async () => {
    const own = await newAdminAuth();
    try {
      const user = await own.addUser();
      const token = await tokenOf(user, own);
      own.pass(hours(1));
      expect(outcome(await own.post('/password/reset', { token, password: next }))).toBe('400 password.link_invalid');
      expect(outcome(await own.get(`/password/reset?token=${token}`, { accept: 'application/json' }))).toBe(
        '400 password.link_invalid',
      );
      await own.post('/password/forgot', { email: 'nobody@example.com' });
      const row = await own.db.transaction('system', (tx) => tx.findOneByOrFail(PasswordLink, { userId: IsNull() }));
      const nobodys = passwordLinkToken(own.sealing, row).token;
      expect(outcome(await own.post('/password/reset', { token: nobodys, password: next }))).toBe(
        '400 password.link_invalid',
      );
    } finally {
      await own.close();
    }
  });

  test.each([['A'.repeat(43)], ['A'.repeat(42)], [''], ['A'.repeat(5000)], ['\u0000../%00']])(
    'the token %j is 400, as a page or as the envelope',
    async (token) => {
      const query = `/password/reset?token=${encodeURIComponent(token)}`;
      for (const page of [await auth.get(query), await asForm(token, next)]) {
        expect([page.statusCode, page.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
        expect(page.body).toContain('This link no longer works');
        expect(page.body).toContain('If you have already set your password with it');
      }
      expect(outcome(await auth.get(query, { accept: 'application/json' }))).toBe('400 password.link_invalid');
      expect(outcome(await auth.post('/password/reset', { token, password: next }))).toBe('400 password.link_invalid');
    },
  );

  test.each([[{}], [{ token: 'x' }], [{ token: 7, password: next }], [{ token: 'x', password: next, more: 1 }]])(
    '%j is 400',
    async (body) => expect(outcome(await auth.post('/password/reset', body))).toBe('400 validation.failed'),
  );
});

describe('the page of the link', () => {
  test('shows a form as often as anybody likes, and consumes nothing', async () => {
    const user = await auth.addUser();
    const token = await tokenOf(user);
    for (let i = 0; i < 3; i++) {
      const page = await auth.get(`/password/reset?token=${token}`);
      expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.headers['referrer-policy']).toBe('same-origin'); // its address contains the token
      expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*form-action 'self'/);
      expect(page.body).toContain('<form method="post" action="/v1/auth/password/reset">');
      expect(page.body).toContain(user.email);
      expect(page.body).toContain('let isSent = false'); // the script suppresses a second click
    }
    const german = await auth.get(`/password/reset?token=${token}`, { 'accept-language': 'de' });
    expect(german.body).toContain('Neues Passwort wählen');
    expect(outcome(await asForm(token, next, { origin: auth.baseUrl, 'sec-fetch-site': 'same-origin' }))).toBe(
      '200 page',
    );
    expect((await signIn(user.email, next)).statusCode).toBe(200);
  });

  test.each(['in sequence', 'at once'])('sent twice %s, reports twice that the password is saved', async (how) => {
    const user = await auth.addUser();
    const token = await tokenOf(user);
    const send = () => asForm(token, next);
    const both = how === 'at once' ? await Promise.all([send(), send()]) : [await send(), await send()];
    for (const answer of both) {
      expect([answer.statusCode, answer.cookies]).toEqual([200, []]);
      expect(answer.body).toContain('Your password is saved');
    }
    expect(await mailsAbout(user.id, 'password-changed')).toHaveLength(1);
    expect((await asForm(token, 'yet another one 77')).statusCode).toBe(400); // that password was not set
    expect(outcome(await auth.post('/password/reset', { token, password: next }))).toBe('400 password.link_invalid');
    auth.pass(minutes(1));
    expect((await asForm(token, next)).statusCode).toBe(400);
  });

  test('shows what is wrong with a password, and keeps the link', async () => {
    const user = await auth.addUser();
    const token = await tokenOf(user);
    for (const [password, text] of [
      ['password1', 'known from a data breach'],
      ['Gatehouse!', 'little more than a name'],
      ['short', 'too short'],
      ['x'.repeat(200), 'too long'],
    ] as const) {
      const page = await asForm(token, password);
      expect(page.statusCode).toBe(400);
      expect(page.body).toContain(text);
      expect(page.body).toContain(`value="${token}"`);
      expect(page.body).not.toContain(`"${password}"`);
      expect(page.headers['cache-control']).toBe('private, max-age=0, must-revalidate'); // for a person who goes back to it
    }
    expect((await asForm(token, next)).body).toContain('Your password is saved');
  });

  test('refuses a form that another site posts, with 403', async () => {
    const user = await auth.addUser();
    const token = await tokenOf(user);
    for (const origin of ['https://evil.example', 'null']) {
      expect((await asForm(token, next, { origin })).statusCode).toBe(403);
    }
    expect((await signIn(user.email, user.password)).statusCode).toBe(200);
  });
});

test('a user without a password sets the first one with the link', async () => {
  const user = await auth.addUser({ password: null });
  const token = await tokenOf(user);
  expect((await auth.get(`/password/reset?token=${token}`)).body).toContain('Set a password');
  expect(outcome(await auth.post('/password/reset', { token, password: next }))).toBe('200 ok');
  expect(await eventsAbout(user.id, 'auth.password_set')).toHaveLength(1);
  expect((await signIn(user.email, next)).statusCode).toBe(200);
});

describe('changing the password', () => {
  const change = (token: string, current_password: string, new_password = next) =>
    auth.put('/password', { current_password, new_password }, bearer(token));

  test('keeps the session that asks, ends the others and mails a notice', async () => {
    const user = await auth.addUser();
    const [mine, other] = [await signIn(user.email, user.password), await signIn(user.email, user.password)].map(
      (one) => one.json().data.access_token as string,
    ) as [string, string];
    expect(outcome(await change(mine, user.password))).toBe('200 ok');
    expect((await auth.get('/me', bearer(mine))).statusCode).toBe(200);
    expect((await auth.get('/me', bearer(other))).statusCode).toBe(401);
    expect((await signIn(user.email, user.password)).statusCode).toBe(401);
    expect((await signIn(user.email, next)).statusCode).toBe(200);
    expect(await mailsAbout(user.id, 'password-changed')).toHaveLength(1);
    expect(await eventsAbout(user.id, 'auth.password_changed')).toHaveLength(1);
  });

  test('with a wrong current password is 400 and an event; with a new one that is known or too short it is 400', async () => {
    const user = await auth.addUser();
    const token = (await signIn(user.email, user.password)).json().data.access_token;
    expect(outcome(await change(token, 'not the password'))).toBe('400 password.wrong');
    expect(await eventsAbout(user.id, 'auth.password_change_failed')).toHaveLength(1);
    expect(outcome(await change(token, user.password, 'password1'))).toBe('400 password.breached');
    expect(outcome(await change(token, user.password, user.email))).toBe('400 password.context_specific');
    expect((await change(token, user.password, 'short')).json().error.details).toMatchObject([
      { field: 'new_password', code: 'password.too_short' },
    ]);
    expect(outcome(await auth.put('/password', {}, bearer(token)))).toBe('400 validation.failed');
    expect((await signIn(user.email, user.password)).statusCode).toBe(200);
  });

  test('is refused to a user without one', async () => {
    const user = await auth.addUser({ password: null });
    const { accessToken } = await auth.sessionOf(user.id);
    expect(outcome(await change(accessToken, ''))).toBe('400 password.wrong');
  });

  test.each([
    ['the session that asks ends', 'update user_sessions set revoked_at = $2 where user_id = $1', '401 null'],
    ['the password is reset', 'update users set password_changed_at = $2 where id = $1', '400 password.wrong'],
  ])('is refused if %s while the new password is hashed', async (_, meanwhile, refusal) => {
    const user = await auth.addUser();
    const token = (await signIn(user.email, user.password)).json().data.access_token;
    auth.pass(5);
    const { answer } = await auth.db.transaction('system', async (tx) => {
      await tx.query('select from users where id = $1 for update', [user.id]);
      const answer = change(token, user.password);
      await untilWaiting(auth.database.ownerUrl, 1); // by then the old password is verified
      await tx.query(meanwhile, [user.id, auth.now()]);
      return { answer };
    });
    expect(outcome(await answer)).toBe(refusal);
    expect((await userRow(user.id)).passwordHash).toBe(user.passwordHash);
  });
});

describe('a sign-in that races a reset', () => {
  test('leaves no session of the old password', async () => {
    for (let i = 0; i < 4; i++) {
      const user = await auth.addUser();
      const token = await tokenOf(user);
      const [reset, ...logins] = await Promise.all([
        auth.post('/password/reset', { token, password: next }),
        ...Array.from({ length: 6 }, () => signIn(user.email, user.password)),
      ]);
      expect(reset.statusCode).toBe(200);
      for (const login of logins) {
        if (login.statusCode === 401) continue;
        expect((await auth.get('/me', bearer(login.json().data.access_token))).statusCode).toBe(401);
      }
    }
  });

  test('is refused between the verification and its session', async () => {
    const user = await auth.addUser();
    const start = auth.users.sessions.start({
      userId: user.id,
      accountId: null,
      applicationId: null,
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
      ssoConnectionId: null,
      authenticatedAt: auth.now(),
      ipAddress: null,
      userAgent: null,
      proof: { passwordChangedAt: new Date(0), mfaResetAt: null, emailChangedAt: null }, // as before the reset
    });
    await expect(start).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
  });

  test('has no further choice of application', async () => {
    const user = await auth.addUser({ accounts: [2] });
    const { selection_token, applications } = (await signIn(user.email, user.password)).json().data;
    auth.pass(5);
    await auth.post('/password/reset', { token: await tokenOf(user), password: next });
    const choice = { selection_token, application_id: applications[0].id };
    expect(outcome(await auth.post('/select-application', choice))).toBe('401 null');
  });
});

describe('limits', () => {
  let limited: AdminAuth;
  beforeAll(async () => {
    limited = await newAdminAuth({ rateLimits: true });
  });
  afterAll(() => limited.close());

  test('a network address may request five links an hour', async () => {
    for (let i = 0; i < 5; i++) {
      const answer = await limited.post('/password/forgot', { email: `a${i}@example.com` }, from('203.0.113.1'));
      expect(answer.statusCode).toBe(200);
    }
    const refused = await limited.post('/password/forgot', { email: 'b@example.com' }, from('203.0.113.1'));
    expect(outcome(refused)).toBe('429 rate_limit.exceeded');
  });

  test('an email address gets three links an hour, known or not, however it is written', async () => {
    const { email } = await limited.addUser();
    for (const [n, address] of [email, 'stranger@example.com'].entries()) {
      for (let i = 0; i < 3; i++) {
        const written = i % 2 ? address : address.toUpperCase();
        const answer = await limited.post('/password/forgot', { email: written }, from(`203.0.113.${10 + n * 4 + i}`));
        expect(answer.statusCode).toBe(200);
      }
      const refused = await limited.post('/password/forgot', { email: address }, from(`203.0.113.${13 + n * 4}`));
      expect(outcome(refused)).toBe('429 rate_limit.exceeded');
    }
  });

  test('a network address may reset twenty passwords an hour', async () => {
    const body = { token: 'A'.repeat(43), password: next };
    for (let i = 0; i < 20; i++) {
      expect((await limited.post('/password/reset', body, from('203.0.113.30'))).statusCode).toBe(400);
    }
    expect((await limited.post('/password/reset', body, from('203.0.113.30'))).statusCode).toBe(429);
  });

  test('ten wrong guesses at a change in a quarter of an hour are accepted, even at once; right ones do not count', async () => {
    const user = await limited.addUser();
    const { accessToken } = await limited.sessionOf(user.id);
    const change = (current_password: string, new_password: string) =>
      limited.put('/password', { current_password, new_password }, bearer(accessToken));
    expect((await change(user.password, next)).statusCode).toBe(200);
    const answers = await Promise.all(Array.from({ length: 14 }, () => change('a wrong guess', next)));
    expect(answers.map(outcome).sort()).toEqual([
      ...Array.from({ length: 10 }, () => '400 password.wrong'),
      ...Array.from({ length: 4 }, () => '429 rate_limit.exceeded'),
    ]);
    const refused = await change(next, 'yet another one 77');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(minutes(14) / 1000);
    expect(refused.headers['ratelimit-policy']).toBe('"admin-password-change";q=10;w=900');
    expect(refused.headers.ratelimit).toBe(`"admin-password-change";r=0;t=${refused.headers['retry-after']}`);
  });

  test('fifty wrong guesses at a change in a day are accepted, separate from sign-in; a link to a new password resets the count', async () => {
    const user = await limited.addUser();
    const change = async (current_password: string, session?: { accessToken: string }) => {
      const { accessToken } = session ?? (await limited.sessionOf(user.id));
      return limited.put('/password', { current_password, new_password: next }, bearer(accessToken));
    };
    const session = await limited.sessionOf(user.id);
    for (let i = 0; i < 5; i++) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => change('a wrong guess', session)));
      expect(answers.map(outcome)).toEqual(Array(10).fill('400 password.wrong'));
      await limited.db.pool.query(`delete from rate_limits where key like 'admin-password-change:%'`);
    }
    const refused = await change(user.password, session);
    expect(outcome(refused)).toBe('429 rate_limit.exceeded');
    expect(refused.headers['ratelimit-policy']).toBe('"admin-password-change-day";q=50;w=86400');
    const credentials = { email: user.email, password: user.password };
    expect((await limited.post('/login', credentials, from('203.0.113.40'))).statusCode).toBe(200);
    await limited.post('/password/forgot', { email: user.email }, from('203.0.113.40'));
    const token = await limited.passwordTokenFor(user.id);
    const reset = { token, password: 'in between 44 others' };
    expect((await limited.post('/password/reset', reset, from('203.0.113.40'))).statusCode).toBe(200);
    expect((await change(reset.password)).statusCode).toBe(200);
  });
});
