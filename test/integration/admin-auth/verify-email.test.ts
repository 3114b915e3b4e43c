import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { Event } from '../../../entities/event.js';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { User } from '../../../entities/user.js';
import { administratorInviteToken } from '../../../src/domain/administrator-invites/link.js';
import { DomainError } from '../../../src/domain/errors.js';
import { registrationToken } from '../../../src/domain/registration/link.js';
import { registrationMails } from '../../../src/domain/registration/mails.js';
import { after, hours, minutes } from '../../../src/platform/clock.js';
import { hashSecret } from '../../../src/platform/crypto/one-time-secret.js';
import { type AdminAuth, bearer, cookieHeader, cookieOf, newAdminAuth } from '../../support/admin-auth.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

let count = 0;
/** Registers a person; returns the token of the mailed link, and the cookies of their browser. */
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
  const cookies = cookieHeader(await at.post('/register', person));
  return { ...person, token: await at.linkTokenFor(person.email), cookies };
}
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const asForm = (token: string, headers: Record<string, string> = {}, at = auth) =>
  at.post('/verify-email', `token=${encodeURIComponent(token)}`, { ...form, ...headers });
const statusOf = async (email: string, at = auth) =>
  (await at.db.transaction('system', (tx) => tx.findOneBy(PendingRegistration, { email })))?.status;

test('opening the link shows what it would create, any number of times, and consumes nothing', async () => {
  const person = await registered(auth, { account_name: 'Acme <b>& Co</b>' });
  for (let i = 0; i < 3; i++) {
    const page = await auth.get(`/verify-email?token=${person.token}&utm_source=mail`, person.cookies);
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['referrer-policy']).toBe('same-origin'); // its address contains the token
    expect(page.headers['cache-control']).toBe('no-store');
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*form-action 'self'/);
    expect(page.body).toContain('<form method="post" action="/v1/auth/verify-email">');
    expect(page.body).toContain('Acme &lt;b&gt;&amp; Co&lt;/b&gt;');
    expect(page.body).toContain(person.email);
    expect(page.body).not.toContain('type="password"');
    expect(page.cookies).toEqual([]);
  }
  expect(
    (await auth.app.inject({ method: 'HEAD', url: `/v1/auth/verify-email?token=${person.token}` })).statusCode,
  ).toBe(200);
  expect(await statusOf(person.email)).toBe('pending');
});

test('the page’s button creates the account and signs its owner in', async () => {
  const person = await registered();
  const own = { origin: auth.baseUrl, 'sec-fetch-site': 'same-origin', ...person.cookies };
  const page = await asForm(person.token, own);
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.body).toContain(person.account_name);
  expect(page.body).not.toContain(person.token);
  expect(page.cookies.map(({ name }) => name)).toEqual(['admin_refresh', 'admin_session', 'admin_registration']);
  expect(cookieOf(page, 'admin_registration')).toMatchObject({ value: '', maxAge: 0 });
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

test('JSON gets the answer of an account’s creation', async () => {
  const person = await registered();
  const answer = await auth.post('/verify-email', { token: person.token }, person.cookies);
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
    const { token, cookies } = await registered();
    await auth.post('/verify-email', { token }, cookies);
    return token;
  };
  test.each<[string, () => Promise<string> | string]>([
    ['used', used],
    ['unknown', () => 'A'.repeat(43)],
    ['cut short', async () => (await registered()).token.slice(0, -1)],
    ['empty', () => ''],
    ['too long', () => 'A'.repeat(5000)],
    ['made of odd characters', () => '\u0000../../%00'],
  ])('%s is answered with 400, as a page or as the envelope, and starts no session', async (_, make) => {
    const token = await make();
    const query = `/verify-email?token=${encodeURIComponent(token)}`;
    const answers = [await auth.get(query), await asForm(token)];
    for (const page of answers) {
      expect(page.statusCode).toBe(400);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(page.headers['referrer-policy']).toBe('same-origin'); // its address contains the token
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

  test('expired is 400 too, whether or not the worker has noticed', async () => {
    const own = await newAdminAuth();
    try {
      const person = await registered(own);
      own.pass(hours(24));
      expect((await own.get(`/verify-email?token=${person.token}`)).statusCode).toBe(400);
      expect((await own.post('/verify-email', { token: person.token }, person.cookies)).json().error.code).toBe(
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
  for (const body of [{}, { token: 7 }, { token: 'x', more: 1 }, { token: 'x', password: 7 }, []]) {
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
    const page = await asForm(person.token, { ...(headers as Record<string, string>), ...person.cookies });
    expect(page.statusCode).toBe(403);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.cookies).toEqual([]);
  }
  const foreign = { origin: 'https://evil.example', ...person.cookies };
  for (const path of ['/verify-email', '/verify-email/decline']) {
    const json = await auth.post(path, { token: person.token }, foreign);
    expect([json.statusCode, json.json().error.code]).toEqual([403, 'origin.foreign']);
  }
  expect(await statusOf(person.email)).toBe('pending');
});

test('while the process cannot answer, the link gets 503 with Retry-After, and stays valid', async () => {
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
      await asForm(person.token, person.cookies, own),
      await own.post('/verify-email', { token: person.token }, person.cookies),
    ];
    for (const { statusCode, headers, cookies } of [page, answer]) {
      expect([statusCode, headers['retry-after'], cookies]).toEqual([503, '5', []]);
    }
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.json().error.code).toBe('service.unavailable');
    away = false;
    expect((await own.post('/verify-email', { token: person.token }, person.cookies)).statusCode).toBe(201);
  } finally {
    await own.close();
  }
});

describe('a form that is sent twice', () => {
  const ready =
    (person: Awaited<ReturnType<typeof registered>>) =>
    async (headers: Record<string, string>, body = '') => {
      const page = await auth.post('/verify-email', `token=${person.token}${body}`, { ...form, ...headers });
      expect([page.statusCode, page.body.includes('Your account is ready')]).toEqual([200, true]);
      expect(page.body).toContain(person.account_name);
      return page;
    };

  test('reports twice that the account is ready, and starts one session', async () => {
    const person = await registered();
    const page = await auth.get(`/verify-email?token=${person.token}`, person.cookies);
    expect(page.body).toContain('let isSent = false'); // the script suppresses a second click
    const send = ready(person);
    const first = await send(person.cookies);
    const second = await send(person.cookies);
    expect(/class="code">([^<]+)</.exec(second.body)?.[1]).toBe(/class="code">([^<]+)</.exec(first.body)?.[1]);
    expect([first.cookies.length, second.cookies]).toEqual([3, []]);
    await send({}, '&password=violet+tractor+19'); // the password is accepted as proof as before
    for (const [more, body] of [
      [{}, ''],
      [{}, '&password=something+else'],
    ] as const) {
      const stranger = await auth.post('/verify-email', `token=${person.token}${body}`, { ...form, ...more });
      expect([stranger.statusCode, stranger.body.includes('This link no longer works')]).toEqual([400, true]);
    }
    const json = await auth.post('/verify-email', { token: person.token }, person.cookies);
    expect([json.statusCode, json.json().error.code]).toEqual([400, 'registration.link_invalid']);
    expect((await auth.get(`/verify-email?token=${person.token}`, person.cookies)).statusCode).toBe(400);
    auth.pass(minutes(1));
    expect((await asForm(person.token, person.cookies)).statusCode).toBe(400);
  });

  test('gets the first answer also when both are sent in parallel', async () => {
    const person = await registered();
    const send = ready(person);
    const both = await Promise.all([send(person.cookies), send(person.cookies)]);
    expect(both.map(({ cookies }) => cookies.length).sort()).toEqual([0, 3]);
  });

  test('waits for the first, if the process refuses the second because the first is at work', async () => {
    let isAtWork = false;
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const own: AdminAuth = await newAdminAuth({
      confirmRegistration: async ({ pendingRegistrationId }) => {
        if (isAtWork) {
          setTimeout(open, 200);
          throw new DomainError('registration.link_invalid');
        }
        isAtWork = true;
        await gate;
        return own.registrations.provision(pendingRegistrationId);
      },
    });
    try {
      const person = await registered(own);
      const send = () => asForm(person.token, person.cookies, own);
      const both = await Promise.all([send(), send()]);
      expect(both.map(({ statusCode, cookies }) => [statusCode, cookies.length]).sort()).toEqual([
        [200, 0],
        [200, 3],
      ]);
    } finally {
      await own.close();
    }
  });
});

test('a link that is opened again after a late answer asks for the same as before, and signs in once', async () => {
  let isLate = true;
  const own: AdminAuth = await newAdminAuth({
    confirmRegistration: async ({ pendingRegistrationId }) => {
      const made = await own.registrations.provision(pendingRegistrationId);
      if (isLate) throw new DomainError('service.unavailable', { retryAfter: 5 });
      return made;
    },
  });
  const open = async (token: string, headers = {}) => {
    const { statusCode, body } = await own.get(`/verify-email?token=${token}`, headers);
    return [statusCode, /type="password"/.test(body), /verify-email\/decline/.test(body)];
  };
  try {
    const [here, there] = [await registered(own), await registered(own)];
    expect((await asForm(here.token, here.cookies, own)).statusCode).toBe(503);
    expect(await open(here.token, here.cookies)).toEqual([200, false, false]);
    const page = (await own.get(`/verify-email?token=${here.token}`, here.cookies)).body;
    expect([page.includes(here.email), page.includes(here.account_name)]).toEqual([true, true]);
    expect((await asForm(here.token, here.cookies, own)).statusCode).toBe(200);
    expect((await open(here.token, here.cookies))[0]).toBe(400);

    const { token, password } = there;
    expect((await own.post('/verify-email', { token, password })).statusCode).toBe(503);
    expect(await open(token)).toEqual([200, true, false]);
    const wrong = await own.post('/verify-email', { token, password: 'something else' });
    expect([wrong.statusCode, wrong.json().error.code]).toEqual([400, 'password.wrong']);
    isLate = false;
    expect((await own.post('/verify-email', { token, password })).statusCode).toBe(201);
    expect((await open(token))[0]).toBe(400);
  } finally {
    await own.close();
  }
});

test('pages use the browser’s language, or else that of the registration', async () => {
  const { email, token: _, cookies: __, ...rest } = await registered();
  await auth.post('/register', { ...rest, email: `de-${email}` }, { 'accept-language': 'de' });
  const german = await auth.linkTokenFor(`de-${email}`);
  expect((await auth.get(`/verify-email?token=${german}`)).headers['content-language']).toBe('de');
  const browser = { 'accept-language': 'en' };
  expect((await auth.get(`/verify-email?token=${german}`, browser)).headers['content-language']).toBe('en');
});

const refusal = (answer: Awaited<ReturnType<typeof asForm>>) => [answer.statusCode, answer.json().error?.code];
const usersOf = (email: string) => auth.db.transaction('system', (tx) => tx.countBy(User, { email }));

describe('in any browser but the one that registered', () => {
  test('the page asks for the password, and a click without it creates nothing', async () => {
    const person = await registered();
    const other = await registered();
    for (const headers of [{}, other.cookies, { cookie: `admin_registration=${'A'.repeat(43)}` }]) {
      const page = await auth.get(`/verify-email?token=${person.token}`, headers);
      expect(page.statusCode).toBe(200);
      expect(page.body).toMatch(/<input id="password" name="password" type="password"[^>]* required/);
      expect(page.body).toContain('<form method="post" action="/v1/auth/verify-email/decline">');
      const clicked = await asForm(person.token, headers as Record<string, string>);
      expect([clicked.statusCode, clicked.cookies]).toEqual([400, []]);
      expect(clicked.body).toContain('name="password"');
      expect(clicked.body).not.toContain('role="alert"');
      const answer = await auth.post('/verify-email', { token: person.token }, headers as Record<string, string>);
      expect(refusal(answer)).toEqual([400, 'registration.password_required']);
    }
    expect(await usersOf(person.email)).toBe(0);
    expect(await statusOf(person.email)).toBe('pending');
  });

  test('the password of the registration confirms, from a program and on the page', async () => {
    const [ana, ben] = [await registered(), await registered()];
    const { token, password } = ana;
    expect((await auth.post('/verify-email', { token, password })).statusCode).toBe(201);
    const wrong = await auth.post('/verify-email', `token=${ben.token}&password=something+else`, form);
    expect([wrong.statusCode, wrong.cookies]).toEqual([400, []]);
    expect(wrong.body).toContain('role="alert"');
    const page = await auth.post(
      '/verify-email',
      `token=${ben.token}&password=${encodeURIComponent(ben.password)}`,
      form,
    );
    expect([page.statusCode, page.cookies.length]).toEqual([200, 3]);
    expect(page.body).toContain(ben.account_name);
  });

  test('ten wrong passwords make the link void, also where it was requested, and no reminder is sent', async () => {
    const person = await registered();
    const guess = (password: string) => auth.post('/verify-email', { token: person.token, password });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => guess(`a guess ${i}`)));
    expect(answers.map((one) => refusal(one).join(' ')).sort()).toEqual([
      ...Array(10).fill('400 password.wrong'),
      ...Array(2).fill('400 registration.link_invalid'),
    ]);
    expect(refusal(await guess(person.password))).toEqual([400, 'registration.link_invalid']);
    expect(refusal(await auth.post('/verify-email', { token: person.token }, person.cookies))).toEqual([
      400,
      'registration.link_invalid',
    ]);
    expect((await auth.get(`/verify-email?token=${person.token}`)).statusCode).toBe(400);
    const { id } = await auth.db.transaction('system', (tx) =>
      tx.findOneByOrFail(PendingRegistration, { email: person.email }),
    );
    const mails = registrationMails({ ...auth, signInUrl: null });
    expect(await auth.db.transaction('system', (tx) => mails['registration-verification'](tx, id, 'en'))).toBeNull();
    expect(await auth.db.transaction('system', (tx) => mails['registration-reminder'](tx, id))).toBeNull();
  });

  test('the right password may be sent any number of times while the process cannot answer', async () => {
    let away = true;
    const own: AdminAuth = await newAdminAuth({
      confirmRegistration: async ({ pendingRegistrationId: id }) => {
        if (away) throw new DomainError('service.unavailable', { retryAfter: 5 });
        return own.registrations.provision(id);
      },
    });
    try {
      const { token, password } = await registered(own);
      for (let i = 0; i < 11; i++) {
        expect((await own.post('/verify-email', { token, password })).statusCode).toBe(503);
      }
      away = false;
      expect((await own.post('/verify-email', { token, password })).statusCode).toBe(201);
    } finally {
      await own.close();
    }
  });

  test('a registration that a version without cookies accepted asks for the password, too', async () => {
    const person = await registered();
    await auth.db.transaction('system', (tx) =>
      tx.update(PendingRegistration, { email: person.email }, { browserHash: null }),
    );
    const { token, password, cookies } = person;
    expect(refusal(await auth.post('/verify-email', { token }, cookies))).toEqual([
      400,
      'registration.password_required',
    ]);
    expect((await auth.post('/verify-email', { token, password }, cookies)).statusCode).toBe(201);
  });

  test('a used link asks for no password, and shows none', async () => {
    const { token, password, cookies } = await registered();
    expect((await auth.post('/verify-email', { token }, cookies)).statusCode).toBe(201);
    for (const body of [{ token }, { token, password }, { token, password: 'something else' }]) {
      expect(refusal(await auth.post('/verify-email', body))).toEqual([400, 'registration.link_invalid']);
    }
  });
});

describe('a person who registers with a stranger’s address', () => {
  const mine = { password: 'the owner’s own evening 33' };
  /** Invites a person to a company. @returns the token of the mailed link */
  async function invited(email: string): Promise<string> {
    const [company] = (await auth.addUser()).accounts;
    const accountId = company!.account.id;
    const id = uuidv7();
    const { token, keyId: tokenKeyId } = administratorInviteToken(auth.sealing, { id, linkNumber: 1 });
    await auth.db.transaction('system', async (tx) => {
      const role = await tx.findOneByOrFail(AdministratorRole, { accountId, systemKey: 'admin' });
      await tx.insert(AdministratorInvite, {
        id,
        accountId,
        email,
        firstName: 'Ana',
        lastName: 'Brandt',
        roleId: role.id,
        limits: null,
        locale: 'en',
        status: 'pending',
        endedReason: null,
        invitedBy: null,
        membershipId: null,
        linkNumber: 1,
        tokenHash: hashSecret(token),
        tokenKeyId,
        createdAt: auth.now(),
        expiresAt: after(auth.now(), hours(24)),
        endedAt: null,
      });
    });
    return token;
  }
  /** Both persons register with one address, in different browsers. */
  async function both(order: 'before' | 'after') {
    const attack = () => registered(auth, { email, account_name: 'Not Acme' });
    const email = `owner-of-both-${order}-${count}@example.com`;
    const early = order === 'before' ? await attack() : null;
    const tokens = async () =>
      (await auth.db.transaction('system', (tx) => tx.findBy(PendingRegistration, { email }))).map(
        (one) => [one.accountName, registrationToken(auth.sealing, one).token] as const,
      );
    const owner = await registered(auth, { email, account_name: 'Acme', ...mine });
    const attacker = early ?? (await attack());
    const tokenOf = new Map(await tokens());
    return {
      email,
      owner: { ...owner, token: tokenOf.get('Acme') as string },
      attacker: { ...attacker, token: tokenOf.get('Not Acme') as string },
    };
  }

  const discardOf = (resourceId: string) =>
    auth.db.transaction('system', (tx) => tx.findBy(Event, { resourceId, action: 'auth.registration_discarded' }));

  test('gets nothing from the owner’s click, and has no password there when the owner is invited later', async () => {
    const attacker = await registered();
    const clicked = await auth.post('/verify-email', { token: attacker.token });
    expect(refusal(clicked)).toEqual([400, 'registration.password_required']);
    expect(await usersOf(attacker.email)).toBe(0);
    const { email, first_name, last_name } = attacker;
    const token = await invited(email);
    const accepted = await auth.post('/accept-invite', { token, first_name, last_name, ...mine });
    expect(accepted.statusCode).toBe(200);
    expect((await auth.post('/login', { email, ...mine })).json().data.outcome).toBe('authenticated');
    expect((await auth.post('/login', { email, password: attacker.password })).statusCode).toBe(401);
  });

  test.each(['before', 'after'] as const)(
    'a registration %s the owner’s has no part in the owner’s confirmation',
    async (order) => {
      const { email, owner, attacker } = await both(order);
      // The owner's browser and password only work for the link of their own registration.
      expect(refusal(await auth.post('/verify-email', { token: attacker.token }, owner.cookies))).toEqual([
        400,
        'registration.password_required',
      ]);
      expect(refusal(await auth.post('/verify-email', { token: attacker.token, ...mine }))).toEqual([
        400,
        'password.wrong',
      ]);
      const confirmed = await auth.post('/verify-email', { token: owner.token }, owner.cookies);
      expect(confirmed.json().data.account.name).toBe('Acme');
      expect((await auth.post('/login', { email, ...mine })).json().data.outcome).toBe('authenticated');
      expect((await auth.post('/login', { email, password: attacker.password })).statusCode).toBe(401);
      const { id } = await auth.db.transaction('system', (tx) =>
        tx.findOneByOrFail(PendingRegistration, { tokenHash: hashSecret(attacker.token) }),
      );
      expect(await discardOf(id)).toMatchObject([{ metadata: { reason: 'another_registration_confirmed' } }]);
      const late = { token: attacker.token, password: attacker.password };
      expect(refusal(await auth.post('/verify-email', late, attacker.cookies))).toEqual([
        400,
        'registration.link_invalid',
      ]);
    },
  );

  test('is declined by the owner: that registration alone ends, with its data and process', async () => {
    const { email, owner, attacker } = await both('after');
    const page = await auth.post('/verify-email/decline', `token=${attacker.token}`, form);
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('Registration discarded');
    const rows = await auth.db.transaction('system', (tx) =>
      tx.findBy(PendingRegistration, { tokenHash: hashSecret(attacker.token) }),
    );
    expect(rows).toMatchObject([
      { status: 'discarded', endedReason: 'declined_by_mailbox', email: null, passwordHash: null, firstName: null },
    ]);
    const { id } = rows[0] as PendingRegistration;
    const told = await auth.db.transaction('system', (tx) =>
      tx.query(`select input->>'news' as news from outbox where input->>'pendingRegistrationId' = $1 order by due_at`, [
        id,
      ]),
    );
    expect(told).toEqual([{ news: null }, { news: 'discarded' }]);
    expect(await discardOf(id)).toMatchObject([{ metadata: { reason: 'declined_by_mailbox' } }]);
    const { password, token } = attacker;
    for (const path of ['/verify-email', '/verify-email/decline']) {
      const body = path === '/verify-email' ? { token, password } : { token };
      expect(refusal(await auth.post(path, body, attacker.cookies))).toEqual([400, 'registration.link_invalid']);
    }
    expect(await statusOf(email)).toBe('pending');
    const answer = await auth.post('/verify-email', { token: owner.token }, owner.cookies);
    expect(answer.statusCode).toBe(201);
    // A decline does not undo a confirmed registration.
    expect(refusal(await auth.post('/verify-email/decline', { token: owner.token }))).toEqual([
      400,
      'registration.link_invalid',
    ]);
    expect(await usersOf(email)).toBe(1);
  });
});
