import { decodeJwt } from 'jose';
import { PendingRegistration } from '../../entities/pending-registration.js';
import { User } from '../../entities/user.js';
import { DomainError } from '../../src/domain/errors.js';
import { hours } from '../../src/platform/clock.js';
import { type AdminAuth, bearer, cookieHeader, cookieOf, newAdminAuth } from './admin-auth-setup.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

let count = 0;
/** Somebody who has registered; with the token of the mailed link. */
async function registered(at = auth, more: object = {}) {
  count += 1;
  const person = {
    email: `owner-${count}@example.com`,
    password: 'violet tractor 19',
    first_name: 'Ana',
    last_name: 'Brandt',
    account_name: `Acme ${count}`,
    application_name: 'Shop',
    ...more,
  };
  await at.post('/register', person);
  return { ...person, token: await at.linkTokenFor(person.email) };
}
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const asForm = (token: string, headers: Record<string, string> = {}, at = auth) =>
  at.post('/verify-email', `token=${encodeURIComponent(token)}`, { ...form, ...headers });
const statusOf = async (email: string, at = auth) =>
  (await at.db.transaction('system', (tx) => tx.findOneBy(PendingRegistration, { email })))?.status;

test('opening the link shows what it would create, as often as anybody likes, and consumes nothing', async () => {
  const person = await registered(auth, { account_name: 'Acme <b>& Co</b>' });
  for (let i = 0; i < 3; i++) {
    const page = await auth.get(`/verify-email?token=${person.token}&utm_source=mail`);
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['referrer-policy']).toBe('same-origin'); // its address has the token
    expect(page.headers['cache-control']).toBe('no-store');
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*form-action 'self'/);
    expect(page.body).toContain('<form method="post" action="/v1/auth/verify-email">');
    expect(page.body).toContain('Acme &lt;b&gt;&amp; Co&lt;/b&gt;');
    expect(page.body).toContain(person.email);
    expect(page.cookies).toEqual([]);
  }
  expect(
    (await auth.app.inject({ method: 'HEAD', url: `/v1/auth/verify-email?token=${person.token}` })).statusCode,
  ).toBe(200);
  expect(await statusOf(person.email)).toBe('pending');
});

test('the page’s button creates the account and signs its owner in', async () => {
  const person = await registered();
  const page = await asForm(person.token, { origin: auth.baseUrl, 'sec-fetch-site': 'same-origin' });
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.body).toContain(person.account_name);
  expect(page.body).not.toContain(person.token);
  expect(page.cookies.map(({ name }) => name)).toEqual(['admin_refresh', 'admin_session']);
  const refreshed = await auth.post('/refresh', undefined, cookieHeader(page));
  const me = await auth.get('/me', bearer(refreshed.json().data.access_token));
  expect(me.json().data).toMatchObject({
    user: { email: person.email, email_verified: true },
    accounts: [{ name: person.account_name, roles: [{ name: 'Owner' }] }],
    application: { name: 'Shop' },
  });
  const login = await auth.post('/login', { email: person.email, password: person.password });
  expect(login.json().data.outcome).toBe('authenticated');
});

test('JSON is answered like the creation of an account', async () => {
  const person = await registered();
  const answer = await auth.post('/verify-email', { token: person.token });
  expect(answer.statusCode).toBe(201);
  const user = await auth.db.transaction('system', (tx) => tx.findOneByOrFail(User, { email: person.email }));
  expect(answer.json()).toEqual({
    data: {
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 900,
      user: { id: user.id, email: person.email, first_name: 'Ana', last_name: 'Brandt' },
      account: { id: expect.any(String), name: person.account_name, slug: expect.any(String) },
      application: { id: expect.any(String), name: 'Shop', slug: 'shop' },
      mfa_enrollment_required: false,
    },
  });
  const { account, application, access_token } = answer.json().data;
  expect(decodeJwt(access_token)).toMatchObject({
    sub: user.id,
    account_id: account.id,
    application_id: application.id,
    amr: ['otp'],
    acr: 'urn:gatehouse:aal1',
  });
  expect(cookieOf(answer).value).toMatch(/^[\w-]{43}$/);
});

describe('a link that is', () => {
  const used = async () => {
    const { token } = await registered();
    await auth.post('/verify-email', { token });
    return token;
  };
  test.each<[string, () => Promise<string> | string]>([
    ['used', used],
    ['unknown', () => 'A'.repeat(43)],
    ['cut', async () => (await registered()).token.slice(0, -1)],
    ['empty', () => ''],
    ['too long', () => 'A'.repeat(5000)],
    ['odd', () => '\u0000../../%00'],
  ])('%s is 400, as a page or as the envelope, and starts no session', async (_, make) => {
    const token = await make();
    const query = `/verify-email?token=${encodeURIComponent(token)}`;
    const answers = [await auth.get(query), await asForm(token)];
    for (const page of answers) {
      expect(page.statusCode).toBe(400);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(page.headers['referrer-policy']).toBe('same-origin'); // its address has the token
      expect(page.body).toContain('This link no longer works');
      expect(page.cookies).toEqual([]);
    }
    for (const answer of [
      await auth.get(query, { accept: 'application/json' }),
      await auth.post('/verify-email', { token }),
    ]) {
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error).toMatchObject({ code: 'registration.link_invalid', path: '/v1/auth/verify-email' });
      expect(answer.cookies).toEqual([]);
    }
  });

  test('expired is 400 too, whatever the worker has noticed', async () => {
    const own = await newAdminAuth();
    try {
      const person = await registered(own);
      own.pass(hours(24));
      expect((await own.get(`/verify-email?token=${person.token}`)).statusCode).toBe(400);
      expect((await own.post('/verify-email', { token: person.token })).json().error.code).toBe(
        'registration.link_invalid',
      );
      expect(await own.db.transaction('system', (tx) => tx.countBy(User, { email: person.email }))).toBe(0);
    } finally {
      await own.close();
    }
  });
});

test('malformed requests are 400, as a page or as the envelope', async () => {
  for (const url of ['/verify-email', '/verify-email?token=a&token=b']) {
    expect((await auth.get(url)).body).toContain('This link no longer works');
    expect((await auth.get(url, { accept: 'application/json' })).json().error.code).toBe('validation.failed');
  }
  expect((await auth.post('/verify-email', 'other=1', form)).statusCode).toBe(400);
  for (const body of [{}, { token: 7 }, { token: 'x', more: 1 }, []]) {
    const answer = await auth.post('/verify-email', body);
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'validation.failed']);
  }
  const broken = await auth.post('/verify-email', '{', { 'content-type': 'application/json' });
  expect([broken.statusCode, broken.json().error.code]).toEqual([400, 'body.malformed']);
});

test('a form that another site posts is 403, consumes nothing and starts no session', async () => {
  const person = await registered();
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
  ]) {
    const page = await asForm(person.token, headers as Record<string, string>);
    expect(page.statusCode).toBe(403);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.cookies).toEqual([]);
  }
  const json = await auth.post('/verify-email', { token: person.token }, { origin: 'https://evil.example' });
  expect([json.statusCode, json.json().error.code]).toEqual([403, 'origin.foreign']);
  expect(await statusOf(person.email)).toBe('pending');
});

test('while the process cannot answer it is 503 with Retry-After, and the link stays good', async () => {
  let away = true;
  const own: AdminAuth = await newAdminAuth({
    confirmRegistration: async ({ pendingRegistrationId }) => {
      if (away) throw new DomainError('service.unavailable', { retryAfter: 5 });
      return own.registrations.provision(pendingRegistrationId);
    },
  });
  try {
    const person = await registered(own);
    const [page, answer] = [
      await asForm(person.token, {}, own),
      await own.post('/verify-email', { token: person.token }),
    ];
    for (const { statusCode, headers, cookies } of [page, answer]) {
      expect([statusCode, headers['retry-after'], cookies]).toEqual([503, '5', []]);
    }
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.json().error.code).toBe('service.unavailable');
    away = false;
    expect((await own.post('/verify-email', { token: person.token })).statusCode).toBe(201);
  } finally {
    await own.close();
  }
});

test('pages speak the browser’s language, and else that of the registration', async () => {
  const { email, token: _, ...rest } = await registered();
  await auth.post('/register', { ...rest, email: `de-${email}` }, { 'accept-language': 'de' });
  const german = await auth.linkTokenFor(`de-${email}`);
  expect((await auth.get(`/verify-email?token=${german}`)).headers['content-language']).toBe('de');
  const browser = { 'accept-language': 'en' };
  expect((await auth.get(`/verify-email?token=${german}`, browser)).headers['content-language']).toBe('en');
});
