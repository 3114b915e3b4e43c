import { randomUUID } from 'node:crypto';
import type { FirstFactor } from '../../../src/domain/sessions/first-factor.js';
import { hours, minutes } from '../../../src/platform/clock.js';
import { credentialsOf, noCredentials, plantFactors } from '../../support/credentials.js';
import { lastLink, waitingMails } from '../../support/identity-mails.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem, refresh, tokensFor } from '../../support/oauth/tokens.js';
import { messageOf, nextOf } from '../../support/page-parts.js';

const provider = await newProvider();
afterAll(() => provider.close());

type Environment = Awaited<ReturnType<TestProvider['newEnvironment']>>;
type Client = Awaited<ReturnType<Environment['newClient']>>;
const chosen = 'lantern orchard seven';
const newAddress = () => `ida.${randomUUID()}@example.com`;
const toForgot = (url: string) => url.replace('/oauth/authorize?', '/oauth/password/forgot?');

async function newShop(settings: Parameters<TestProvider['newEnvironment']>[0] = {}) {
  const environment = await provider.newEnvironment(settings);
  return { environment, client: await environment.newClient() };
}
async function forgot(browser: Browser, client: Client, email: string, more: Record<string, string> = {}) {
  return browser.submit(await browser.get(toForgot(authorizeUrl(client, more))), { email });
}
const signIn = async (browser: Browser, client: Client, email: string, typed: string) =>
  browser.submit(await browser.get(authorizeUrl(client)), { email, password: typed });
const cookieOf = (browser: Browser) => browser.cookies.get('hosted_session') as string;

test('a person who forgot the password resets it from the sign-in page, and arrives with all that the client requested', async () => {
  const { environment, client } = await newShop();
  const { email } = await environment.newIdentity({ email: newAddress() });
  const browser = provider.browser();
  const { verifier, challenge } = newPkce();
  const signInPage = await browser.get(authorizeUrl(client, { code_challenge: challenge }));
  const link = /href="(\/oauth\/password\/forgot[^"]+)"/.exec(signInPage.body)?.[1]?.replaceAll('&amp;', '&') as string;
  const sent = await browser.submit(await browser.get(link), { email: ` ${email.toUpperCase()} ` });
  expect(sent.statusCode).toBe(200);
  expect(messageOf(sent.body)).toMatch(/^If there is an account with this address/);
  expect(sent.body).toContain('action="/oauth/authorize"');

  const [mail] = await waitingMails(provider, environment.environmentId);
  expect(mail).toMatchObject({
    template: 'identity-password-reset',
    to: email,
    values: { first_name: 'Ana', application_name: 'Acme' },
  });
  const page = await browser.get(await lastLink(provider, environment.environmentId));
  expect(page.body).toContain('At least 8 characters.');
  const done = await browser.submit(page, { password: chosen });
  expect(done.body).toContain('Your password is saved');
  const back = await browser.get(nextOf(done.body));
  expect(back.body).toContain(`value="${email}"`);
  const answer = locationOf(await browser.submit(back, { email, password: chosen }));
  expect(answer.searchParams.get('state')).toBe('the state');
  const code = String(answer.searchParams.get('code'));
  expect((await redeem(provider.app, client, { code, verifier, redirect: redirectUri })).statusCode).toBe(200);
  expect(messageOf((await signIn(provider.browser(), client, email, password)).body)).toMatch(/do not match/);
});

test('a person who uses a link while another person is signed in is told so, and asked who continues', async () => {
  const { environment, client } = await newShop();
  const [ida, yuri] = [await environment.newIdentity({ email: newAddress() }), await environment.newIdentity()];
  const browser = provider.browser();
  await signIn(browser, client, yuri.email, password);
  await forgot(provider.browser(), client, ida.email, { prompt: 'consent' });
  const token = await lastLink(provider, environment.environmentId);
  const done = await browser.submit(await browser.get(token), { password: chosen });
  expect(done.body).toContain(`This browser is signed in as ${yuri.email}. To continue as ${ida.email}`);
  const asked = await browser.get(nextOf(done.body));
  expect(asked.body).toContain('Choose an account');
  const form = await browser.submit(asked, { choice: 'other' });
  expect(form.body).toContain(`value="${ida.email}"`);
  expect(locationOf(await browser.submit(form, { email: ida.email, password: chosen })).origin).toContain(
    'app.example',
  );
  // Their own session does not cause the question.
  await forgot(provider.browser(), client, ida.email);
  const again = await browser.submit(await browser.get(await lastLink(provider, environment.environmentId)), {
    password: `${chosen} more`,
  });
  expect(again.body).not.toContain('This browser is signed in as');
});

test('a requested link is recorded, and its mail is in the requester’s language, any number of times without limits', async () => {
  const { environment, client } = await newShop();
  const { email } = await environment.newIdentity({ email: newAddress() });
  const browser = provider.browser();
  const german = { 'accept-language': 'de' };
  for (let i = 0; i < 6; i++) {
    const page = await browser.get(toForgot(authorizeUrl(client)), german);
    expect((await browser.submit(page, { email }, german)).statusCode).toBe(200);
  }
  expect((await waitingMails(provider, environment.environmentId)).map(({ locale }) => locale)).toEqual(['de']);
  const links = await provider.query<{ id: string; locale: string }>(
    'select id, locale from identity_links where environment_id = $1 order by id',
    [environment.environmentId],
  );
  expect(links.map(({ locale }) => locale)).toEqual(Array(6).fill('de'));
  const { accountId: account_id, applicationId: application_id, environmentId: environment_id } = environment;
  const requested = await provider.query(
    `select account_id, application_id, environment_id, resource_id from events
     where action = 'auth.identity_password_link_requested' and environment_id = $1 order by resource_id`,
    [environment_id],
  );
  expect(requested).toEqual(
    links.map(({ id: resource_id }) => ({ account_id, application_id, environment_id, resource_id })),
  );
});

test('the owner gets a mail about a new password in the environment’s language, whatever the browser requests', async () => {
  const { environment, client } = await newShop({ defaultLocale: 'de' });
  const { email } = await environment.newIdentity({ email: newAddress() });
  const english = { 'accept-language': 'en' };
  await forgot(provider.browser(), client, email);
  const browser = provider.browser();
  const page = await browser.get(await lastLink(provider, environment.environmentId), english);
  await browser.submit(page, { password: chosen }, english);
  const mails = await waitingMails(provider, environment.environmentId);
  expect(mails.map(({ template, locale }) => [template, locale])).toEqual([['identity-password-changed', 'de']]);
});

test('every earlier session, refresh token, code and half-done sign-in ends, in the whole Account, and the owner gets a mail', async () => {
  const { environment, client } = await newShop({ mfaPolicy: 'off' });
  const person = await environment.newIdentity({ email: newAddress() });
  const stranger = await environment.newIdentity({ email: newAddress() });
  const [mine, theirs] = [provider.browser(), provider.browser()];
  const tokens = await tokensFor(mine, client, person.email);
  const others = await tokensFor(theirs, client, stranger.email);
  const half = await provider.logins.pendingSignIns.begin({
    client,
    channel: 'hosted',
    purpose: 'challenge',
    first: {
      identityId: person.id,
      method: 'password',
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
      authenticatedAt: provider.now(),
      secondFactorAt: null,
      ownFactorAt: null,
    },
    requiresAal2: false,
    parameters: {},
  });
  provider.wait(minutes(1));
  await forgot(provider.browser(), client, person.email);
  const browser = provider.browser();
  await browser.submit(await browser.get(await lastLink(provider, environment.environmentId)), { password: chosen });

  expect((await refresh(provider.app, client, tokens.refresh_token)).statusCode).toBe(400);
  expect(await provider.provider.sessions.find(cookieOf(mine), environment.environmentId, null)).toBeNull();
  expect(await provider.logins.pendingSignIns.find(half.token, 'hosted')).toBeNull();
  expect((await refresh(provider.app, client, others.refresh_token)).statusCode).toBe(200);
  expect(await provider.provider.sessions.find(cookieOf(theirs), environment.environmentId, null)).not.toBeNull();

  const mails = await waitingMails(provider, environment.environmentId);
  expect(mails.map(({ template, to }) => [template, to])).toEqual([['identity-password-changed', person.email]]);
  const [event] = await provider.query<{ actor_id: string; metadata: object; is_domain_event: boolean }>(
    `select * from events where action = 'identity.password_changed' and resource_id = $1`,
    [person.id],
  );
  expect(event).toMatchObject({
    actor_id: person.id,
    is_domain_event: true,
    metadata: { method: 'reset_link', revoked_session_ids: [expect.any(String)] },
  });
});

test('a sign-in with the old password that is under way when it is replaced starts no session, in any order', async () => {
  const { environment, client } = await newShop({ mfaPolicy: 'off' });
  const person = await environment.newIdentity({ email: newAddress() });
  await forgot(provider.browser(), client, person.email);
  const token = (await lastLink(provider, environment.environmentId)).split('token=')[1] as string;
  provider.wait(1);
  const pages = await Promise.all(
    Array.from({ length: 16 }, async () => {
      const browser = provider.browser();
      return { browser, page: await browser.get(authorizeUrl(client)) };
    }),
  );
  const signIns = pages.map(({ browser, page }) => browser.submit(page, { email: person.email, password }));
  const answers = await Promise.all([...signIns, provider.logins.passwordReset.reset({ token, password: chosen })]);
  const statuses = answers.slice(0, -1).map((answer) => (answer as { statusCode: number }).statusCode);
  for (const status of statuses) expect([200, 303]).toContain(status); // before the reset; after it, or at the same time
  const living = await provider.query('select from sessions where identity_id = $1 and revoked_at is null', [
    person.id,
  ]);
  expect(living).toEqual([]);
  expect((await signIn(provider.browser(), client, person.email, chosen)).statusCode).toBe(303);
});

test('if a password is replaced while it is being verified, the sign-in page is shown again with the client’s request', async () => {
  const { environment, client } = await newShop({ mfaPolicy: 'off' });
  const person = await environment.newIdentity({ email: newAddress() });
  const { passwordLogin } = provider.logins;
  const looked = passwordLogin.signIn;
  passwordLogin.signIn = async (...asked) => {
    const result = await looked(...asked);
    await provider.query(`update identities set password_changed_at = now() + interval '1 day' where id = $1`, [
      person.id,
    ]);
    return result;
  };
  try {
    const browser = provider.browser();
    const page = await signIn(browser, client, person.email, password);
    expect([page.statusCode, messageOf(page.body)]).toEqual([200, expect.stringMatching(/do not match/)]);
    expect(page.body).toContain('name="state" value="the state"');
    const script = { accept: 'application/json' };
    const told = await browser.submit(page, { email: person.email, password }, script);
    expect([told.statusCode, told.json()]).toMatchObject([401, { reason: 'sign_in.error.credentials' }]);
  } finally {
    passwordLogin.signIn = looked;
  }
});

test('a password that has been replaced since starts no session', async () => {
  const { environment } = await newShop();
  const person = await environment.newIdentity({ email: newAddress() });
  const before = provider.now();
  provider.wait(minutes(1));
  await provider.query('update identities set password_changed_at = $2 where id = $1', [person.id, provider.now()]);
  const start = (more: { passwordChangedAt?: Date | null; amr?: string[] }) =>
    provider.provider.sessions.signIn({
      scope: environment,
      identityId: person.id,
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
      authenticatedAt: before,
      lifeSeconds: 60,
      browser: null,
      ipAddress: '192.0.2.1',
      userAgent: null,
      ...more,
    });
  const refused = { code: 'auth.invalid_credentials' };
  await expect(start({})).rejects.toMatchObject(refused); // a second factor a minute later
  await expect(start({ passwordChangedAt: before })).rejects.toMatchObject(refused);
  await expect(start({ passwordChangedAt: null })).rejects.toMatchObject(refused);
  expect(await provider.query('select from sessions where identity_id = $1', [person.id])).toEqual([]);
  expect(await provider.query('select from events where resource_id = $1', [person.id])).toEqual([]);
  await start({ passwordChangedAt: provider.now() });
  await start({ amr: ['hwk', 'user'] }); // a passkey is not affected
});

test('a sign-in that starts no session leaves the browser’s other sessions as they are', async () => {
  const [here, elsewhere] = [(await newShop()).environment, (await newShop()).environment];
  const [ana, other, ben] = await Promise.all([here, here, elsewhere].map((place) => place.newIdentity()));
  const begin = (scope: typeof here, person: typeof ana, browser: string | null, passwordChangedAt?: Date | null) =>
    provider.provider.sessions.signIn({
      scope,
      identityId: (person as { id: string }).id,
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
      lifeSeconds: 3600,
      browser,
      ipAddress: '192.0.2.1',
      userAgent: null,
      ...(passwordChangedAt !== undefined && { passwordChangedAt }),
    });
  const { browser: first } = await begin(elsewhere, ben, null);
  const { browser } = await begin(here, other, first);
  const refused = { code: 'auth.invalid_credentials' };
  await expect(begin(here, ana, browser, null)).rejects.toMatchObject(refused); // there was none, and now there is one
  for (const [scope, who] of [
    [here, other],
    [elsewhere, ben],
  ] as const) {
    const kept = await provider.provider.sessions.find(browser, scope.environmentId, null);
    expect(kept).toMatchObject({ identityId: (who as { id: string }).id });
  }
});

test('a password that has been replaced since leads to no second factor either, nor enrolls one', async () => {
  const { environment, client } = await newShop();
  const person = await environment.newIdentity({ email: newAddress() });
  const before = provider.now();
  provider.wait(minutes(1));
  await provider.query('update identities set password_changed_at = $2 where id = $1', [person.id, provider.now()]);
  const { pendingSignIns } = provider.logins;
  const begun = async (more: { method?: 'session' | 'passkey'; amr?: string[]; authenticatedAt?: Date }) => {
    const first: FirstFactor = {
      identityId: person.id,
      method: 'password',
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
      authenticatedAt: before,
      secondFactorAt: null,
      ownFactorAt: null,
      ...more,
    };
    const { token } = await pendingSignIns.begin({
      client,
      channel: 'hosted',
      purpose: 'enrollment',
      first,
      requiresAal2: false,
      parameters: {},
    });
    return (await pendingSignIns.find(token, 'hosted')) !== null;
  };
  expect(await begun({})).toBe(false);
  expect(await begun({ authenticatedAt: provider.now() })).toBe(true);
  expect(await begun({ method: 'passkey', amr: ['hwk', 'user'] })).toBe(true);
  expect(await begun({ method: 'session' })).toBe(true); // kept by the person who changed the password in it
});

test('a reset proves the mailbox: an unconfirmed person is confirmed, and a stranger’s parked sign-up for the address is void', async () => {
  const { environment, client } = await newShop({ allowSelfSignup: true });
  const mallory = provider.browser();
  const email = newAddress();
  const registerUrl = authorizeUrl(client).replace('/oauth/authorize?', '/oauth/register?');
  const typed = { first_name: 'Mallory', last_name: 'was here', password: 'chosen by mallory' };
  await mallory.submit(await mallory.get(registerUrl), { email, ...typed });
  const parked = await lastLink(provider, environment.environmentId);
  const [made = { id: '' }] = await provider.query<{ id: string }>('select id from identities where email = $1', [
    email,
  ]);
  await plantFactors(provider.query, made.id);
  const victim = provider.browser();
  await forgot(victim, client, email);
  await victim.submit(await victim.get(await lastLink(provider, environment.environmentId)), { password: chosen });
  expect(await credentialsOf(provider.query, made.id)).toEqual(noCredentials);
  expect((await mallory.get(parked)).statusCode).toBe(400);
  expect(messageOf((await signIn(mallory, client, email, 'chosen by mallory')).body)).toMatch(/do not match/);
  expect((await signIn(victim, client, email, chosen)).statusCode).toBe(303);
  const [{ id, ...names } = { id: '' }] = await provider.query<{ id: string }>(
    'select id, first_name, last_name from identities where email = $1',
    [email],
  );
  expect(names).toEqual({ first_name: null, last_name: null });
  const actions = await provider.query<{ action: string }>(
    `select action from events where resource_id = $1 order by id`,
    [id],
  );
  expect(actions.map(({ action }) => action)).toEqual([
    'identity.created',
    'identity.password_changed',
    'identity.email_verified',
    'identity.mfa_reset',
    'auth.identity_sign_in_failed',
    'identity.signed_in',
  ]);
});

test.each(['unknown', 'deactivated', 'of another Environment'])(
  'a person who is %s gets no mail: the queued one is not sent',
  async (kind) => {
    const { environment, client } = await newShop();
    const email = newAddress();
    if (kind === 'deactivated') await environment.newIdentity({ email, isActive: false });
    if (kind === 'of another Environment') await environment.newIdentity({ email, isMember: false });
    const sent = await forgot(provider.browser(), client, email);
    expect(messageOf(sent.body)).toMatch(/^If there is an account with this address/);
    expect(
      await provider.query('select from emails where environment_id = $1', [environment.environmentId]),
    ).toHaveLength(1);
    expect(await waitingMails(provider, environment.environmentId)).toEqual([]);
  },
);

test('a person who is deactivated after the form gets no mail either', async () => {
  const { environment, client } = await newShop();
  const person = await environment.newIdentity({ email: newAddress() });
  await forgot(provider.browser(), client, person.email);
  expect(await waitingMails(provider, environment.environmentId)).toHaveLength(1);
  await provider.query('update environment_memberships set is_active = false where identity_id = $1', [person.id]);
  expect(await waitingMails(provider, environment.environmentId)).toEqual([]);
});

test('an invalid address is reported on the form; an Environment without passwords has nothing to reset', async () => {
  const { client } = await newShop();
  for (const email of ['', 'nobody', 'a@b,c@d.example', '\u0000@example.com']) {
    const answer = await forgot(provider.browser(), client, email);
    expect([email, answer.statusCode, messageOf(answer.body)]).toEqual([
      email,
      200,
      expect.stringMatching(/^Enter an email/),
    ]);
  }
  const without = await newShop({ passwordLoginEnabled: false, emailOtpLoginEnabled: true });
  const page = await provider.browser().get(toForgot(authorizeUrl(without.client)));
  expect(page.body).toContain('action="/oauth/login/email-otp/start"');
  const query = Object.fromEntries(new URL(`http://x${authorizeUrl(without.client)}`).searchParams);
  const sent = await provider.browser().post('/oauth/password/forgot', { ...query, email: newAddress() });
  expect(sent.body).toContain('action="/oauth/login/email-otp/start"');
  expect(
    await provider.query('select from emails where environment_id = $1', [without.environment.environmentId]),
  ).toEqual([]);
});

test('forms from a foreign origin request nothing and change nothing', async () => {
  const { environment, client } = await newShop();
  const { email } = await environment.newIdentity({ email: newAddress() });
  const browser = provider.browser();
  const foreign = { origin: 'https://evil.example' };
  const form = await browser.get(toForgot(authorizeUrl(client)));
  expect((await browser.submit(form, { email }, foreign)).statusCode).toBe(403);
  await browser.submit(form, { email });
  const page = await browser.get(await lastLink(provider, environment.environmentId));
  expect((await browser.submit(page, { password: chosen }, foreign)).statusCode).toBe(403);
  expect((await signIn(browser, client, email, password)).statusCode).toBe(303);
});

describe('the link', () => {
  async function linkFor(settings = {}) {
    const shop = await newShop(settings);
    const person = await shop.environment.newIdentity({ email: newAddress() });
    await forgot(provider.browser(), shop.client, person.email);
    return { ...shop, person, link: await lastLink(provider, shop.environment.environmentId) };
  }
  const set = async (link: string, typed = chosen) => {
    const browser = provider.browser();
    return browser.post('/oauth/password/reset', { token: link.split('token=')[1] as string, password: typed });
  };

  test('is not used up by opening it, works once, and two uses at the same moment count as one', async () => {
    const { link } = await linkFor();
    for (let i = 0; i < 3; i += 1) expect((await provider.browser().get(link)).statusCode).toBe(200);
    const both = await Promise.all([set(link), set(link, 'another lantern seven')]);
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400]);
    const spent = await provider.browser().get(link);
    expect(spent.statusCode).toBe(400);
    expect(spent.body).toContain('Ask for another link');
    expect(nextOf(spent.body)).toMatch(/^\/oauth\/password\/forgot\?.*state=the/);
  });

  test.each(['in sequence', 'at once'])(
    'a form that is sent twice %s reports twice that the password was saved',
    async (how) => {
      const { link, person, environment } = await linkFor();
      const changes = () =>
        provider.query(`select id from events where resource_id = $1 and action = 'identity.password_changed'`, [
          person.id,
        ]);
      const both = how === 'at once' ? await Promise.all([set(link), set(link)]) : [await set(link), await set(link)];
      for (const answer of both) {
        expect([answer.statusCode, answer.cookies]).toEqual([200, []]);
        expect(answer.body).toContain('Your password is saved');
        expect(nextOf(answer.body)).toContain(`login_hint=${encodeURIComponent(person.email)}`);
      }
      expect(await changes()).toHaveLength(1);
      expect((await set(link, 'another lantern seven')).statusCode).toBe(400); // that password was not set
      const token = link.split('token=')[1] as string;
      const script = await provider
        .browser()
        .post('/oauth/password/reset', { token, password: chosen }, { accept: 'application/json' });
      expect([script.statusCode, script.json().error]).toEqual([400, 'invalid_request']);
      expect((await provider.browser().get(link)).statusCode).toBe(400);
      provider.wait(minutes(1));
      expect((await set(link)).statusCode).toBe(400);
      expect(await waitingMails(provider, environment.environmentId)).toHaveLength(1); // the notice
    },
  );

  test('expires after an hour', async () => {
    const { link, environment } = await linkFor();
    provider.wait(hours(1));
    expect((await provider.browser().get(link)).statusCode).toBe(400);
    expect((await set(link)).statusCode).toBe(400);
    expect(await waitingMails(provider, environment.environmentId)).toEqual([]);
  });

  test('is void once there is a newer one, or the password was changed otherwise', async () => {
    const { link, client, person, environment } = await linkFor();
    await forgot(provider.browser(), client, person.email);
    expect((await set(link)).statusCode).toBe(400);
    const newer = await lastLink(provider, environment.environmentId);
    await provider.query('update identities set password_changed_at = $2 where id = $1', [
      person.id,
      new Date(provider.now().getTime() + 1),
    ]);
    expect((await set(newer)).statusCode).toBe(400);
  });

  test('does nothing for a person who was locked out meanwhile', async () => {
    const { link, person } = await linkFor();
    await provider.query('update environment_memberships set is_active = false where identity_id = $1', [person.id]);
    expect((await set(link)).statusCode).toBe(400);
  });

  test('stays valid when the password was refused, which the form says', async () => {
    const { link, person } = await linkFor({ passwordMinLength: 15 });
    const cases: [string, RegExp][] = [
      ['', /^Choose a password/],
      ['fourteen chars', /^This password is too short. Use at least 15 characters/],
      ['x'.repeat(129), /^This password is too long/],
      ['passwordpassword', /^This password is known from a data breach/],
      [`${person.email} 2026`, /^This password is little more than a name/],
    ];
    for (const [typed, message] of cases) expect(messageOf((await set(link, typed)).body)).toMatch(message);
    expect((await set(link)).statusCode).toBe(200);
  });

  test('of a sign-up sets no password, nor does an invented one; the link for a password confirms no sign-up', async () => {
    const { link, environment, client, person } = await linkFor({ allowSelfSignup: true });
    const token = link.split('token=')[1] as string;
    expect((await provider.browser().post('/oauth/verify-email', { token })).statusCode).toBe(400);
    const register = authorizeUrl(client).replace('/oauth/authorize?', '/oauth/register?');
    const browser = provider.browser();
    await browser.submit(await browser.get(register), { email: newAddress(), password: chosen });
    const other = await lastLink(provider, environment.environmentId);
    expect(other).toContain('/oauth/verify-email');
    for (const wrong of [other, 'token=', `token=${'A'.repeat(43)}`, 'token=\u0000'])
      expect((await set(wrong)).statusCode).toBe(400);
    expect((await signIn(browser, client, person.email, password)).statusCode).toBe(303);
  });

  test('works in its own Environment only, if that is requested', async () => {
    const { link, environment } = await linkFor();
    const { passwordReset } = provider.logins;
    const token = link.split('token=')[1] as string;
    const other = await provider.newEnvironment();
    const held = { token, environmentId: other.environmentId };
    for (const none of [held, { ...held, token: 'made up' }])
      expect(await passwordReset.look(none)).toEqual({ outcome: 'void', link: null });
    await expect(passwordReset.reset({ ...held, password: chosen })).rejects.toMatchObject({
      code: 'password.link_invalid',
    });
    await passwordReset.reset({ token, environmentId: environment.environmentId, password: chosen });
  });
});

test('an application that starts sign-ins itself gets the person after a reset, in whatever browser the link is opened', async () => {
  const environment = await provider.newEnvironment();
  const client = await environment.newClient({ initiateLoginUri: 'https://app.example/login' });
  const { email } = await environment.newIdentity({ email: newAddress() });
  await forgot(provider.browser(), client, email);
  const link = await lastLink(provider, environment.environmentId);
  const phone = provider.browser();
  const done = await phone.submit(await phone.get(link), { password: chosen });
  const iss = encodeURIComponent(provider.baseUrl);
  expect(nextOf(done.body)).toBe(`https://app.example/login?iss=${iss}&login_hint=${encodeURIComponent(email)}`);
  // A person who reads the mailbox later does not see the address.
  provider.wait(minutes(2));
  const spent = await provider.browser().get(link);
  expect(spent.body).toContain(`"https://app.example/login?iss=${iss}"`);
  expect(spent.body).not.toContain(encodeURIComponent(email));
});

test('a script resets a password in JSON, with the same refusals as the page', async () => {
  const { environment, client } = await newShop();
  const { email } = await environment.newIdentity({ email: newAddress() });
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const post = (url: string, payload: object) => provider.app.inject({ method: 'POST', url, payload, headers });
  const forgotUrl = toForgot(authorizeUrl(client));
  expect((await provider.app.inject({ url: forgotUrl, headers })).json()).toEqual({ fields: ['email'] });
  const none = await post(forgotUrl, { email: 'nobody' });
  expect([none.statusCode, none.json().error]).toEqual([400, 'invalid_request']);
  expect((await post(forgotUrl, { email })).json()).toEqual({ status: 'check_your_email' });
  const link = await lastLink(provider, environment.environmentId);
  const token = link.split('token=')[1];
  expect((await provider.app.inject({ url: link, headers })).json()).toEqual({ email, password_min_length: 8 });
  const short = await post('/oauth/password/reset', { token, password: 'short' });
  expect([short.statusCode, short.json()]).toEqual([
    400,
    {
      error: 'invalid_request',
      error_description: expect.stringContaining('at least 8'),
      reason: 'sign_up.error.too_short',
    },
  ]);
  const done = await post('/oauth/password/reset', { token, password: chosen });
  expect(done.json()).toEqual({
    status: 'password_changed',
    continue_to: expect.stringMatching(/^\/oauth\/authorize\?.*client_id=/),
  });
  const spent = await post('/oauth/password/reset', { token, password: chosen });
  expect([spent.statusCode, spent.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_request' })]);
});

describe('with limits', () => {
  let limited: TestProvider;
  beforeAll(async () => {
    limited = await newProvider({ rateLimits: true });
  });
  afterAll(() => limited.close());

  test('mails to one address are limited wherever they are requested, known or not, and each Environment counts separately', async () => {
    const environment = await limited.newEnvironment();
    const client = await environment.newClient();
    const { email: known } = await environment.newIdentity({ email: newAddress() });
    let ip = 0;
    const ask = (email: string, which = client) =>
      limited.app.inject({
        method: 'POST',
        url: toForgot(authorizeUrl(which)),
        payload: { email },
        headers: { accept: 'application/json' },
        remoteAddress: `2001:db8:0:${(++ip).toString(16)}::1`,
      });
    for (const email of [known, newAddress()]) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(email)));
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
      const refused = answers.find(({ statusCode }) => statusCode === 429);
      expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
      expect(refused?.headers['ratelimit-policy']).toBe('"password-forgot-address";q=5;w=3600');
    }
    expect((await ask(known.toUpperCase())).statusCode).toBe(429);
    const other = await (await limited.newEnvironment()).newClient();
    expect((await ask(known, other)).statusCode).toBe(200);
  });

  test('a person gets three confirmation mails in 15 minutes, and a reset lets in a person whom failures had locked', async () => {
    const environment = await limited.newEnvironment();
    const client = await environment.newClient();
    const { id, email } = await environment.newIdentity({ email: newAddress(), emailVerifiedAt: null });
    const ticket = limited.logins.signUps.resend.ticket(client, { identityId: id, linkId: null });
    const send = () =>
      limited.logins.signUps.resend.withTicket({ client: { ...client }, ticket, locale: 'en', parameters: {} });
    const sent = await Promise.allSettled([send(), send(), send(), send(), send()]);
    expect(sent.filter(({ status }) => status === 'rejected')).toHaveLength(2);

    const scope = {
      accountId: environment.accountId,
      applicationId: environment.applicationId,
      environmentId: environment.environmentId,
    };
    const tryIn = (typed: string) =>
      limited.logins.passwordLogin.signIn(scope, { email, password: typed, ipAddress: '192.0.2.1' });
    for (let i = 0; i < 10; i += 1) await tryIn('wrong');
    await expect(tryIn(password)).rejects.toMatchObject({ code: 'rate_limit.exceeded' });
    await limited.logins.passwordReset.forgot({ client, email, locale: 'en', parameters: {} });
    const token = (await lastLink(limited, environment.environmentId)).split('token=')[1] as string;
    await limited.logins.passwordReset.reset({ token, password: chosen });
    expect(await tryIn(chosen)).toMatchObject({ outcome: 'accepted' });
  });
});
