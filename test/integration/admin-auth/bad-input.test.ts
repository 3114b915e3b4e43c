import { type AdminAuth, newAdminAuth } from '../../support/admin-auth.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

const json = { 'content-type': 'application/json' };
const good: Record<string, object> = {
  '/login': { email: 'ana@example.com', password: 'violet tractor 19' },
  '/register': {
    email: 'ana@example.com',
    password: 'violet tractor 19',
    first_name: 'Ana',
    last_name: 'Brandt',
    account_name: 'Acme',
    application_name: 'Shop',
  },
};
const routes = Object.keys(good);
const detailsOf = (answer: Awaited<ReturnType<AdminAuth['post']>>) =>
  (answer.json().error.details ?? []).map(({ field, code }: { field: string; code: string }) => `${field}: ${code}`);

describe.each(routes)('%s', (url) => {
  test.each([
    ['text that is no JSON', '{"email":', json, 400, 'body.malformed'],
    ['nothing', '', json, 400, 'body.malformed'],
    ['a number', '7', json, 400, 'validation.failed'],
    ['null', 'null', json, 400, 'validation.failed'],
    ['a list', '[]', json, 400, 'validation.failed'],
    ['an attempt on prototypes', '{"__proto__":{"email":"a@b.co"}}', json, 400, 'body.malformed'],
    [
      'a form',
      'email=a%40b.co&password=x',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'body.unsupported_media_type',
    ],
    ['plain text', '{"email":"a@b.co"}', { 'content-type': 'text/plain' }, 415, 'body.unsupported_media_type'],
    ['more than a mebibyte', JSON.stringify({ email: 'a'.repeat(1024 * 1024) }), json, 413, 'body.too_large'],
  ])('with %s', async (_, payload, headers, status, code) => {
    const answer = await auth.post(url, payload, headers as Record<string, string>);
    expect([answer.statusCode, answer.json().error.code]).toEqual([status, code]);
    expect(answer.json().error).toMatchObject({ statusCode: status, path: `/v1/auth${url}`, method: 'POST' });
  });

  test('names the fields that are missing, unknown or of the wrong type', async () => {
    const missing = await auth.post(url, {});
    expect(missing.statusCode).toBe(400);
    expect(detailsOf(missing).sort()).toEqual(
      Object.keys(good[url] as object)
        .map((field) => `${field}: required`)
        .sort(),
    );

    const unknown = await auth.post(url, { ...good[url], admin: true });
    expect([unknown.statusCode, detailsOf(unknown)]).toEqual([400, ['admin: unknown_field']]);

    for (const value of [7, null, true, ['x'], { $ne: null }]) {
      const wrong = await auth.post(url, { ...good[url], password: value });
      expect([wrong.statusCode, detailsOf(wrong)]).toEqual([400, ['password: type']]);
    }
  });

  test.each([
    'ana',
    'ana@',
    '@example.com',
    'ana@example.com ',
    'ana@exam ple.com',
    'ana@example.com\u0000',
    'ana@example.com\nbcc: ben@example.com',
    `${'a'.repeat(250)}@example.com`,
    '\ud800@example.com',
    '',
  ])('refuses an address like %j', async (email) => {
    const answer = await auth.post(url, { ...good[url], email });
    expect(answer.statusCode).toBe(400);
    expect(detailsOf(answer)[0]).toMatch(/^email: /);
  });

  test('answers every password without a server error', async () => {
    for (const password of [
      '',
      '\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000',
      '\ud800'.repeat(9),
      '\ufdfa'.repeat(100),
      'x'.repeat(1025),
    ]) {
      const answer = await auth.post(url, { ...good[url], password });
      expect(answer.statusCode).toBeLessThan(500);
      if (url === '/login') expect([400, 401]).toContain(answer.statusCode);
    }
  });

  test('accepts no other method', async () => {
    const answer = await auth.app.inject({ method: 'PUT', url: `/v1/auth${url}`, payload: {} });
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toContain('POST');
  });
});

test.each(['first_name', 'last_name', 'account_name', 'application_name'])(
  'register refuses an invalid %s',
  async (field) => {
    for (const value of ['', '   ', 'a\u0000b', 'a\nb', 'x'.repeat(201), '\u0007']) {
      const answer = await auth.post('/register', { ...good['/register'], [field]: value });
      expect([value, answer.statusCode]).toEqual([value, 400]);
      expect(detailsOf(answer)[0]).toMatch(new RegExp(`^${field}: `));
    }
  },
);

test('registering reports how long a password must be', async () => {
  const short = await auth.post('/register', { ...good['/register'], password: 'seven 7' });
  expect(short.json().error).toMatchObject({ statusCode: 400, code: 'validation.failed' });
  expect(detailsOf(short)).toEqual(['password: password.too_short']);
  const long = await auth.post('/register', { ...good['/register'], password: 'x'.repeat(129) });
  expect(detailsOf(long)).toEqual(['password: password.too_long']);
});

test('application ids and selection tokens of any form are refused without a server error', async () => {
  for (const application_id of ['x', 7, null, '', '01890000-0000-7000-8000-00000000000g']) {
    expect((await auth.post('/login', { ...good['/login'], application_id })).statusCode).toBe(400);
  }
  for (const selection_token of [7, null, 'x'.repeat(3000)]) {
    const body = { selection_token, application_id: '01890000-0000-7000-8000-000000000000' };
    expect((await auth.post('/select-application', body)).statusCode).toBe(400);
  }
});

test('an unknown path is 404', async () => {
  const answer = await auth.get('/nothing');
  expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'route.not_found']);
});
