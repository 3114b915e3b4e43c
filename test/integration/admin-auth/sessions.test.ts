import { decodeJwt } from 'jose';
import type { EntityManager } from 'typeorm';
import { Event } from '../../../entities/event.js';
import { User } from '../../../entities/user.js';
import { days, hours, minutes, seconds } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, cookieHeader, cookieOf, newAdminAuth } from '../../support/admin-auth.js';
import { comingUpon } from '../../support/uncommitted.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

/** Signs in a new user. */
async function signedIn() {
  const user = await auth.addUser();
  const answer = await auth.post('/login', { email: user.email, password: user.password });
  return { user, answer, token: answer.json().data.access_token as string, cookie: cookieHeader(answer) };
}
const again = async ({ email, password }: { email: string; password: string }) =>
  auth.post('/login', { email, password });

/** Returns the events of a session. */
const eventsOf = (sid: unknown) =>
  auth.db.transaction('system', (tx) => tx.findBy(Event, { resourceId: sid as string }));

describe('cookies', () => {
  const attributes = (answer: Awaited<ReturnType<AdminAuth['post']>>) =>
    ([] as string[]).concat(answer.headers['set-cookie'] ?? []).map((cookie) => cookie.replace(/=[\w-]{43};/, '=…;'));

  test('over http keep the refresh token from scripts, and show them the marker', async () => {
    const { answer } = await signedIn();
    expect(attributes(answer)).toEqual([
      'admin_refresh=…; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict',
      'admin_session=1; Max-Age=2592000; Path=/; SameSite=Lax',
    ]);
  });

  test('over https are bound to the host and to TLS', async () => {
    const secure = await newAdminAuth({ baseUrl: 'https://id.example.com' });
    try {
      const user = await secure.addUser();
      const answer = await secure.post('/login', { email: user.email, password: user.password });
      expect(attributes(answer)).toEqual([
        '__Host-admin_refresh=…; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=Strict',
        '__Host-admin_session=1; Max-Age=2592000; Path=/; Secure; SameSite=Lax',
      ]);
      expect(answer.headers).toMatchObject({
        'strict-transport-security': 'max-age=31536000; includeSubDomains',
        'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      });
      const refreshed = await secure.post('/refresh', undefined, cookieHeader(answer));
      expect(refreshed.statusCode).toBe(200);
      expect(attributes(refreshed)).toEqual(attributes(answer));
      const out = await secure.post('/logout', undefined, cookieHeader(refreshed));
      expect(attributes(out)).toEqual([
        expect.stringMatching(
          /^__Host-admin_refresh=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970 .*; HttpOnly; Secure; SameSite=Strict$/,
        ),
        expect.stringMatching(
          /^__Host-admin_session=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970 .*; Secure; SameSite=Lax$/,
        ),
      ]);
      // The unprefixed name, which any subdomain could set, is ignored.
      const planted = { cookie: `admin_refresh=${cookieOf(answer, '__Host-admin_refresh').value}` };
      expect((await secure.post('/refresh', undefined, planted)).statusCode).toBe(401);
    } finally {
      await secure.close();
    }
  });
});

describe('refresh', () => {
  test('returns a new access token of the same session and replaces the cookie', async () => {
    const { answer, token, user } = await signedIn();
    const refreshed = await auth.post('/refresh', undefined, cookieHeader(answer));
    expect(refreshed.statusCode).toBe(200);
    expect(refreshed.json()).toEqual({
      data: { access_token: expect.any(String), token_type: 'Bearer', expires_in: 900 },
    });
    const [before, after] = [decodeJwt(token), decodeJwt(refreshed.json().data.access_token)];
    for (const claim of ['sub', 'sid', 'auth_time', 'amr', 'account_id', 'application_id']) {
      expect(after[claim]).toEqual(before[claim]);
    }
    expect(after.jti).not.toBe(before.jti);
    expect(after.sub).toBe(user.id);
    expect(cookieOf(refreshed).value).not.toBe(cookieOf(answer).value);
    expect((await auth.post('/refresh', undefined, cookieHeader(refreshed))).statusCode).toBe(200);
  });

  test('from several tabs at once succeeds for all, with one successor', () =>
    auth.whileTimeStands(async () => {
      const { cookie } = await signedIn();
      const answers = await Promise.all(Array.from({ length: 5 }, () => auth.post('/refresh', undefined, cookie)));
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
      expect(new Set(answers.map((answer) => cookieOf(answer).value)).size).toBe(1);
      auth.pass(seconds(9));
      expect((await auth.post('/refresh', undefined, cookie)).statusCode).toBe(200);
    }));

  test('with a token that was replaced long ago ends the session, for thief and owner', async () => {
    const { cookie, token, user } = await signedIn();
    const next = await auth.post('/refresh', undefined, cookie);
    auth.pass(seconds(11));
    const reused = await auth.post('/refresh', undefined, cookie);
    expect(reused.statusCode).toBe(401);
    expect(cookieOf(reused)).toMatchObject({ value: '' });
    expect((await auth.post('/refresh', undefined, cookieHeader(next))).statusCode).toBe(401);
    expect((await auth.get('/me', bearer(token))).statusCode).toBe(401);
    const sid = decodeJwt(token).sid as string;
    const events = await auth.db.transaction('system', (tx) =>
      tx.findBy(Event, { action: 'session.refresh_reuse_detected', resourceId: sid }),
    );
    expect(events).toMatchObject([{ actorId: user.id, severity: 'critical', outcome: 'denied' }]);
    // The user's other sessions go on.
    expect((await again(user)).statusCode).toBe(200);
  });

  test.each([
    ['no cookie', {}],
    ['an empty cookie', { cookie: 'admin_refresh=' }],
    ['an unknown cookie', { cookie: `admin_refresh=${'A'.repeat(43)}` }],
    ['a cookie with odd characters', { cookie: 'admin_refresh=%00%ff; admin_session=1' }],
  ])('with %s is 401', async (_, headers) => {
    const answer = await auth.post('/refresh', undefined, headers);
    expect(answer.statusCode).toBe(401);
    expect(answer.json().error.code).toBeNull();
  });

  test('slides for 30 days at a time, and 90 days at most', async () => {
    const own = await newAdminAuth();
    try {
      const user = await own.addUser();
      let answer = await own.post('/login', { email: user.email, password: user.password });
      const idle = await own.post('/login', { email: user.email, password: user.password });
      for (const day of [29, 58, 87]) {
        own.pass(days(29));
        answer = await own.post('/refresh', undefined, cookieHeader(answer));
        expect([day, answer.statusCode]).toEqual([day, 200]);
      }
      expect((await own.post('/refresh', undefined, cookieHeader(idle))).statusCode).toBe(401);
      own.pass(days(3) + minutes(1));
      expect((await own.post('/refresh', undefined, cookieHeader(answer))).statusCode).toBe(401);
    } finally {
      await own.close();
    }
  });

  test('is refused once the user is deleted', async () => {
    const { cookie, user, token } = await signedIn();
    await auth.db.transaction('system', (tx) => tx.delete(User, { id: user.id }));
    expect((await auth.post('/refresh', undefined, cookie)).statusCode).toBe(401);
    expect((await auth.get('/me', bearer(token))).statusCode).toBe(401);
  });
});

describe('a foreign Origin', () => {
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'http://localhost:3001' },
    { origin: 'https://localhost:3000' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ];
  test.each(foreign)('%j is refused and changes nothing', async (headers) => {
    const { cookie, user, token } = await signedIn();
    for (const url of ['/refresh', '/logout']) {
      const answer = await auth.post(url, undefined, { ...cookie, ...headers });
      expect(answer.statusCode).toBe(403);
      expect(answer.cookies).toEqual([]);
    }
    const login = await auth.post('/login', { email: user.email, password: user.password }, headers);
    expect(login.statusCode).toBe(403);
    expect(login.cookies).toEqual([]);
    const choice = { selection_token: 'x', application_id: user.id };
    expect((await auth.post('/select-application', choice, headers)).statusCode).toBe(403);
    expect((await auth.get('/me', bearer(token))).statusCode).toBe(200);
    expect((await auth.post('/refresh', undefined, cookie)).statusCode).toBe(200);
  });

  test('does not include our own', async () => {
    const { cookie } = await signedIn();
    const own = { ...cookie, origin: auth.baseUrl, 'sec-fetch-site': 'same-origin' };
    expect((await auth.post('/refresh', undefined, own)).statusCode).toBe(200);
  });
});

describe('logout', () => {
  test('revokes the session of the cookie at once; a second time is no error', async () => {
    const { cookie, token, user } = await signedIn();
    const answer = await auth.post('/logout', undefined, cookie);
    expect(answer.statusCode).toBe(204);
    expect(answer.body).toBe('');
    expect(answer.cookies.map(({ name, value }) => [name, value])).toEqual([
      ['admin_refresh', ''],
      ['admin_session', ''],
    ]);
    expect((await auth.get('/me', bearer(token))).statusCode).toBe(401);
    expect((await auth.post('/refresh', undefined, cookie)).statusCode).toBe(401);
    expect((await auth.post('/logout', undefined, cookie)).statusCode).toBe(204);
    expect((await auth.post('/logout')).statusCode).toBe(204);
    const told = { action: 'auth.admin_signed_out', actorId: user.id, accountId: user.accounts[0]?.account.id };
    expect(await eventsOf(decodeJwt(token).sid)).toMatchObject([told]);
  });

  test('works with the access token alone, and with a replaced cookie', async () => {
    const one = await signedIn();
    expect((await auth.post('/logout', undefined, bearer(one.token))).statusCode).toBe(204);
    expect((await auth.get('/me', bearer(one.token))).statusCode).toBe(401);
    const other = await signedIn();
    await auth.post('/refresh', undefined, other.cookie);
    expect((await auth.post('/logout', undefined, other.cookie)).statusCode).toBe(204);
    expect((await auth.get('/me', bearer(other.token))).statusCode).toBe(401);
  });
});

describe('sessions', () => {
  test('are listed with the current one flagged, sorted by last use if asked', async () => {
    const user = await auth.addUser();
    const credentials = { email: user.email, password: user.password };
    const first = await auth.post('/login', credentials, { 'user-agent': 'Firefox', 'x-forwarded-for': '203.0.113.7' });
    auth.pass(minutes(1));
    const second = await auth.post('/login', credentials, { 'user-agent': 'x'.repeat(700) });
    auth.pass(minutes(1));
    await auth.post('/refresh', undefined, cookieHeader(first));
    const answer = await auth.get('/sessions?sort_by=last_used_at', bearer(second.json().data.access_token));
    expect(answer.statusCode).toBe(200);
    expect(answer.json().items).toEqual([
      {
        id: decodeJwt(first.json().data.access_token).sid,
        current: false,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
        last_used_at: expect.any(String),
        ip_address: '203.0.113.7',
        user_agent: 'Firefox',
        authenticated_at: expect.any(String),
        amr: ['pwd'],
        acr: 'urn:gatehouse:aal1',
      },
      expect.objectContaining({
        id: decodeJwt(second.json().data.access_token).sid,
        current: true,
        user_agent: 'x'.repeat(500),
      }),
    ]);
    expect(answer.json().pagination).toMatchObject({ page: 1, take: 20, item_count: 2, page_count: 1 });
    const byAge = await auth.get('/sessions', bearer(second.json().data.access_token));
    expect(byAge.json().items.map(({ current }: { current: boolean }) => current)).toEqual([true, false]);
    const found = await auth.get('/sessions?q=firefox&take=1', bearer(second.json().data.access_token));
    expect(found.json()).toMatchObject({ items: [{ user_agent: 'Firefox' }], pagination: { item_count: 1 } });
    expect((await auth.get('/sessions?take=0', bearer(second.json().data.access_token))).statusCode).toBe(400);
  });

  test('leave the list when they have ended', async () => {
    const { user, token, cookie } = await signedIn();
    await again(user);
    await auth.post('/logout', undefined, cookie);
    expect((await auth.get('/sessions', bearer(token))).statusCode).toBe(401);
    const third = await again(user);
    const { items } = (await auth.get('/sessions', bearer(third.json().data.access_token))).json();
    expect(items).toHaveLength(2);
  });

  test('stop working at once when revoked, tokens and cookie', async () => {
    const { user, token, cookie } = await signedIn();
    const other = await again(user);
    const sid = decodeJwt(token).sid as string;
    const revoked = await auth.delete(`/sessions/${sid}`, bearer(other.json().data.access_token));
    expect(revoked.statusCode).toBe(204);
    expect(revoked.cookies).toEqual([]); // the cookie was another browser's
    const told = { action: 'auth.admin_session_revoked', actorId: user.id, accountId: user.accounts[0]?.account.id };
    expect(await eventsOf(sid)).toMatchObject([told]);
    expect((await auth.get('/me', bearer(token))).statusCode).toBe(401);
    expect((await auth.post('/refresh', undefined, cookie)).statusCode).toBe(401);
    const again404 = await auth.delete(`/sessions/${sid}`, bearer(other.json().data.access_token));
    expect(again404.statusCode).toBe(404);
    const current = decodeJwt(other.json().data.access_token).sid as string;
    const self = await auth.delete(`/sessions/${current}`, bearer(other.json().data.access_token));
    expect(self.statusCode).toBe(204);
    expect(cookieOf(self).value).toBe('');
  });

  test('that are current and revoked twice at once leave the second request signed out', async () => {
    const { token } = await signedIn();
    const { sid } = decodeJwt(token);
    const revoke = async () => (await auth.delete(`/sessions/${sid}`, bearer(token))).statusCode;
    const lock = (tx: EntityManager) => tx.query('select from user_sessions where id = $1 for update', [sid]);
    const both = await comingUpon(auth.database, lock, () => Promise.all([revoke(), revoke()]), { waiting: 2 });
    expect(both.sort()).toEqual([204, 401]);
    expect(await revoke()).toBe(401);
  });

  test('of others are 404, like unknown ones and invalid ids', async () => {
    const [ana, ben] = [await signedIn(), await signedIn()];
    const theirs = decodeJwt(ben.token).sid as string;
    const answer = await auth.delete(`/sessions/${theirs}`, bearer(ana.token));
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.code).toBe('session.not_found');
    expect((await auth.get('/me', bearer(ben.token))).statusCode).toBe(200);
    expect((await auth.delete('/sessions/01890000-0000-7000-8000-000000000000', bearer(ana.token))).statusCode).toBe(
      404,
    );
    expect((await auth.delete('/sessions/mine', bearer(ana.token))).statusCode).toBe(404);
    expect((await auth.delete(`/sessions/${theirs}`)).statusCode).toBe(401);
  });
});

test('/me returns the user, the accounts with roles, and the session’s binding', async () => {
  const { user, token } = await signedIn();
  const account = user.accounts[0]?.account;
  const named = { id: account?.id, name: account?.name, slug: account?.slug };
  const application = user.accounts[0]?.applications[0];
  const answer = await auth.get('/me', bearer(token));
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({
    data: {
      user: {
        id: user.id,
        email: user.email,
        first_name: 'Ana',
        last_name: 'Brandt',
        email_verified: true,
        created_at: user.createdAt.toISOString(),
      },
      session: { authenticated_at: expect.any(String), amr: ['pwd'], acr: 'urn:gatehouse:aal1' },
      accounts: [
        {
          ...named,
          require_mfa: false,
          require_sso: false,
          sso_required: false,
          roles: [{ role_id: expect.any(String), name: 'Owner', system_key: 'owner' }],
        },
      ],
      account: named,
      application: { id: application?.id, name: application?.name, slug: application?.slug },
    },
  });
  auth.pass(hours(1));
  expect((await auth.get('/me', bearer(token))).statusCode).toBe(401); // expired
});
