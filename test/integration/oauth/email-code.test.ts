import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { credentialsOf, noCredentials, plantFactors } from '../../support/credentials.js';
import { waitingMails } from '../../support/identity-mails.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { redirectUri, type TestClient, type TestEnvironment } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';

type Page = Awaited<ReturnType<Browser['get']>>;

const world = await newProvider();
const environment = await world.newEnvironment({ emailOtpLoginEnabled: true });
const client = await environment.newClient();
afterAll(() => world.close());

/** Returns a browser that has requested a code, and the page that asks for it. */
async function asked(email: string, more: Record<string, string> = {}, of = client) {
  const browser = world.browser();
  const form = await browser.get(authorizeUrl(of, { method: 'code', ...more }));
  return { browser, form, sent: await browser.submit(form, { email }) };
}
/** Returns a code other than the mailed one. */
const anotherThan = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');
const rowsOf = (email: string) =>
  world.query<{ identity_id: string | null; attempts: number; consumed_at: Date | null }>(
    `select c.* from emailed_codes c join identities i on i.id = c.identity_id where i.email = $1 order by c.created_at`,
    [email],
  );

const isVoid = (page: Page) => page.body.includes('This code no longer works');
function expectRefused(page: Page) {
  expect(page.statusCode).toBe(200);
  if (!isVoid(page))
    expect(page.body).toContain('That code is not right, or it has expired. If you received several emails,');
  expect(page.body).toContain('<form method="post" action="/oauth/login/email-otp/verify">');
  expect(page.headers['set-cookie']).toBeUndefined();
}
const expectSignedIn = (page: Page) => {
  expect(page.statusCode).toBe(303);
  expect(locationOf(page).searchParams.get('code')).toMatch(/^[\w-]{43}$/);
};

test('a person signs in with an emailed code, and the tokens say so', async () => {
  const ana = await environment.newIdentity();
  const { verifier, challenge } = newPkce();
  const { browser, form, sent } = await asked(ana.email, { code_challenge: challenge });
  expect(form.body).toContain('We will email you a code');
  expect(form.body).not.toContain('type="password"');
  expect(sent.statusCode).toBe(200);
  expect(sent.body).toContain(`If ${ana.email} can sign in here, a code is on its way.`);
  expect(sent.body).toContain('autocomplete="one-time-code"');

  const done = await browser.submit(sent, { code: await world.mailedCode('login') });
  expectSignedIn(done);
  expect(locationOf(done).searchParams.get('state')).toBe('the state');
  const code = locationOf(done).searchParams.get('code') ?? '';
  const tokens = (await redeem(world.app, client, { code, verifier, redirect: redirectUri })).json();
  expect(decodeJwt(tokens.id_token)).toMatchObject({
    sub: ana.id,
    amr: ['otp'],
    acr: 'urn:gatehouse:aal1',
    auth_time: world.now().getTime() / 1000,
  });
  expect(
    await world.query('select template, locale from emails where environment_id = $1', [client.environmentId]),
  ).toEqual([{ template: 'sign-in-code', locale: 'en' }]);
  const requested = await world.events('auth.emailed_code_requested');
  expect(requested).toMatchObject([{ resource_id: ana.id, outcome: 'success', metadata: { purpose: 'login' } }]);
  // The session also works for the next application.
  expectSignedIn(await browser.get(authorizeUrl(await environment.newClient())));
});

test('the sign-in page mails a code to the typed address, whatever the password field contains', async () => {
  const ana = await environment.newIdentity();
  const browser = world.browser();
  const page = await browser.get(authorizeUrl(client));
  expect(page.body).toContain('formaction="/oauth/login/email-otp/start" formnovalidate');
  const sent = await browser.submit(
    { ...page, body: page.body.replace('action="/oauth/authorize"', 'action="/oauth/login/email-otp/start"') } as Page,
    { email: ` ${ana.email.toUpperCase()} `, password: 'filled in by the browser' },
  );
  expectSignedIn(await browser.submit(sent, { code: await world.mailedCode('login') }));
});

test('the code page leads back to the password, which does not lead back to the code page', async () => {
  const { form } = await asked('somebody@example.com');
  const [, link = ''] = /href="(\/oauth\/authorize\?[^"]+)">Sign in with your password/.exec(form.body) ?? [];
  expect(link).not.toContain('method=code');
  const page = await world.browser().get(link.replaceAll('&amp;', '&'));
  expect(page.body).toContain('type="password"');
});

test('a client may post method=code as it may get it', async () => {
  const browser = world.browser();
  const fields = Object.fromEntries(new URL(authorizeUrl(client, { method: 'code' }), world.baseUrl).searchParams);
  const redirected = await browser.post('/oauth/authorize', fields);
  expect(redirected.statusCode).toBe(303);
  expect((await browser.get(String(redirected.headers.location))).body).toContain('We will email you a code');
});

test('a code works once', async () => {
  const ana = await environment.newIdentity();
  const { browser, sent } = await asked(ana.email);
  const code = await world.mailedCode('login');
  const both = await Promise.all([browser.submit(sent, { code }), world.browser().submit(sent, { code })]);
  expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([303, 400]);
  const [spent] = both.filter(({ statusCode }) => statusCode === 400);
  expect(spent?.cookies).toEqual([]);
  expect(spent?.body).toContain('This code has already been used');
  const [, next = ''] = /<a class="button" href="([^"]*)"/.exec(spent?.body ?? '') ?? [];
  expect(next).toMatch(/^\/oauth\/authorize\?/);
  world.wait(60_000); // too late for a form that was sent twice
  expectRefused(await world.browser().submit(sent, { code }));
});

test('a code’s form that is sent again continues by the session of the first, and is no failed attempt', async () => {
  const ana = await environment.newIdentity();
  const { browser, sent } = await asked(ana.email, { prompt: 'login', max_age: '0' });
  const code = await world.mailedCode('login');
  expectSignedIn(await browser.submit(sent, { code }));
  const again = await browser.submit(sent, { code });
  expect([again.statusCode, again.cookies]).toEqual([303, []]);
  expectSignedIn(await browser.get(String(again.headers.location)));
  expect(await world.query('select id from sessions where identity_id = $1', [ana.id])).toHaveLength(1);
  expectRefused(await browser.submit(sent, { code: anotherThan(code) }));
  const script = await browser.submit(sent, { code }, { accept: 'application/json' });
  expect([script.statusCode, script.json().error]).toEqual([401, 'access_denied']);
  const failed = (await world.events('auth.identity_sign_in_failed')).filter(
    ({ resource_id }) => resource_id === ana.id,
  );
  expect(failed).toHaveLength(1);
});

test('five wrong codes make the right one void, also in parallel; it may be typed with a blank', async () => {
  const ana = await environment.newIdentity();
  const { browser, sent } = await asked(ana.email);
  const code = await world.mailedCode('login');
  for (let i = 0; i < 4; i++) expectRefused(await browser.submit(sent, { code: anotherThan(code) }));
  const again = await browser.submit(sent, { code: anotherThan(code) });
  expectRefused(again);
  expectRefused(await browser.submit(again, { code }));
  expect(await rowsOf(ana.email)).toMatchObject([{ attempts: 5, consumed_at: null }]);
  expect(await world.events('auth.identity_sign_in_failed')).toContainEqual(
    expect.objectContaining({ resource_id: ana.id, outcome: 'failure', metadata: { method: 'email_otp' } }),
  );

  const other = await asked(ana.email);
  const fresh = await world.mailedCode('login');
  const guesses = Array.from({ length: 12 }, () => world.browser().submit(other.sent, { code: anotherThan(fresh) }));
  for (const refused of await Promise.all(guesses)) expectRefused(refused);
  expect((await rowsOf(ana.email)).at(-1)).toMatchObject({ attempts: 5 });

  const third = await asked(ana.email);
  const right = await world.mailedCode('login');
  expectSignedIn(await third.browser.submit(third.sent, { code: `${right.slice(0, 3)} ${right.slice(3)}` }));
});

test('from the sixth attempt on the page says that another code is needed, whoever has the address', async () => {
  const ana = await environment.newIdentity();
  for (const email of [ana.email, `nobody-${ana.email}`]) {
    const { browser, sent } = await asked(email);
    const code = await world.mailedCode('login');
    const pages: Page[] = [];
    for (let i = 0; i < 5; i++) pages.push(await browser.submit(sent, { code: anotherThan(code) }));
    expect(pages.map(isVoid)).toEqual([false, false, false, false, false]);
    const over = await browser.submit(sent, { code });
    expectRefused(over);
    expect(isVoid(over)).toBe(true);
    expect(over.body).toContain('<button class="button" autofocus aria-describedby="message">Send a new code</button>');
    const told = await browser.submit(sent, { code }, { accept: 'application/json' });
    expect([told.statusCode, told.json().reason]).toEqual([401, 'email_code.error.void']);
  }
});

test('a code works for ten minutes', async () => {
  const ana = await environment.newIdentity();
  const { browser, sent } = await asked(ana.email);
  const code = await world.mailedCode('login');
  world.wait(10 * 60_000);
  expectRefused(await browser.submit(sent, { code }));
});

test('a newer code of the same page replaces the older one; one for another address does not', async () => {
  const ana = await environment.newIdentity();
  const { browser, sent } = await asked(ana.email);
  const older = await world.mailedCode('login');
  // The second form of the page.
  const resend = { ...sent, body: sent.body.slice(sent.body.indexOf('</form>')) } as Page;
  const resent = await browser.submit(resend, {});
  expect(resent.body).not.toContain('a code is on its way');
  expect(resent.body).toMatch(
    /role="status">[^<]*a new code is on its way. It works for 10 minutes; earlier codes no longer work/,
  );
  const newer = await world.mailedCode('login');
  expectRefused(await browser.submit(resent, { code: older === newer ? anotherThan(older) : older }));

  const ben = await environment.newIdentity();
  await browser.submit(resend, { email: ben.email }); // with the token of Ana's page
  expectRefused(await browser.submit(sent, { code: await world.mailedCode('login') }));
  expectSignedIn(await browser.submit(sent, { code: newer }));
});

test('a code is void with another request: other client, Environment, redirect URI, state or challenge', async () => {
  const ana = await environment.newIdentity();
  const { browser, sent } = await asked(ana.email);
  const code = await world.mailedCode('login');
  const elsewhere = await world.newEnvironment({ emailOtpLoginEnabled: true });
  const [sister, stranger] = [await environment.newClient(), await elsewhere.newClient()];
  const requests: Record<string, string>[] = [
    { client_id: sister.clientId },
    { client_id: stranger.clientId },
    { redirect_uri: 'http://127.0.0.1:4711/cb' },
    { state: 'another' },
    { nonce: 'another' },
    { scope: 'openid' },
    { code_challenge: newPkce().challenge },
  ];
  for (const swapped of requests) {
    expectRefused(await browser.submit(sent, { code, ...swapped }));
  }
  expect(await rowsOf(ana.email)).toMatchObject([{ attempts: 0, consumed_at: null }]);
  for (const login_token of ['', 'x', `${'A'.repeat(43)}`, `test.${'A'.repeat(400)}`, 'x'.repeat(9000)]) {
    expectRefused(await browser.submit(sent, { code, login_token }));
  }
  expectSignedIn(await browser.submit(sent, { code }));
});

test('a right code confirms the address, once, and a code for an address that has changed is refused', async () => {
  const ana = await environment.newIdentity({ emailVerifiedAt: null });
  const confirmed = async () =>
    (await world.events('identity.email_verified')).filter(({ resource_id }) => resource_id === ana.id);
  for (let i = 0; i < 2; i++) {
    const { browser, sent } = await asked(ana.email);
    expectSignedIn(await browser.submit(sent, { code: await world.mailedCode('login') }));
    const byThemselves = { actor_type: 'identity', actor_id: ana.id, environment_id: environment.environmentId };
    expect(await confirmed()).toMatchObject([
      { outcome: 'success', metadata: { method: 'email_otp' }, ...byThemselves },
    ]);
  }
  const [row] = await world.query<{ at: Date }>('select email_verified_at as at from identities where id = $1', [
    ana.id,
  ]);
  expect(row?.at.getTime()).toBe(world.now().getTime());

  const { browser, sent } = await asked(ana.email);
  const code = await world.mailedCode('login');
  await world.query('update identities set email = $2, email_verified_at = null where id = $1', [
    ana.id,
    `new-${ana.email}`,
  ]);
  expectRefused(await browser.submit(sent, { code }));
  expect(await confirmed()).toHaveLength(1);
});

test.each([
  ['a member', true],
  ['a person who joins by it', false],
])(
  'a code that confirms the address of %s ends every earlier password, factor, session and trusted device',
  async (_, isMember) => {
    const place = await world.newEnvironment({
      emailOtpLoginEnabled: true,
      passwordLoginEnabled: isMember,
      allowSelfSignup: true,
    });
    const ana = await place.newIdentity({ emailVerifiedAt: null, isMember });
    const owner = {
      accountId: place.accountId,
      applicationId: place.applicationId,
      environmentId: place.environmentId,
    };
    const trust = { identityId: ana.id, days: 30, device: null, userAgent: null };
    await world.logins.trustedDevices.trust(owner, trust, world.db);
    // For a person who had the Identity with another address, or created it, elsewhere in the Account.
    const before = { identityId: ana.id, amr: ['pwd'], acr: 'urn:gatehouse:aal1', lifeSeconds: 3600 } as const;
    const visit = { browser: null, ipAddress: '192.0.2.1', userAgent: null };
    await world.provider.sessions.signIn({ scope: owner, ...before, amr: [...before.amr], ...visit });
    await plantFactors(world.query, ana.id);

    const { browser, sent } = await asked(ana.email, {}, await place.newClient());
    expectSignedIn(await browser.submit(sent, { code: await world.mailedCode('login') }));
    const [row] = await world.query('select password_hash, email_verified_at from identities where id = $1', [ana.id]);
    expect(row).toEqual({ password_hash: null, email_verified_at: world.now() });
    const sessions = await world.query<{ amr: string[]; isLive: boolean }>(
      'select amr, revoked_at is null as "isLive" from sessions where identity_id = $1 order by created_at, id',
      [ana.id],
    );
    expect(sessions).toEqual([
      { amr: ['pwd'], isLive: false },
      { amr: ['otp'], isLive: true },
    ]);
    expect(await world.query('select from trusted_devices where identity_id = $1', [ana.id])).toEqual([]);
    expect(await credentialsOf(world.query, ana.id)).toEqual(noCredentials);
    const reset = (await world.events('identity.mfa_reset')).filter(({ resource_id }) => resource_id === ana.id);
    expect(reset).toMatchObject([{ actor_id: ana.id, metadata: { reason: 'email_verified' } }]);
    const told = (await world.events('identity.password_changed')).filter(({ resource_id }) => resource_id === ana.id);
    expect(told).toMatchObject([{ actor_id: ana.id, metadata: { method: 'email_otp' } }]);

    // Only once: after the confirmation, what they have chosen since stays.
    await world.query(`update identities set password_hash = 'theirs' where id = $1`, [ana.id]);
    const again = await asked(ana.email, {}, await place.newClient());
    expectSignedIn(await again.browser.submit(again.sent, { code: await world.mailedCode('login') }));
    expect(await world.query('select password_hash from identities where id = $1', [ana.id])).toEqual([
      { password_hash: 'theirs' },
    ]);
  },
);

test('a person who was deactivated after the code was mailed is refused like anybody', async () => {
  const ana = await environment.newIdentity();
  const { browser, sent } = await asked(ana.email);
  const code = await world.mailedCode('login');
  await world.query('update environment_memberships set is_active = false where identity_id = $1', [ana.id]);
  expectRefused(await browser.submit(sent, { code }));
});

test('a person who was deleted just as their code was right is refused like anybody', async () => {
  const ana = await environment.newIdentity();
  const { browser, sent } = await asked(ana.email);
  const { emailOtpLogin } = world.logins;
  const looked = emailOtpLogin.verify;
  emailOtpLogin.verify = async (...tried) => {
    const result = await looked(...tried);
    await world.query('delete from identities where id = $1', [ana.id]);
    return result;
  };
  try {
    expectRefused(await browser.submit(sent, { code: await world.mailedCode('login') }));
  } finally {
    emailOtpLogin.verify = looked;
  }
});

test('a code lets in the person to whom it was mailed, not the present owner of the address', async () => {
  const [ana, ben] = [await environment.newIdentity(), await environment.newIdentity()];
  const rename = (id: string, email: string) =>
    world.query('update identities set email = $2 where id = $1', [id, email]);
  const { browser, sent } = await asked(ana.email);
  const code = await world.mailedCode('login');
  await rename(ana.id, `former-${ana.email}`);
  await rename(ben.id, ana.email);
  expectRefused(await browser.submit(sent, { code }));

  const free = `free-${ana.email}`; // an unused address, to which no code was mailed
  const unknown = await asked(free);
  const guessed = await world.mailedCode('login');
  await rename(ben.id, free);
  expectRefused(await unknown.browser.submit(unknown.sent, { code: guessed }));
});

describe('the mail', () => {
  /** Creates an Environment in which a person has requested a code, with its mails as they would be sent now. */
  async function mailed(of: Parameters<TestEnvironment['newIdentity']>[0] = {}) {
    const place = await world.newEnvironment({ emailOtpLoginEnabled: true });
    const ana = await place.newIdentity(of);
    const { browser, sent } = await asked(ana.email, {}, await place.newClient());
    const code = await world.mailedCode('login');
    return { ana, browser, sent, code, mails: () => waitingMails(world, place.environmentId) };
  }

  test('shows the code in two groups, its purpose, and how many minutes are left, until it has expired', async () => {
    const { ana, code, mails } = await mailed();
    const values = { first_name: 'Ana', code: `${code.slice(0, 3)} ${code.slice(3)}`, application_name: 'Acme' };
    const mail = { template: 'sign-in-code', locale: 'en', to: ana.email };
    expect(await mails()).toEqual([{ ...mail, values: { ...values, minutes_left: 10 } }]);
    world.wait(60_001);
    expect(await mails()).toEqual([{ ...mail, values: { ...values, minutes_left: 9 } }]);
    world.wait(538_999);
    expect(await mails()).toMatchObject([{ values: { minutes_left: 1 } }]);
    world.wait(1000);
    expect(await mails()).toEqual([]);
  });

  test('greets a person without a name by the local part of their address', async () => {
    const { ana, mails } = await mailed({ firstName: null });
    expect(await mails()).toMatchObject([{ values: { first_name: ana.email.split('@')[0] } }]);
  });

  test('greets nobody by name before the address is confirmed: the Identity’s creator may have written anything there', async () => {
    const { ana, mails } = await mailed({ emailVerifiedAt: null, firstName: 'Your prize waits at evil.example' });
    expect(await mails()).toMatchObject([{ values: { first_name: ana.email.split('@')[0] } }]);
  });

  test('is not sent with a used or deleted code, nor to a person who may not sign in', async () => {
    const { browser, sent, code, mails } = await mailed();
    expectSignedIn(await browser.submit(sent, { code }));
    expect(await mails()).toEqual([]);
    const erased = await mailed();
    await world.query('delete from emailed_codes where identity_id = $1', [erased.ana.id]);
    expect(await erased.mails()).toEqual([]);
    expect(await (await mailed({ isActive: false })).mails()).toEqual([]);
    expect(await (await mailed({ isMember: false })).mails()).toEqual([]);
  });
});

test('an address that cannot exist gets the same page and no mail', async () => {
  for (const email of ['no address', 'a\u0000b@example.com', `${'x'.repeat(400)}@example.com`, '"><b>@example.com']) {
    const { sent } = await asked(email);
    expect(sent.statusCode).toBe(200);
    expect(sent.body).toContain('a code is on its way');
    const [row] = await world.query(
      'select identity_id, email from emailed_codes order by created_at desc, id desc limit 1',
    );
    expect(row).toEqual({ identity_id: null, email: null });
  }
});

test('the mail and the page use the language that the request asks for', async () => {
  const ana = await environment.newIdentity();
  const { sent } = await asked(ana.email, { ui_locales: 'de' });
  expect(sent.body).toContain('ist ein Code unterwegs');
  const [row] = await world.query<{ id: string }>('select id from emailed_codes where identity_id = $1', [ana.id]);
  expect(await world.query('select locale from emails where subject_id = $1', [row?.id])).toEqual([{ locale: 'de' }]);
});

test('a right code is a first factor: a required second one comes before the application', async () => {
  const strict = await world.newEnvironment({
    emailOtpLoginEnabled: true,
    mfaPolicy: 'required',
    mfaGracePeriodDays: 0,
  });
  const ana = await strict.newIdentity();
  const { browser, sent } = await asked(ana.email, {}, await strict.newClient());
  const page = await browser.submit(sent, { code: await world.mailedCode('login') });
  expect(page.statusCode).toBe(200);
  expect(page.body).toContain('Protect your sign-in');
  expect(page.headers['set-cookie']).toBeUndefined();
  const [pending] = await world.query('select method, amr from pending_sign_ins where identity_id = $1', [ana.id]);
  expect(pending).toEqual({ method: 'email_otp', amr: ['otp'] });
});

describe('what an Environment has not enabled', () => {
  test('is refused for codes: the form returns with an error, and nothing is mailed', async () => {
    const without = await world.newEnvironment();
    const of = await without.newClient();
    const ana = await without.newIdentity();
    const { browser, form, sent } = await asked(ana.email, {}, of);
    expect(form.body).toContain('type="password"'); // method=code has no effect
    expect(sent.body).not.toContain('on its way');
    const fields = Object.fromEntries(new URL(authorizeUrl(of), world.baseUrl).searchParams);
    for (const step of ['start', 'verify']) {
      const refused = await browser.post(`/oauth/login/email-otp/${step}`, {
        ...fields,
        email: ana.email,
        code: '000000',
      });
      expect(refused.statusCode).toBe(200);
      expect(refused.body).toContain('Signing in with an emailed code is not possible here.');
      expect(refused.body).toContain('type="password"');
    }
    expect(await rowsOf(ana.email)).toEqual([]);
  });

  test('is not offered: without passwords, the sign-in page asks for an address to mail a code to; without passwords and codes there is no sign-in page', async () => {
    const passwordless = await world.newEnvironment({ emailOtpLoginEnabled: true, passwordLoginEnabled: false });
    const page = await world
      .browser()
      .get(authorizeUrl(await passwordless.newClient(), { login_hint: 'a@example.com' }));
    expect(page.body).toContain('value="a@example.com"');
    expect(page.body).toContain('We will email you a code');
    expect(page.body).not.toMatch(/type="password"|Sign in with your password/);
    const closed = await world.newEnvironment({ passwordLoginEnabled: false, passkeyLoginEnabled: false });
    expect((await world.browser().get(authorizeUrl(await closed.newClient()))).statusCode).toBe(403);
  });
});

describe('scripts', () => {
  const fieldsOf = (of: TestClient) => Object.fromEntries(new URL(authorizeUrl(of), world.baseUrl).searchParams);
  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    world.app.inject({ method: 'POST', url, payload, headers: { accept: 'application/json', ...headers } });

  test('get JSON in place of each page', async () => {
    const ana = await environment.newIdentity();
    const form = await world.app.inject({
      url: authorizeUrl(client, { method: 'code' }),
      headers: { accept: 'application/json' },
    });
    expect(form.statusCode).toBe(401);
    expect(form.json()).toMatchObject({ error: 'login_required', methods: ['password', 'email_code', 'passkey'] });
    const fields = fieldsOf(client);
    const sent = await post('/oauth/login/email-otp/start', { ...fields, email: ana.email });
    expect(sent.statusCode).toBe(200);
    expect(sent.json()).toEqual({
      login_token: expect.any(String),
      expires_at: new Date(world.now().getTime() + 600_000).toISOString(),
    });
    const { login_token } = sent.json();
    const code = await world.mailedCode('login');
    const refused = await post('/oauth/login/email-otp/verify', { ...fields, login_token, code: anotherThan(code) });
    expect(refused.statusCode).toBe(401);
    expect(refused.json()).toMatchObject({ error: 'access_denied', login_token });
    const done = await post('/oauth/login/email-otp/verify', {
      ...fields,
      login_token,
      code: Number(code) < 100_000 ? code : Number(code),
    });
    expect(done.statusCode).toBe(200);
    expect(done.json().redirect_to).toMatch(/^https:\/\/app\.example\.com\/callback\?tenant=1&code=/);
  });

  test('of another site can start nothing and enter nothing', async () => {
    for (const step of ['start', 'verify']) {
      const answer = await post(
        `/oauth/login/email-otp/${step}`,
        { ...fieldsOf(client), email: 'a@example.com' },
        { origin: 'https://evil.example' },
      );
      expect(answer.statusCode).toBe(403);
    }
  });

  test('get a 400 for malformed requests: unknown clients, foreign redirect URIs, fields given twice or as lists', async () => {
    const fields = fieldsOf(client);
    for (const wrong of [
      { client_id: 'nobody' },
      { redirect_uri: 'https://evil.example' },
      { email: ['a', 'b'] },
      { login_token: {} },
    ]) {
      expect((await post('/oauth/login/email-otp/start', { ...fields, ...wrong })).statusCode).toBe(400);
    }
    for (const wrong of [{ code: ['1'] }, { login_token: { a: 1 } }]) {
      expect((await post('/oauth/login/email-otp/verify', { ...fields, ...wrong })).statusCode).toBe(400);
    }
  });
});
