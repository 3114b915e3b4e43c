import { type AdminAuth, bearer, newAdminAuth } from './admin-auth-setup.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth({ rateLimits: true, anonymousPerMinute: 30 }); // so few that a slow machine sends them in a minute
});
afterAll(() => auth.close());

const from = (address: string) => ({ 'x-forwarded-for': address });

test.each([
  ['/login', 900],
  ['/register', 3600],
])('%s answers five times in its window and then says when to come back', async (url, windowSeconds) => {
  for (let i = 0; i < 5; i++) {
    const answer = await auth.post(url, {}, from('203.0.113.1'));
    expect(answer.statusCode).toBe(400); // counted all the same
    expect(answer.headers['ratelimit-policy']).toContain(`q=5;w=${windowSeconds}`);
  }
  const refused = await auth.post(url, {}, from('203.0.113.1'));
  expect([refused.statusCode, refused.json().error.code]).toEqual([429, 'rate_limit.exceeded']);
  const retryAfter = Number(refused.headers['retry-after']);
  expect(retryAfter).toBeGreaterThan(windowSeconds - 30);
  expect(retryAfter).toBeLessThanOrEqual(windowSeconds);
  // Another address is not concerned.
  expect((await auth.post(url, {}, from('203.0.113.2'))).statusCode).toBe(400);
});

test('five registrations an hour are mailed to an address, wherever they come from', async () => {
  const { email } = await auth.addUser();
  for (const address of [email, `nobody-${email}`]) {
    const seen: number[] = [];
    for (let i = 0; i < 6; i++) {
      const names = { first_name: 'Ana', last_name: 'Lim', account_name: 'Acme', application_name: 'Portal' };
      const body = { ...names, email: i % 2 ? address.toUpperCase() : address, password: 'a long and quiet evening' };
      seen.push((await auth.post('/register', body, from(`198.51.100.${i}`))).statusCode);
    }
    expect(seen).toEqual([201, 201, 201, 201, 201, 429]);
  }
});

test('of two limits that count a request, its answer tells of the nearer one', async () => {
  const names = { first_name: 'Ana', last_name: 'Lim', account_name: 'Acme', application_name: 'Portal' };
  const told = [];
  for (let i = 0; i < 4; i++) {
    const body = { ...names, email: `nearer-${i % 3}@example.com`, password: 'a long and quiet evening' };
    const { headers } = await auth.post('/register', body, from('203.0.113.6'));
    told.push([headers.ratelimit, headers['ratelimit-policy']]);
  }
  expect(told).toEqual(
    [4, 3, 2, 1].map((left) => [expect.stringContaining(`"admin-register";r=${left};`), '"admin-register";q=5;w=3600']),
  );
});

test('twenty sign-ins at once are five', async () => {
  const user = await auth.addUser();
  const credentials = { email: user.email, password: user.password };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => auth.post('/login', credentials, from('203.0.113.3'))),
  );
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(5);
  expect(answers.filter(({ statusCode }) => statusCode === 429)).toHaveLength(15);
});

test('a token of the wrong principal is counted like none', async () => {
  const at = Math.floor(Date.now() / 1000);
  const claims = { sub: 'x', aud: auth.baseUrl, iat: at, exp: at + 900, principal_type: 'identity' };
  const token = await auth.keys.sign(claims, { typ: 'at+jwt' });
  const headers = { ...bearer(token), ...from('203.0.113.5') };
  const answers = [];
  for (let i = 0; i < 31; i++) answers.push((await auth.get('/me', headers)).statusCode);
  expect(answers.slice(0, 30).every((status) => status === 403)).toBe(true);
  expect(answers[30]).toBe(429);
});

test('what has no limit of its own has the general one', async () => {
  const answers = [];
  for (let i = 0; i < 31; i++) answers.push((await auth.post('/refresh', undefined, from('203.0.113.4'))).statusCode);
  expect(answers.slice(0, 30).every((status) => status === 401)).toBe(true);
  expect(answers[30]).toBe(429);
});
