import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AccountIntent } from '../../../entities/account-intent.js';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { createPasswords } from '../../../src/domain/passwords/passwords.js';
import { createRegister } from '../../../src/domain/users/register.js';
import { type AdminAuth, newAdminAuth } from '../../support/admin-auth.js';
import { expectEqualTimes } from '../../support/equal-times.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

let count = 0;
const request = (more: object = {}) => {
  count += 1;
  return {
    email: `new-${count}@example.com`,
    password: 'violet tractor 19',
    first_name: 'Ana',
    last_name: 'Brandt',
    account_name: 'Acme',
    application_name: 'Shop',
    ...more,
  };
};
const registrationOf = (email: string) =>
  auth.db.transaction('system', (tx) => tx.findOneBy(PendingRegistration, { email }));

test('a registration is parked with its password as argon2id, names trimmed, in the browser’s language', async () => {
  const body = request({ first_name: '  Ana ', account_name: ' Acme & Söhne ' });
  const answer = await auth.post('/register', body, { 'accept-language': 'de-AT,de;q=0.9' });
  expect(answer.statusCode).toBe(201);
  expect(answer.json()).toEqual({ data: { message: expect.any(String) } });
  const parked = await registrationOf(body.email);
  expect(parked).toMatchObject({ status: 'pending', firstName: 'Ana', accountName: 'Acme & Söhne', locale: 'de' });
  expect(parked?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  // An unconfirmed registration allows no sign-in.
  expect((await auth.post('/login', { email: body.email, password: body.password })).statusCode).toBe(401);
});

test('an Idempotency-Key is ignored, since nobody is known: no caller gets the response to another', async () => {
  const body = request();
  const headers = { 'idempotency-key': 'guessed' };
  const [first, second] = [await auth.post('/register', body, headers), await auth.post('/register', body, headers)];
  expect([first.statusCode, second.statusCode]).toEqual([201, 201]);
  expect(second.headers['idempotency-replayed']).toBeUndefined();
  expect(second.cookies[0]?.value).not.toBe(first.cookies[0]?.value);
});

test('the answer is the same for a new, a waiting and a known address', async () => {
  const known = await auth.addUser();
  const first = request();
  const answers = [
    await auth.post('/register', first),
    await auth.post('/register', { ...request(), email: first.email }),
    await auth.post('/register', { ...request(), email: known.email.toUpperCase() }),
  ];
  for (const answer of answers) {
    expect(answer.statusCode).toBe(201);
    expect(answer.body).toBe(answers[0]?.body);
    expect(Object.keys(answer.headers).sort()).toEqual(Object.keys(answers[0]?.headers ?? {}).sort());
    const [cookie, ...others] = answer.cookies;
    expect(others).toEqual([]);
    const attributes = { path: '/', httpOnly: true, sameSite: 'Lax', maxAge: 86_400 };
    expect(cookie).toEqual({ name: 'admin_registration', value: expect.stringMatching(/^[\w-]{43}$/), ...attributes });
  }
  expect(new Set(answers.map(({ cookies }) => cookies[0]?.value)).size).toBe(answers.length);
  expect(await registrationOf(known.email)).toBeNull();
  const intents = await auth.db.transaction('system', (tx) => tx.findBy(AccountIntent, { userId: known.id }));
  expect(intents).toHaveLength(1);
});

test('it takes as long for a known address as for a new one', async () => {
  const known = await auth.addUser();
  const register = async (body: object) => {
    expect((await auth.post('/register', body)).statusCode).toBe(201);
  };
  await expectEqualTimes(
    () => register(request({ email: known.email })),
    () => register(request()),
  );
});

test('a known or guessable password is refused in the same way for every address', async () => {
  const known = await auth.addUser();
  for (const email of [request().email, known.email]) {
    const answer = await auth.post('/register', request({ email, password: 'Password1' }));
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.code).toBe('password.breached');
    for (const contextual of [email, 'Northwind, 2026']) {
      const guessable = await auth.post(
        '/register',
        request({ email, password: contextual, account_name: 'Northwind' }),
      );
      expect([guessable.statusCode, guessable.json().error.code]).toEqual([400, 'password.context_specific']);
    }
  }
});

test('every path asks the breach list once and hashes once', async () => {
  const asked: string[] = [];
  const server = createServer(({ url }, response) => {
    asked.push(url as string);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const breachUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/range/`;
  const passwords = createPasswords({ breachUrl });
  let hashes = 0;
  const counted = {
    ...passwords,
    hash: (password: string) => {
      hashes += 1;
      return passwords.hash(password);
    },
  };
  try {
    const register = createRegister({ passwords: counted, registrations: auth.registrations });
    const known = await auth.addUser();
    const names = { firstName: 'A', lastName: 'B', accountName: 'C', applicationName: 'D', locale: 'en' } as const;
    for (const email of [request().email, known.email]) await register({ email, password: 'a new secret', ...names });
    const prefix = createHash('sha1').update('a new secret').digest('hex').slice(0, 5).toUpperCase();
    expect(asked).toEqual([`/range/${prefix}`, `/range/${prefix}`]);
    expect(hashes).toBe(2);
  } finally {
    server.close();
  }
});

test('a request that another site’s page makes a browser send is refused, and sets no cookie', async () => {
  const foreign: Record<string, string>[] = [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }];
  for (const headers of foreign) {
    const body = request();
    const answer = await auth.post('/register', body, headers);
    expect([answer.statusCode, answer.json().error.code, answer.cookies]).toEqual([403, 'origin.foreign', []]);
    expect(await registrationOf(body.email)).toBeNull();
  }
});

test('over https the cookie is bound to the host', async () => {
  const own = await newAdminAuth({ baseUrl: 'https://id.example.com' });
  try {
    const { cookies } = await own.post('/register', request());
    expect(cookies).toMatchObject([
      { name: '__Host-admin_registration', secure: true, httpOnly: true, sameSite: 'Lax' },
    ]);
  } finally {
    await own.close();
  }
});
