import { randomUUID } from 'node:crypto';
import { changeIdentity, type IdentityChanges } from '../../../src/domain/identities/change.js';
import { days, hours, minutes } from '../../../src/platform/clock.js';
import { credentialsOf, noCredentials, plantFactors } from '../../support/credentials.js';
import { lastLink, waitingMails } from '../../support/identity-mails.js';
import { strongSession } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { postToken } from '../../support/oauth/tokens.js';
import { newOther } from '../../support/other-environment.js';
import { messageOf, nextOf } from '../../support/page-parts.js';
import { startTurnstile } from '../../support/turnstile.js';

const provider = await newProvider();
afterAll(() => provider.close());

type Environment = Awaited<ReturnType<TestProvider['newEnvironment']>>;
const chosen = 'lantern orchard seven';
const newAddress = () => `Ida.${randomUUID()}@example.com`;
const toRegister = (url: string) => url.replace('/oauth/authorize?', '/oauth/register?');

async function newShop(settings: Parameters<TestProvider['newEnvironment']>[0] = {}) {
  const environment = await provider.newEnvironment({ allowSelfSignup: true, ...settings });
  const client = await environment.newClient();
  return { environment, client, url: toRegister(authorizeUrl(client)) };
}
const identity = async ({ accountId }: Environment, email: string) =>
  (
    await provider.query<{
      id: string;
      email: string;
      email_verified_at: Date | null;
      password_hash: string | null;
      first_name: string | null;
      last_name: string | null;
    }>('select * from identities where account_id = $1 and email = $2', [accountId, email])
  )[0];

async function signUp(browser: Browser, url: string, fields: Record<string, string>) {
  return browser.submit(await browser.get(url), { password: chosen, ...fields });
}
/** Returns whose mails an Environment was asked for. */
const requestsIn = ({ environmentId }: Environment, action: string) =>
  provider.query(
    `select l.identity_id, e.actor_type from events e join identity_links l on l.id::text = e.resource_id
     where e.environment_id = $1 and e.action = $2`,
    [environmentId, action],
  );
/** Changes an Identity as an administrator does. */
const changed = ({ accountId, applicationId, environmentId }: Environment, id: string, changes: IdentityChanges) =>
  provider.db.transaction({ accountId }, (tx) =>
    changeIdentity(tx, { accountId, applicationId, environmentId }, id, changes, provider.now()),
  );
const confirmIn = async (browser: Browser, link: string, fields: Record<string, string> = {}) =>
  browser.submit(await browser.get(link), fields);

test('an address beyond the limits of RFC 5321 is refused, whether or not a person has it from before', async () => {
  const { environment, url } = await newShop();
  const [nobodys, somebodys] = ['x@1.2.3.4', `${'é'.repeat(33)}@example.com`];
  await environment.newIdentity({ email: somebodys });
  for (const email of [nobodys, somebodys]) {
    const page = await signUp(provider.browser(), url, { email });
    expect(messageOf(page.body)).toMatch(/email address/);
    expect(page.body).toContain('name="first_name"');
  }
  expect(await identity(environment, nobodys)).toBeUndefined();
  expect(await waitingMails(provider, environment.environmentId)).toEqual([]);
});

test('an address is one person, however its domain is typed', async () => {
  const { environment, client, url } = await newShop();
  const name = randomUUID();
  const [typed, written] = [`${name}@bücher.example`, `${name}@xn--bcher-kva.example`];
  const browser = provider.browser();
  const sent = await signUp(browser, url, { email: typed });
  expect(sent.body).toContain(`value="${written}"`);
  const [mail] = await waitingMails(provider, environment.environmentId);
  expect(mail?.to).toBe(written);
  await confirmIn(browser, await lastLink(provider, environment.environmentId));
  for (const email of [typed, written]) {
    const form = await provider.browser().get(authorizeUrl(client));
    expect((await browser.submit(form, { email, password: chosen })).statusCode).toBe(303);
  }
  expect(messageOf((await signUp(provider.browser(), url, { email: `jürgen@example.com` })).body)).toMatch(
    /email address/,
  );
});

test('a person signs up, confirms the address, and arrives at the client with everything that it requested', async () => {
  const { environment, client } = await newShop();
  const { verifier, challenge } = newPkce();
  const browser = provider.browser();
  const url = toRegister(authorizeUrl(client, { code_challenge: challenge, ui_locales: 'de' }));
  const email = newAddress();
  const sent = await signUp(browser, url, { email, first_name: ' Ida ', last_name: 'Ilves' });
  expect(sent.statusCode).toBe(200);
  expect(messageOf(sent.body)).toBe(
    'Sehen Sie in Ihrem Postfach nach: Wir haben Ihnen einen Link gesendet. Öffnen Sie ihn, um fortzufahren.',
  );
  expect(sent.body).toContain('name="state" value="the state"');

  expect(await identity(environment, email)).toMatchObject({
    email,
    email_verified_at: null,
    password_hash: null,
    first_name: null, // it is in the sealed link, with the password
  });
  const of = { identity_id: (await identity(environment, email))?.id, actor_type: 'anonymous' };
  expect(await requestsIn(environment, 'auth.sign_up_requested')).toEqual([of]);
  const [mail] = await waitingMails(provider, environment.environmentId);
  expect(mail).toMatchObject({ template: 'verify-email', locale: 'de', to: email });
  // No mail contains a name that a stranger typed.
  expect(mail?.values).toMatchObject({ first_name: email.split('@')[0], application_name: 'Acme' });

  const refused = await browser.submit(await browser.get(authorizeUrl(client)), { email, password: chosen });
  expect(messageOf(refused.body)).toMatch(/^This email address is not confirmed yet/);

  const page = await browser.get(await lastLink(provider, environment.environmentId));
  expect(page.statusCode).toBe(200);
  expect(page.body).not.toContain('name="password"');
  const confirmed = await browser.submit(page, {});
  expect(confirmed.body).toContain('Ihre E\u2011Mail-Adresse ist bestätigt');
  expect(browser.cookies.has('sign_up')).toBe(false);
  const signIn = await browser.get(nextOf(confirmed.body));
  expect(signIn.body).toContain(`value="${email}"`);
  const back = locationOf(await browser.submit(signIn, { email, password: chosen }));
  expect(back.href.split('?')[0]).toBe(redirectUri.split('?')[0]);
  expect(back.searchParams.get('state')).toBe('the state');
  const tokens = await postToken(provider.app, client, {
    grant_type: 'authorization_code',
    code: String(back.searchParams.get('code')),
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  expect(tokens.statusCode).toBe(200);
  const { id, ...names } = (await identity(environment, email)) as { id: string };
  expect(names).toMatchObject({ first_name: 'Ida', last_name: 'Ilves' });
  const actions = (
    await provider.query<{ action: string }>('select action from events where resource_id = $1 order by id', [id])
  ).map((row) => row.action);
  expect(actions).toEqual([
    'identity.created',
    'auth.identity_sign_in_failed',
    'identity.updated',
    'identity.email_verified',
    'identity.signed_in',
  ]);
});

test('without self sign-up the page is the sign-in page, and its form is refused', async () => {
  const { client, environment } = await newShop({ allowSelfSignup: false });
  const browser = provider.browser();
  const page = await browser.get(toRegister(authorizeUrl(client)));
  expect(page.body).toContain('Sign in to Shop web');
  expect(page.body).not.toContain('/oauth/register');
  const query = Object.fromEntries(new URL(`http://x${authorizeUrl(client)}`).searchParams);
  const sent = await browser.post('/oauth/register', { ...query, email: newAddress(), password: chosen });
  expect(messageOf(sent.body)).toMatch(/^Nobody can sign up here at the moment/);
  expect(await waitingMails(provider, environment.environmentId)).toEqual([]);
});

test('an Environment without passwords shows the email-code page, and accepts no sign-up form', async () => {
  const { url } = await newShop({ passwordLoginEnabled: false, emailOtpLoginEnabled: true });
  const browser = provider.browser();
  const page = await browser.get(url);
  expect(page.body).toContain('action="/oauth/login/email-otp/start"');
  const query = Object.fromEntries(new URL(`http://x${url}`).searchParams);
  const sent = await browser.post('/oauth/register', { ...query, email: newAddress(), password: chosen });
  expect(sent.body).toContain('action="/oauth/login/email-otp/start"');
});

test('a required captcha is on the page, and nobody signs up without it', async () => {
  const turnstile = await startTurnstile();
  const guarded = await newProvider({ captchaUrl: turnstile.url });
  try {
    const environment = await guarded.newEnvironment({ allowSelfSignup: true, selfSignupRequireCaptcha: true });
    const url = toRegister(authorizeUrl(await environment.newClient()));
    const browser = guarded.browser();
    const page = await browser.get(url);
    expect(page.body).toContain('data-sitekey="site-key"');
    expect(String(page.headers['content-security-policy'])).toContain('https://challenges.cloudflare.com');
    const send = (more: Record<string, string>) =>
      browser.submit(page, { email: newAddress(), password: chosen, ...more });
    for (const token of ['', 'wrong', 'x'.repeat(5000)]) {
      const refused = await send({ 'cf-turnstile-response': token });
      expect(messageOf(refused.body)).toMatch(/^We could not check that you are a person/);
      expect(refused.body).toContain('action="/oauth/register"');
    }
    expect(await waitingMails(guarded, environment.environmentId)).toEqual([]);
    expect(messageOf((await send({ 'cf-turnstile-response': 'solved' })).body)).toMatch(/^Check your email/);
    turnstile.behave('broken');
    const unasked = await send({ 'cf-turnstile-response': 'solved' });
    expect(messageOf(unasked.body)).toMatch(/^We cannot check right now that you are a person/);
    turnstile.behave('well');
    // Errors in the form are reported before the captcha token, which works once, is used up.
    const asked = turnstile.asked.length;
    expect(messageOf((await send({ 'cf-turnstile-response': 'solved', email: 'nobody' })).body)).toMatch(
      /^Enter an email/,
    );
    expect(turnstile.asked).toHaveLength(asked);
  } finally {
    await guarded.close();
    await turnstile.close();
  }
});

test('a form from a foreign origin signs nobody up', async () => {
  const { url, environment } = await newShop();
  const browser = provider.browser();
  const page = await browser.get(url);
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of foreign) {
    const sent = await browser.submit(page, { email: newAddress(), password: chosen }, headers);
    expect(sent.statusCode).toBe(403);
  }
  expect(await waitingMails(provider, environment.environmentId)).toEqual([]);
});

test('an Environment accepts as many sign-ups a day as its cap, known addresses included, and the form says so', async () => {
  const { url, environment } = await newShop({ dailySelfSignupCap: 2 });
  const email = newAddress();
  for (const address of [email, email]) {
    expect(messageOf((await signUp(provider.browser(), url, { email: address })).body)).toMatch(/^Check your email/);
  }
  const full = await signUp(provider.browser(), url, { email: newAddress(), first_name: 'Ida' });
  expect(messageOf(full.body)).toMatch(/^No more people can sign up here today/);
  expect(full.body).toContain('value="Ida"');
  expect(full.headers['set-cookie']).toBeUndefined();
  const refused = await provider.query<{ outcome: string }>(
    `select outcome from events where environment_id = $1 and action = 'auth.sign_up_refused'`,
    [environment.environmentId],
  );
  expect(refused).toEqual([{ outcome: 'denied' }]);
  provider.wait(days(1));
  expect(messageOf((await signUp(provider.browser(), url, { email: newAddress() })).body)).toMatch(/^Check your email/);
});

test('of forty forms at once against a cap of ten exactly ten are accepted', async () => {
  const { url, environment } = await newShop({ dailySelfSignupCap: 10 });
  const page = await provider.browser().get(url);
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => provider.browser().submit(page, { email: newAddress(), password: chosen })),
  );
  const taken = answers.filter(({ body }) => /^Check your email/.test(messageOf(body) ?? ''));
  expect(taken).toHaveLength(10);
  const [{ count } = {}] = await provider.query<{ count: number }>(
    'select count(*)::int from environment_memberships where environment_id = $1',
    [environment.environmentId],
  );
  expect(count).toBe(10);
});

test('two sign-ups with one new address at the same moment create one identity with two links', async () => {
  const { url, environment } = await newShop();
  const page = await provider.browser().get(url);
  const email = newAddress();
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => provider.browser().submit(page, { email, password: chosen })),
  );
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  expect(await waitingMails(provider, environment.environmentId)).toHaveLength(4);
  expect(await provider.query('select from identities where account_id = $1', [environment.accountId])).toHaveLength(1);
});

test('errors are shown on the form, which keeps what was typed except the password', async () => {
  const { url, environment } = await newShop({ passwordMinLength: 12 });
  const email = newAddress();
  const cases: [Record<string, string>, RegExp][] = [
    [{ email: '' }, /^Enter an email address/],
    [{ email: 'nobody' }, /^Enter an email address/],
    [{ email: 'a@b,c@d.example' }, /^Enter an email address/],
    [{ email: `${'a'.repeat(400)}@example.com` }, /^Enter an email address/],
    [{ email, password: '' }, /^Choose a password/],
    [{ email, password: 'elevenchars' }, /^This password is too short. Use at least 12 characters/],
    [{ email, password: 'x'.repeat(129) }, /^This password is too long/],
    [{ email, password: 'passwordpassword' }, /^This password is known from a data breach/],
    [{ email, password: 'Acme-2026-Acme' }, /^This password is little more than a name/],
    [{ email, password: 'Josefine 12345', first_name: 'Josefine' }, /^This password is little more than a name/],
    [{ email, first_name: 'a'.repeat(201) }, /^A name can have up to 200/],
    [{ email, last_name: 'a\u0007b' }, /^A name can have up to 200/],
    [{ email, first_name: '\u3164' }, /^A name can have up to 200/],
  ];
  const browser = provider.browser();
  const page = await browser.get(url);
  expect(page.body).toContain('At least 12 characters.');
  for (const [fields, message] of cases) {
    const sent = await browser.submit(page, { password: chosen, first_name: 'Ida', ...fields });
    expect([fields, sent.statusCode, messageOf(sent.body)]).toEqual([fields, 200, expect.stringMatching(message)]);
    expect(sent.body).toContain('action="/oauth/register"');
    expect(sent.body).not.toContain(chosen);
    expect(sent.body).toContain('name="state" value="the state"');
  }
  expect(await waitingMails(provider, environment.environmentId)).toEqual([]);
  expect(
    await provider.query('select from daily_sign_ups where environment_id = $1', [environment.environmentId]),
  ).toEqual([]);
});

test('a field that is sent twice, and malformed parameters, are refused as at the authorization endpoint', async () => {
  const { url } = await newShop();
  const browser = provider.browser();
  expect((await browser.get(url.replace('response_type=code', 'response_type=token'))).statusCode).toBe(400);
  expect((await browser.get('/oauth/register?client_id=nobody')).statusCode).toBe(400);
  const twice = await provider.app.inject({
    method: 'POST',
    url,
    payload: 'email=a%40example.com&email=b%40example.com&password=x',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  expect(twice.statusCode).toBe(400);
});

test('a known address gets the same answer as an unknown one, and only its mailbox learns more', async () => {
  const { environment, client, url } = await newShop();
  const known = await environment.newIdentity({ email: newAddress() });
  const before = await identity(environment, known.email);
  const unknown = newAddress();
  const [ofKnown, ofUnknown] = [
    await signUp(provider.browser(), url, { email: known.email.toUpperCase(), first_name: 'Mallory' }),
    await signUp(provider.browser(), url, { email: unknown.toUpperCase(), first_name: 'Mallory' }),
  ];
  const shape = (answer: typeof ofKnown, email: string) => ({
    status: answer.statusCode,
    body: answer.body
      .replaceAll(email.toUpperCase(), '<address>')
      .replaceAll(encodeURIComponent(email.toUpperCase()), '<address>')
      .replaceAll(/nonce="[^"]+"/g, ''),
    headers: Object.keys(answer.headers).sort(),
    cookie: answer.cookies.map(({ value, ...cookie }) => ({ ...cookie, length: value.length })),
  });
  expect(shape(ofKnown, known.email)).toEqual(shape(ofUnknown, unknown));
  expect(ofKnown.cookies).toHaveLength(1);

  const [mail] = await waitingMails(provider, environment.environmentId);
  expect(mail).toMatchObject({ template: 'sign-up-known-address', to: known.email, values: { first_name: 'Ana' } });
  const query = new URL(String(mail?.values.link)).searchParams;
  expect(query.get('client_id')).toBe(client.clientId);
  expect(query.get('state')).toBe('the state');
  const forgot = await provider.browser().get(await linkOf(mail?.values.forgot_link));
  expect(forgot.body).toContain('action="/oauth/password/forgot"');
  expect(await identity(environment, known.email)).toEqual(before);
});
const linkOf = async (url: unknown) => String(url).replace(provider.baseUrl, '');

test('an identity of the Account from another Environment joins this one by the mailed link, with its password', async () => {
  const { environment, client, url } = await newShop();
  const known = await environment.newIdentity({ email: newAddress(), isMember: false });
  const sent = await signUp(provider.browser(), url, { email: known.email, first_name: 'Mallory' });
  expect(messageOf(sent.body)).toMatch(/^Check your email/);
  const [mail] = await waitingMails(provider, environment.environmentId);
  expect(mail).toMatchObject({ template: 'sign-up-join', to: known.email });

  const elsewhere = provider.browser();
  const early = await elsewhere.submit(await elsewhere.get(authorizeUrl(client)), { email: known.email, password });
  expect(messageOf(early.body)).toMatch(/do not match/);
  const page = await elsewhere.get(await lastLink(provider, environment.environmentId));
  expect(page.body).toContain('Use your account here too?');
  const joined = await elsewhere.submit(page, {});
  expect(joined.body).toContain('Continue to Shop web');
  const withTyped = await elsewhere.submit(await elsewhere.get(authorizeUrl(client)), {
    email: known.email,
    password: chosen,
  });
  expect(messageOf(withTyped.body)).toMatch(/do not match/);
  const signedIn = await elsewhere.submit(await elsewhere.get(nextOf(joined.body)), { email: known.email, password });
  expect(locationOf(signedIn).searchParams.has('code')).toBe(true);
  expect(await identity(environment, known.email)).toMatchObject({ first_name: 'Ana' });
  const again = await elsewhere.submit(page, {}); // within a minute: the same form, which joins nobody twice
  expect(again.body).toContain('Continue to Shop web');
  const [{ value } = {}] = await provider.query<{ value: string }>(
    'select value from counters where environment_id = $1',
    [environment.environmentId],
  );
  expect(value).toBe('1');
});

test('nobody joins by a link while their erasure is under way', async () => {
  const { environment, url } = await newShop();
  const known = await environment.newIdentity({ email: newAddress(), isMember: false });
  const browser = provider.browser();
  await signUp(browser, url, { email: known.email });
  const page = await browser.get(await lastLink(provider, environment.environmentId));
  await environment.beginErasure(known.id);
  expect((await browser.submit(page, {})).statusCode).toBe(400);
  const members = 'select from environment_memberships where identity_id = $1';
  expect(await provider.query(members, [known.id])).toEqual([]);
});

test('a person whom an administrator has locked out is not let in by signing up again', async () => {
  const { environment, url } = await newShop();
  const known = await environment.newIdentity({ email: newAddress(), isActive: false });
  await signUp(provider.browser(), url, { email: known.email });
  const [mail] = await waitingMails(provider, environment.environmentId);
  expect(mail?.template).toBe('sign-up-known-address');
  const [row] = await provider.query<{ is_active: boolean }>(
    'select is_active from environment_memberships where identity_id = $1',
    [known.id],
  );
  expect(row).toEqual({ is_active: false });
});

describe('the link', () => {
  test('is not used up when a scanner opens it', async () => {
    const { environment, url } = await newShop();
    const browser = provider.browser();
    const email = newAddress();
    await signUp(browser, url, { email });
    const link = await lastLink(provider, environment.environmentId);
    for (let i = 0; i < 3; i += 1) await provider.browser().get(link);
    await provider.app.inject({ method: 'HEAD', url: link });
    expect((await identity(environment, email))?.email_verified_at).toBeNull();
    expect((await confirmIn(browser, link)).body).toContain('is confirmed');
  });

  test('works once, also when it is used twice at the same moment', async () => {
    const { environment, url } = await newShop();
    const browser = provider.browser();
    await signUp(browser, url, { email: newAddress() });
    const page = await browser.get(await lastLink(provider, environment.environmentId));
    const cookie = `sign_up=${browser.cookies.get('sign_up')}`;
    const both = await Promise.all([1, 2].map(() => provider.browser().submit(page, {}, { cookie })));
    for (const answer of both)
      expect([answer.statusCode, answer.body]).toEqual([200, expect.stringContaining('is confirmed')]);
    const once = await provider.query(
      `select from events where environment_id = $1 and action = 'identity.email_verified'`,
      [environment.environmentId],
    );
    expect(once).toHaveLength(1);
    expect((await provider.browser().submit(page, {})).body).toContain('is confirmed'); // the same form twice
    const script = await provider.browser().submit(page, {}, { accept: 'application/json' });
    expect([script.statusCode, script.json().error]).toEqual([400, 'invalid_request']);
    provider.wait(minutes(1));
    expect((await provider.browser().submit(page, {})).statusCode).toBe(400);
    const after = await browser.get(await linkIn(page.body));
    expect(after.statusCode).toBe(400);
    expect(after.body).not.toContain('/oauth/verify-email/resend'); // already confirmed
    expect(after.body).toContain('Go to sign-in');
  });

  test('expires after a day, and offers another one, which works', async () => {
    const { environment, url } = await newShop();
    const browser = provider.browser();
    const email = newAddress();
    await signUp(browser, url, { email });
    const link = await lastLink(provider, environment.environmentId);
    provider.wait(hours(24));
    const void_ = await browser.get(link);
    expect(void_.statusCode).toBe(400);
    expect(await waitingMails(provider, environment.environmentId)).toEqual([]);
    const sent = await browser.submit(void_, {});
    expect(sent.body).toContain('Check your email');
    const again = await lastLink(provider, environment.environmentId);
    expect(again).not.toBe(link);
    const of = { identity_id: (await identity(environment, email))?.id, actor_type: 'anonymous' };
    expect(await requestsIn(environment, 'auth.verification_mail_requested')).toEqual([of]);
    expect((await confirmIn(browser, again)).body).toContain('is confirmed');
    const [row] = await provider.query<{ password_hash: string }>(
      'select password_hash from identities where email = $1',
      [email],
    );
    expect(row?.password_hash).toMatch(/^\$argon2id\$/);
  });

  test('of a person who is deactivated since is void, and confirms them once they are active again', async () => {
    const { environment, url } = await newShop();
    const [browser, email] = [provider.browser(), newAddress()];
    await signUp(browser, url, { email });
    const link = await lastLink(provider, environment.environmentId);
    const setActive = (isActive: boolean) =>
      provider.query(
        'update environment_memberships set is_active = $2 where identity_id = (select id from identities where email = $1)',
        [email, isActive],
      );
    const standing = () =>
      provider.query(
        'select email_verified_at is not null as verified, password_hash is not null as password from identities where email = $1',
        [email],
      );
    await setActive(false);
    expect((await browser.get(link)).body).not.toContain('name="token"');
    const form = { token: String(new URL(link, provider.baseUrl).searchParams.get('token')) };
    expect((await browser.post('/oauth/verify-email', form)).body).not.toContain('is confirmed');
    expect(await standing()).toEqual([{ verified: false, password: false }]);
    await setActive(true);
    expect((await confirmIn(browser, link)).body).toContain('is confirmed');
    expect(await standing()).toEqual([{ verified: true, password: true }]);
  });

  test('that is unknown or malformed gets the same answer, and nothing is offered', async () => {
    const browser = provider.browser();
    for (const token of ['', 'x', 'A'.repeat(43), `${'A'.repeat(42)}%00`, '%F0%9F']) {
      const answer = await browser.get(`/oauth/verify-email?token=${token}`);
      expect([token, answer.statusCode]).toEqual([token, 400]);
      expect(answer.body).not.toContain('<form');
      expect((await browser.post('/oauth/verify-email', { token: decodeSafely(token) })).statusCode).toBe(400);
    }
  });

  test('of another Environment works for that one only', async () => {
    const { environment, url } = await newShop();
    const browser = provider.browser();
    await signUp(browser, url, { email: newAddress() });
    const token = (await lastLink(provider, environment.environmentId)).split('token=')[1] as string;
    const other = await provider.newEnvironment();
    const held = { token, browser: browser.cookies.get('sign_up') ?? null, password: null };
    const { link } = provider.logins.signUps;
    expect(await link.look({ ...held, environmentId: other.environmentId })).toEqual({ outcome: 'void', link: null });
    expect(await link.confirm({ ...held, environmentId: other.environmentId })).toEqual({
      outcome: 'void',
      link: null,
    });
    expect(await link.confirm({ ...held, environmentId: environment.environmentId })).toMatchObject({
      outcome: 'confirmed',
    });
  });

  test('from a foreign page it confirms nothing', async () => {
    const { environment, url } = await newShop();
    const browser = provider.browser();
    const email = newAddress();
    await signUp(browser, url, { email });
    const page = await browser.get(await lastLink(provider, environment.environmentId));
    expect((await browser.submit(page, {}, { origin: 'https://evil.example' })).statusCode).toBe(403);
    expect((await identity(environment, email))?.email_verified_at).toBeNull();
  });
});
const decodeSafely = (text: string) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
const linkIn = async (body: string) => `/oauth/verify-email?token=${/name="token" value="([^"]+)"/.exec(body)?.[1]}`;

describe("a person signs up with a stranger's address", () => {
  test('their click alone does not create the account: the page asks for a password that the other does not know', async () => {
    const { environment, client, url } = await newShop();
    const [mallory, victim] = [provider.browser(), provider.browser()];
    const email = newAddress();
    await signUp(mallory, url, { email, password: 'chosen by mallory' });
    const link = await lastLink(provider, environment.environmentId);
    const page = await victim.get(link);
    expect(page.body).toContain('Password from your sign-up');
    const clicked = await victim.submit(page, {});
    expect(clicked.statusCode).toBe(200);
    expect(clicked.body).toContain('Password from your sign-up');
    const wrong = await victim.submit(page, { password: 'what the victim uses' });
    expect(messageOf(wrong.body)).toMatch(
      /^That is not the password of this sign-up\. If you signed up more than once,.* open the newest/,
    );
    expect((await identity(environment, email))?.email_verified_at).toBeNull();
    const tried = await mallory.submit(await mallory.get(authorizeUrl(client)), {
      email,
      password: 'chosen by mallory',
    });
    expect(messageOf(tried.body)).toMatch(/not confirmed yet/);

    // The stranger can still claim the address by their own sign-up.
    await signUp(victim, url, { email });
    await confirmIn(victim, await lastLink(provider, environment.environmentId));
    const signIn = async (password: string) => {
      const browser = provider.browser();
      return (await browser.submit(await browser.get(authorizeUrl(client)), { email, password })).statusCode;
    };
    expect(await signIn(chosen)).toBe(303);
    expect(await signIn('chosen by mallory')).toBe(200);
    expect((await mallory.get(link)).statusCode).toBe(400); // the other link is void
    const token = link.split('token=')[1] as string;
    expect((await mallory.post('/oauth/verify-email', { token })).statusCode).toBe(400);
  });

  test('signing up again in between locks nobody out: each link has its own password', async () => {
    const { environment, client, url } = await newShop();
    const [victim, mallory] = [provider.browser(), provider.browser()];
    const email = newAddress();
    await signUp(victim, url, { email, first_name: 'Ida' });
    const mine = await lastLink(provider, environment.environmentId);
    await signUp(mallory, url, { email, password: 'chosen by mallory', first_name: 'Mallory' });
    const confirmed = await confirmIn(victim, mine);
    const signedIn = await victim.submit(await victim.get(nextOf(confirmed.body)), { email, password: chosen });
    expect(locationOf(signedIn).searchParams.has('code')).toBe(true);
    expect(await identity(environment, email)).toMatchObject({ first_name: 'Ida' });
    const asMallory = await mallory.submit(await mallory.get(authorizeUrl(client)), {
      email,
      password: 'chosen by mallory',
    });
    expect(messageOf(asMallory.body)).toMatch(/do not match/);
  });

  test('the confirmation of one sign-up ends the others, also if an administrator takes it back', async () => {
    const { environment, client, url } = await newShop();
    const email = newAddress();
    const [stranger, owner] = [provider.browser(), provider.browser()];
    await signUp(stranger, url, { email, password: 'a password of a stranger' });
    const of = await lastLink(provider, environment.environmentId);
    await signUp(owner, url, { email });
    await confirmIn(owner, await lastLink(provider, environment.environmentId));
    await changed(environment, (await identity(environment, email))?.id as string, { emailVerified: false });
    expect((await stranger.get(of)).body).not.toContain('<form');
    expect(await identity(environment, email)).toMatchObject({ email_verified_at: null });
    const page = await owner.submit(await owner.get(authorizeUrl(client)), { email, password: chosen });
    expect(page.body).toContain('Send the link again');
  });

  test('a person who had the Identity under another address loses it when the new one is confirmed', async () => {
    const { environment, client, url } = await newShop();
    const before = await environment.newIdentity();
    const form = await provider.browser().get(authorizeUrl(client));
    await provider.browser().submit(form, { email: before.email, password });
    const email = newAddress();
    await provider.query('update identities set email = $2, email_verified_at = null where id = $1', [
      before.id,
      email,
    ]);
    const sessions = () =>
      provider.query<{ id: string; isOver: boolean }>(
        'select id, revoked_at is not null as "isOver" from sessions where identity_id = $1',
        [before.id],
      );
    await plantFactors(provider.query, before.id);
    const elsewhere = await newOther(provider, environment);
    await elsewhere.join(before.id);
    const there = {
      accountId: environment.accountId,
      environmentId: elsewhere.environmentId,
      applicationId: elsewhere.applicationId,
    };
    await strongSession(provider, there, before.id);
    const owner = provider.browser();
    await signUp(owner, url, { email });
    expect(await sessions()).toMatchObject([{ isOver: false }, { isOver: false }]);
    await confirmIn(owner, await lastLink(provider, environment.environmentId));
    const [session, other] = await sessions();
    expect([session, other]).toMatchObject([{ isOver: true }, { isOver: true }]);
    expect(await credentialsOf(provider.query, before.id)).toEqual(noCredentials);
    const told = await provider.query(
      `select metadata from events where resource_id = $1 and action = 'identity.sessions_revoked'`,
      [before.id],
    );
    const each = [session?.id, other?.id].map((id) => ({ metadata: { reason: 'email_verified', session_ids: [id] } }));
    expect(told).toEqual(expect.arrayContaining(each));
    expect(told).toHaveLength(2);
  });

  test('the confirmation ends their sessions in other Environments, too, with an event in each', async () => {
    const { environment, url } = await newShop();
    const other = await newOther(provider, environment);
    const before = await environment.newIdentity();
    await other.join(before.id);
    const form = await provider.browser().get(authorizeUrl(other.client));
    await provider.browser().submit(form, { email: before.email, password });
    const email = newAddress();
    const moved = 'update identities set email = $2, email_verified_at = null where id = $1';
    await provider.query(moved, [before.id, email]);
    const owner = provider.browser();
    await signUp(owner, url, { email });
    await confirmIn(owner, await lastLink(provider, environment.environmentId));
    const sessions = await provider.query<{ id: string; isOver: boolean }>(
      'select id, revoked_at is not null as "isOver" from sessions where identity_id = $1',
      [before.id],
    );
    expect(sessions).toMatchObject([{ isOver: true }]);
    const told = await provider.query(
      `select action, application_id, environment_id, metadata from events where resource_id = $1
         and action in ('identity.sessions_revoked', 'identity.email_verified') order by created_at, id`,
      [before.id],
    );
    const verified = { action: 'identity.email_verified', metadata: { password_set: true } };
    const revoked = { reason: 'email_verified', session_ids: [sessions[0]?.id] };
    const elsewhere = { environment_id: other.environmentId, application_id: other.applicationId };
    expect(told).toEqual([
      { ...verified, environment_id: environment.environmentId, application_id: environment.applicationId },
      { ...verified, ...elsewhere },
      { action: 'identity.sessions_revoked', metadata: revoked, ...elsewhere },
    ]);
  });

  test('a code by mail, or an administrator, confirms the address without the parked password', async () => {
    const { environment, client, url } = await newShop({ emailOtpLoginEnabled: true });
    const mallory = provider.browser();
    const email = newAddress();
    await signUp(mallory, url, { email, password: 'chosen by mallory' });
    await provider.query('update identities set email_verified_at = now() where email = $1', [email]);
    const tried = await mallory.submit(await mallory.get(authorizeUrl(client)), {
      email,
      password: 'chosen by mallory',
    });
    expect(messageOf(tried.body)).toMatch(/do not match/);
    expect((await identity(environment, email))?.password_hash).toBeNull();
    expect((await mallory.get(await newestLink(environment))).statusCode).toBe(400);
  });

  test('after a confirmation by a mailed code, a name that somebody else typed at sign-up is gone, and a name that an administrator entered stays', async () => {
    const { environment, client, url } = await newShop({ emailOtpLoginEnabled: true });
    const typed = { first_name: 'Mallory', last_name: 'was here' };
    const made = await environment.newIdentity({ email: newAddress(), emailVerifiedAt: null });
    for (const [email, first_name, last_name] of [
      [newAddress(), null, null],
      [made.email, 'Ana', 'Arendt'],
    ] as const) {
      await signUp(provider.browser(), url, { email, ...typed });
      const owner = provider.browser();
      const sent = await owner.submit(await owner.get(authorizeUrl(client, { method: 'code' })), { email });
      const done = await owner.submit(sent, { code: await provider.mailedCode('login') });
      expect(done.statusCode).toBe(303);
      expect(await identity(environment, email)).toMatchObject({
        email_verified_at: expect.any(Date),
        first_name,
        last_name,
      });
    }
  });
});
/** Returns the newest link, even one that is void by now and would not be mailed any more. */
async function newestLink({ environmentId }: Environment) {
  const { identityLinkToken } = await import('../../../src/domain/one-time/identity-links.js');
  const [row] = await provider.query<{ id: string }>(
    'select id from identity_links where environment_id = $1 order by created_at desc, id desc limit 1',
    [environmentId],
  );
  return `/oauth/verify-email?token=${identityLinkToken(provider.sealing, row as { id: string }).token}`;
}

describe('in another browser than the one that signed up', () => {
  test('the link accepts the chosen password, and leads back into the flow', async () => {
    const { environment, url } = await newShop();
    const email = newAddress();
    await signUp(provider.browser(), url, { email });
    const phone = provider.browser();
    const page = await phone.get(await lastLink(provider, environment.environmentId));
    const confirmed = await phone.submit(page, { password: chosen });
    expect(confirmed.body).toContain('is confirmed');
    expect(nextOf(confirmed.body)).toContain('state=the+state');
  });

  test('the link leads to where the application starts sign-ins itself, if it does', async () => {
    const environment = await provider.newEnvironment({ allowSelfSignup: true });
    const client = await environment.newClient({ initiateLoginUri: 'https://app.example/login' });
    const email = newAddress();
    await signUp(provider.browser(), toRegister(authorizeUrl(client)), { email });
    const phone = provider.browser();
    const page = await phone.get(await lastLink(provider, environment.environmentId));
    const confirmed = await phone.submit(page, { password: chosen });
    expect(nextOf(confirmed.body)).toContain(`https://app.example/login?iss=${encodeURIComponent(provider.baseUrl)}`);
  });

  test('ten wrong passwords end a link, at once or one by one, and another one can be sent', async () => {
    const { environment, url } = await newShop();
    const email = newAddress();
    await signUp(provider.browser(), url, { email });
    const phone = provider.browser();
    const page = await phone.get(await lastLink(provider, environment.environmentId));
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => phone.submit(page, { password: 'a wrong one' })),
    );
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(10);
    const over = await phone.submit(page, { password: chosen });
    expect(over.statusCode).toBe(400);
    await phone.submit(over, {});
    const again = await phone.get(await lastLink(provider, environment.environmentId));
    expect((await phone.submit(again, { password: chosen })).body).toContain('is confirmed');
  });

  test("a made-up cookie, and another sign-up's, do not replace the password", async () => {
    const { environment, url } = await newShop();
    await signUp(provider.browser(), url, { email: newAddress() });
    const link = await lastLink(provider, environment.environmentId);
    const other = provider.browser();
    await signUp(other, url, { email: newAddress() });
    expect((await other.get(link)).body).toContain('Password from your sign-up');
    const madeUp = await provider.browser().get(link, { cookie: `sign_up=${'A'.repeat(43)}` });
    expect(madeUp.body).toContain('Password from your sign-up');
  });
});

describe('the mail can be sent again', () => {
  const unverified = async (
    browser: Browser,
    client: Awaited<ReturnType<typeof newShop>>['client'],
    email: string,
    pw = chosen,
  ) => browser.submit(await browser.get(authorizeUrl(client)), { email, password: pw });

  test('to a person who knew the password: the sign-in page offers it, and keeps the parameters', async () => {
    const { environment, client, url } = await newShop();
    const browser = provider.browser();
    const email = newAddress();
    await signUp(browser, url, { email });
    const first = await lastLink(provider, environment.environmentId);
    const refused = await unverified(browser, client, email);
    expect(refused.body).toContain('Send the link again');
    const sent = await browser.submit(refused, {});
    expect(messageOf(sent.body)).toMatch(/^Check your email/);
    expect(sent.body).toContain(`name="email" type="email" value="${email}"`); // it need not be typed again
    const second = await lastLink(provider, environment.environmentId);
    expect(second).not.toBe(first);
    const confirmed = await confirmIn(browser, second); // the same browser: one click
    expect(nextOf(confirmed.body)).toContain('state=the+state');
  });

  test('but is not offered to a person who does not know the password', async () => {
    const { client, url } = await newShop();
    const browser = provider.browser();
    const email = newAddress();
    await signUp(browser, url, { email });
    const refused = await unverified(browser, client, email, 'not that one');
    expect(messageOf(refused.body)).toMatch(/do not match/);
    expect(refused.body).not.toContain('/oauth/verify-email/resend');
  });

  test('and a person who confirms with their earlier password keeps their second factors', async () => {
    const { environment, client } = await newShop();
    const ana = await environment.newIdentity({ emailVerifiedAt: null });
    await plantFactors(provider.query, ana.id);
    const browser = provider.browser();
    const page = await browser.submit(await browser.get(authorizeUrl(client)), { email: ana.email, password });
    await browser.submit(page, {});
    await confirmIn(provider.browser(), await lastLink(provider, environment.environmentId), { password });
    expect((await identity(environment, ana.email))?.email_verified_at).not.toBeNull();
    expect(await credentialsOf(provider.query, ana.id)).toMatchObject({ factors: 1, recoveryCodes: 1 });
  });

  test('and an identity that an administrator created with a password confirms with that one', async () => {
    const { environment, client } = await newShop();
    const browser = provider.browser();
    const made = await environment.newIdentity({ email: newAddress(), emailVerifiedAt: null });
    await browser.submit(await unverified(browser, client, made.email, password), {});
    const page = await browser.get(await lastLink(provider, environment.environmentId));
    expect(page.body).toContain('Password from your sign-up');
    expect((await browser.submit(page, { password })).body).toContain('is confirmed');
    expect(locationOf(await unverified(browser, client, made.email, password)).searchParams.has('code')).toBe(true);
  });

  test('but not to a person who was removed meanwhile, which the page does not tell', async () => {
    const { environment, client } = await newShop();
    for (const table of ['environment_memberships where identity_id', 'identities where id']) {
      const browser = provider.browser();
      const made = await environment.newIdentity({ email: newAddress(), emailVerifiedAt: null });
      const page = await unverified(browser, client, made.email, password);
      await provider.query(`delete from ${table} = $1`, [made.id]);
      const answered = await browser.submit(page, {});
      expect(answered.statusCode).toBe(200);
      expect(messageOf(answered.body)).toMatch(/^Check your email/);
    }
    expect(await waitingMails(provider, environment.environmentId)).toHaveLength(0);
  });

  test('but not to a person whose sign-up was confirmed, and whose password another proof has removed', async () => {
    const { environment, client, url } = await newShop();
    const browser = provider.browser();
    const email = newAddress();
    await signUp(browser, url, { email });
    await confirmIn(browser, await lastLink(provider, environment.environmentId));
    await provider.query('update identities set email_verified_at = null, password_hash = null where email = $1', [
      email,
    ]);
    const refused = await unverified(browser, client, email);
    expect(messageOf(refused.body)).toMatch(/do not match/);
    expect(refused.body).not.toContain('/oauth/verify-email/resend');
  });

  test('but never to the address that somebody else has set since', async () => {
    const { environment, client, url } = await newShop();
    const browser = provider.browser();
    const [email, other] = [newAddress(), newAddress()];
    await signUp(browser, url, { email });
    const offered = await unverified(browser, client, email);
    await changed(environment, (await identity(environment, email))?.id as string, { email: other });
    expect(messageOf((await browser.submit(offered, {})).body)).toMatch(/^Check your email/);
    expect(await waitingMails(provider, environment.environmentId)).toHaveLength(0);
    expect(messageOf((await unverified(browser, client, other)).body)).toMatch(/do not match/);
  });

  test("but not by a ticket that is too old, changed, made up or another client's", async () => {
    const { environment, client, url } = await newShop();
    const other = await environment.newClient();
    const browser = provider.browser();
    const email = newAddress();
    await signUp(browser, url, { email });
    const refused = await unverified(browser, client, email);
    const ticket = /name="ticket" value="([^"]+)"/.exec(refused.body)?.[1] as string;
    const count = async () => (await waitingMails(provider, environment.environmentId)).length;
    const send = (ticket: string, clientId = client.clientId) =>
      browser.post('/oauth/verify-email/resend', {
        ...Object.fromEntries(new URL(`http://x${authorizeUrl({ clientId })}`).searchParams),
        ticket,
      });
    for (const forged of ['', 'x', `${ticket.slice(0, -2)}AA`]) expect((await send(forged)).statusCode).toBe(200);
    await send(ticket, other.clientId);
    expect(await count()).toBe(1);
    provider.wait(minutes(15));
    await send(ticket);
    expect(await count()).toBe(1);
  });
});

describe('in JSON', () => {
  const json = { accept: 'application/json', 'content-type': 'application/json' };
  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    provider.app.inject({ method: 'POST', url, payload, headers: { ...json, ...headers } });

  test('a script signs a person up and confirms the address', async () => {
    const { environment, client, url } = await newShop();
    const fields = await provider.app.inject({ method: 'GET', url, headers: json });
    expect(fields.json()).toEqual({
      fields: ['email', 'password', 'first_name', 'last_name'],
      password_min_length: 8,
      captcha: null,
    });
    const email = newAddress();
    const query = Object.fromEntries(new URL(`http://x${url}`).searchParams);
    const short = await post('/oauth/register', { ...query, email, password: 'short' });
    expect([short.statusCode, short.json()]).toEqual([
      400,
      {
        error: 'invalid_request',
        error_description: expect.stringContaining('at least 8'),
        reason: 'sign_up.error.too_short',
      },
    ]);
    const sent = await post('/oauth/register', { ...query, email, password: chosen });
    expect([sent.statusCode, sent.json()]).toEqual([200, { status: 'check_your_email' }]);
    const refused = await post('/oauth/authorize', { ...query, email, password: chosen });
    expect([refused.statusCode, refused.json()]).toEqual([
      401,
      expect.objectContaining({ error: 'access_denied', resend_ticket: expect.any(String) }),
    ]);
    const again = await post('/oauth/verify-email/resend', { ...query, ticket: refused.json().resend_ticket });
    expect(again.json()).toEqual({ status: 'check_your_email' });

    const link = await lastLink(provider, environment.environmentId);
    const token = link.split('token=')[1];
    const looked = await provider.app.inject({ method: 'GET', url: link, headers: json });
    expect([looked.statusCode, looked.json()]).toEqual([200, { email, asks: 'password' }]);
    expect((await post('/oauth/verify-email', { token })).statusCode).toBe(401);
    const wrong = await post('/oauth/verify-email', { token, password: 'wrong' });
    expect([wrong.statusCode, wrong.json().error]).toEqual([401, 'access_denied']);
    const confirmed = await post('/oauth/verify-email', { token, password: chosen });
    expect(confirmed.json()).toEqual({
      status: 'email_verified',
      continue_to: expect.stringContaining(`client_id=${client.clientId}`),
    });
    const spent = await post('/oauth/verify-email', { token, password: chosen });
    expect([spent.statusCode, spent.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_request' })]);
  });

  test('a closed sign-up and a full day are 403', async () => {
    for (const [settings, reason] of [
      [{ allowSelfSignup: false }, 'sign_up.error.closed'],
      [{ dailySelfSignupCap: 0 }, 'sign_up.error.cap'],
      [{ selfSignupRequireCaptcha: true }, 'sign_up.error.captcha'],
    ] as const) {
      const { url } = await newShop(settings);
      const sent = await post(url, { email: newAddress(), password: chosen });
      expect([sent.statusCode, sent.json()]).toMatchObject([403, { error: 'access_denied', reason }]);
    }
  });
});
