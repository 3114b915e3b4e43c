import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import type { EnvironmentSettings, FactorKind } from '../../../entities/environment-settings.js';
import type { MfaFactorType } from '../../../entities/mfa-factor.js';
import { days, minutes } from '../../../src/platform/clock.js';
import { accountUrl, follow, noticeOf, openAccount, send } from '../../support/account.js';
import { createAuthenticator } from '../../support/authenticator.js';
import { untilWaiting } from '../../support/lock-waits.js';
import { alertOf, enrollTotp, giveFactor, hidden, passwordStep, totpCode } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, type TestClient, type TestEnvironment, type TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { fromPage, giveKey } from '../../support/passkeys.js';

let environment: TestEnvironment;
let client: TestClient;
let ana: TestIdentity;
let laptop: Browser;
let networks = 0;

const world = await newProvider({ rateLimits: true });
afterAll(() => world.close());
const settle = async (settings: Partial<EnvironmentSettings> = {}) => {
  environment = await world.newEnvironment({ mfaPolicy: 'optional', ...settings });
  client = await environment.newClient();
  ana = await environment.newIdentity();
  laptop = world.browser(`198.51.100.${++networks}`); // with its own limits
};
beforeEach(() => settle());

const open = (page = '') => openAccount(laptop, accountUrl(client, {}, page), ana);
const factors = () =>
  world.query<{ id: string; type: string; label: string }>(
    'select id, type, label from mfa_factors where identity_id = $1 order by enrolled_at, id',
    [ana.id],
  );
const events = (action: string) =>
  world.query<{ metadata: Record<string, unknown> }>(
    'select metadata from events where action = $1 and resource_id = $2',
    [action, ana.id],
  );
const session = async () =>
  (
    await world.query<{ amr: string[]; acr: string }>(
      'select amr, acr from sessions where identity_id = $1 and revoked_at is null',
      [ana.id],
    )
  )[0];
const codesIn = (html: string) =>
  [...html.matchAll(/<li>([A-Z2-7]{4}(?:-[A-Z2-7]{4}){3})<\/li>/g)].map(([, code]) => code as string);

/** Returns the fields that a page with an app's secret accepts: the app's first code. */
const firstCode = (page: Parameters<typeof send>[1]) => ({
  enrollment: hidden(page, 'enrollment'),
  code: totpCode((/<dd class="code">([^<]+)</.exec(page.body)?.[1] ?? '').replaceAll(' ', ''), world.now()),
});

/** Adds an app through the page; returns the next page, and the secret. */
async function addApp(fields: Record<string, string> = {}) {
  const page = await open('/factors/totp');
  const secret = (/<dd class="code">([^<]+)</.exec(page.body)?.[1] ?? '').replaceAll(' ', '');
  const enrollment = hidden(page, 'enrollment');
  const added = await send(laptop, page, 'factors/totp', {
    enrollment,
    code: totpCode(secret, world.now()),
    ...fields,
  });
  return { page, secret, enrollment, added };
}

/** Signs in with the password and the app. */
async function signInWith(totp: { code(): string }, page = '') {
  const challenge = await open(page);
  expect(challenge.body).toContain('name="challenge_token"');
  return follow(laptop, await laptop.submit(challenge, { code: totp.code() }));
}

describe('an authenticator app', () => {
  test('is added with a first code; recovery codes come with it, once, and the session is as strong as a two-factor sign-in', async () => {
    const { page, added } = await addApp({ label: '  Ana’s phone\u0000 ' });
    expect(page.body).toContain('<svg');
    expect(page.body).toContain('otpauth://totp/');
    const codes = await follow(laptop, added);
    expect(codesIn(codes.body)).toHaveLength(10);
    expect(codes.headers['cache-control']).toBe('no-store');
    expect(await factors()).toMatchObject([{ type: 'totp', label: 'Ana’s phone' }]);
    expect(await session()).toEqual({ amr: ['pwd', 'otp', 'mfa'], acr: 'urn:gatehouse:aal2' });
    expect(await events('identity.mfa_enrolled')).toHaveLength(1);

    const again = await follow(laptop, added);
    expect(noticeOf(again)).toMatch(/^Those recovery codes were shown before/);
    expect(codesIn(again.body)).toEqual([]);
    // As Firefox and Safari request a reload; a foreign link, or a notice of anything else, is not accepted.
    const account = locationOf(await laptop.get(added.headers.location as string)).href;
    const notices = async (site: string, url = account) =>
      noticeOf(await laptop.get(url, { 'sec-fetch-site': site })) ?? null;
    expect(await notices('none')).toMatch(/^Those recovery codes were shown before/);
    expect(await notices('cross-site')).toBeNull();
    expect(await notices('none', account.replace('codes_shown', 'password'))).toBeNull();
    const overview = await open();
    expect(overview.body).toContain('Ana’s phone');
    expect(overview.body).toContain('10 left');
  });

  test('with a wrong code is not added; the same secret is offered again', async () => {
    const { page, enrollment, secret, added } = await addApp({ code: '000000' });
    expect(added.statusCode).toBe(400);
    expect(alertOf(added)).toMatch(/^That code is not right/);
    expect(hidden(added, 'enrollment')).toBe(enrollment);
    expect(await factors()).toEqual([]);
    const right = await send(laptop, page, 'factors/totp', { enrollment, code: totpCode(secret, world.now()) });
    expect(right.statusCode).toBe(303);
    const twice = await send(laptop, page, 'factors/totp', { enrollment, code: totpCode(secret, world.now()) });
    expect(twice.statusCode).toBe(303); // the same form twice
    expect(await factors()).toHaveLength(1);
  });

  test('cannot be added with another person’s page, nor with a forged or old one', async () => {
    const { enrollment, secret } = await addApp({ code: '000000' });
    const ben = await environment.newIdentity();
    const other = world.browser();
    const bens = await openAccount(other, accountUrl(client, {}, '/factors/totp'), ben);
    for (const sealed of [enrollment, '', 'x', `${enrollment}x`]) {
      const refused = await send(other, bens, 'factors/totp', {
        enrollment: sealed,
        code: totpCode(secret, world.now()),
      });
      expect(refused.statusCode).toBe(400);
      expect(alertOf(refused)).toMatch(/^That took too long/);
    }
    expect(await world.query('select 1 from mfa_factors where identity_id = $1', [ben.id])).toEqual([]);
  });
});

describe('codes by mail', () => {
  test('are added with the mailed code, and do not make aal2', async () => {
    const page = await open('/factors/email-otp');
    const sent = await send(laptop, page, 'factors/email-otp', {});
    expect(sent.body).toContain(`We sent a code to ${ana.email}`);
    expect(sent.body).toContain('name="again" value="true"');
    expect(sent.body).not.toContain('role="status"');
    const resent = await send(laptop, sent, 'factors/email-otp', { again: 'true' });
    expect(resent.body).toContain('role="status">We sent a new code.');
    const wrong = await send(laptop, sent, 'factors/email-otp', { code: '000000' });
    expect(alertOf(wrong)).toMatch(/^That code is not right/);
    const code = await world.mailedCode('mfa_enrollment');
    const added = await follow(laptop, await send(laptop, wrong, 'factors/email-otp', { code }));
    expect(codesIn(added.body)).toHaveLength(10);
    expect(await factors()).toMatchObject([{ type: 'email_otp' }]);
    expect(await session()).toMatchObject({ acr: 'urn:gatehouse:aal1' });
    expect((await open()).body).not.toContain('/oauth/account/factors/email-otp'); // one mailbox, one factor
    expect(noticeOf(await open('/factors/email-otp'))).toBe('That is set up already.');
    const another = await follow(laptop, await send(laptop, page, 'factors/email-otp', {}));
    expect(noticeOf(another)).toBe('That is set up already.');
    expect(await factors()).toHaveLength(1);
  });

  test('are added with the latest code once no other one is sent; the page says when to try again', async () => {
    let page = await send(laptop, await open('/factors/email-otp'), 'factors/email-otp', {});
    for (let i = 1; i < 10; i++) page = await send(laptop, page, 'factors/email-otp', { again: 'true' });
    const refused = await send(laptop, page, 'factors/email-otp', { again: 'true' });
    expect([refused.statusCode, alertOf(refused)]).toEqual([
      429,
      expect.stringMatching(/^Too many codes were requested\. Try again in \d+ minutes\.$/),
    ]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.body).toMatch(/<input id="code"[^>]* autofocus aria-describedby="message">/);
    const unsent = await send(laptop, page, 'factors/email-otp', {});
    expect(unsent.body).toMatch(/<button class="button" autofocus aria-describedby="message">Send a code</);
    const code = await world.mailedCode('mfa_enrollment');
    expect((await send(laptop, refused, 'factors/email-otp', { code })).statusCode).toBe(303);
    expect(await factors()).toMatchObject([{ type: 'email_otp' }]);
  });

  test('are neither offered nor added to a person who signed in by one: it would be the same proof twice', async () => {
    await settle({ emailOtpLoginEnabled: true });
    const sent = await laptop.submit(await laptop.get(authorizeUrl(client, { method: 'code' })), { email: ana.email });
    await laptop.submit(sent, { code: await world.mailedCode('login') });
    const page = await open();
    expect(page.body).toContain('/oauth/account/factors/totp');
    expect(page.body).not.toContain('/oauth/account/factors/email-otp');
    expect(page.body).toContain('You signed in with a code by email');
    expect((await open('/factors/email-otp')).statusCode).toBe(400);
    const json = { accept: 'application/json' };
    for (const fields of [{}, { code: '000000' }] as Record<string, string>[]) {
      const refused = await send(laptop, page, 'factors/email-otp', fields, json);
      expect([refused.statusCode, refused.json().error]).toEqual([400, 'mfa.factor_not_allowed']);
    }
    await settle({ emailOtpLoginEnabled: true });
    const byPassword = await open();
    expect(byPassword.body).toContain('/oauth/account/factors/email-otp');
    expect(byPassword.body).not.toContain('You signed in with a code by email');
  });

  test('are explained as no second step if nothing else can be added', async () => {
    await settle({ emailOtpLoginEnabled: true, passwordLoginEnabled: false, mfaAllowedFactors: ['email_otp'] });
    const sent = await laptop.submit(await laptop.get(authorizeUrl(client)), { email: ana.email });
    await laptop.submit(sent, { code: await world.mailedCode('login') });
    const { body } = await open();
    expect(body).toContain('You signed in with a code by email');
    expect(body).not.toContain('/oauth/account/factors/');
  });

  test('a code that was mailed in another session does not work', async () => {
    const ben = await environment.newIdentity();
    const other = world.browser();
    await send(
      other,
      await openAccount(other, accountUrl(client, {}, '/factors/email-otp'), ben),
      'factors/email-otp',
      {},
    );
    const code = await world.mailedCode('mfa_enrollment');
    const refused = await send(laptop, await open('/factors/email-otp'), 'factors/email-otp', { code });
    expect(refused.statusCode).toBe(400);
    expect(await factors()).toEqual([]);
  });
});

describe('a passkey', () => {
  const authenticator = () => createAuthenticator({ origin: world.baseUrl, isSynced: true });
  const json = () => fromPage(world.baseUrl);
  const call = (path: string, page: Parameters<typeof send>[1], body: Record<string, unknown>, browser = laptop) =>
    world.app.inject({
      method: 'POST',
      url: `/oauth/account/factors/${path}`,
      headers: { ...json(), cookie: [...browser.cookies].map((pair) => pair.join('=')).join('; ') },
      payload: { client_id: client.clientId, session: hidden(page, 'session'), ...body },
    });

  test('is added by its page, whose script alone may run', async () => {
    const page = await open('/factors/webauthn');
    expect(page.headers['content-security-policy']).toContain("script-src 'nonce-");
    const { options, enrollment } = (await call('webauthn/options', page, {})).json();
    expect(options.user).toMatchObject({ name: ana.email, displayName: 'Ana Arendt' });
    const added = await call('webauthn', page, {
      enrollment,
      credential: authenticator().create(options),
      label: 'Laptop',
    });
    expect(added.statusCode).toBe(200);
    const { pathname, search } = new URL(added.json().redirect_to);
    expect(codesIn((await laptop.get(pathname + search)).body)).toHaveLength(10);
    expect(await factors()).toMatchObject([{ type: 'webauthn', label: 'Laptop' }]);
    expect(await session()).toMatchObject({ acr: 'urn:gatehouse:aal2' });
  });

  test('is refused with a challenge that was used, is too old, of another session or of another origin', async () => {
    const page = await open('/factors/webauthn');
    const begin = async () => (await call('webauthn/options', page, {})).json();
    const used = await begin();
    const evil = authenticator().create(used.options, { origin: 'https://evil.example' });
    expect((await call('webauthn', page, { enrollment: used.enrollment, credential: evil })).json()).toEqual({
      error: 'mfa.code_invalid',
    });
    const credential = authenticator().create(used.options);
    expect((await call('webauthn', page, { enrollment: used.enrollment, credential })).json()).toEqual({
      error: 'mfa.enrollment_expired',
    });
    const old = await begin();
    world.wait(minutes(6));
    expect(
      (await call('webauthn', page, { enrollment: old.enrollment, credential: authenticator().create(old.options) }))
        .statusCode,
    ).toBe(400);

    const ben = await environment.newIdentity();
    const other = world.browser();
    const bens = await openAccount(other, accountUrl(client, {}, '/factors/webauthn'), ben);
    const anas = await begin();
    const stolen = { enrollment: anas.enrollment, credential: authenticator().create(anas.options) };
    expect((await call('webauthn', bens, stolen, other)).json()).toEqual({ error: 'mfa.enrollment_expired' });
    for (const nonsense of [
      {},
      { enrollment: 'x' },
      { enrollment: anas.enrollment, credential: 7 },
      { enrollment: { a: 1 } },
    ]) {
      expect((await call('webauthn', page, nonsense)).statusCode).toBe(400);
    }
    expect(await world.query('select 1 from mfa_factors where identity_id = any($1)', [[ana.id, ben.id]])).toEqual([]);
  });

  test('that needs another proof first leads to it', async () => {
    const page = await open('/factors/webauthn');
    world.wait(minutes(10));
    const { redirect_to } = (await call('webauthn/options', page, {})).json();
    expect(redirect_to).toContain('max_age=480');
  });
});

describe('a name', () => {
  test('can be given to a factor in any sign-in, is shown in the list, and needs no proof', async () => {
    const { page: before } = await addApp({ label: 'Old' });
    const [factor] = await factors();
    const page = await open();
    expect(page.body).toContain(`/oauth/account/factors/${factor?.id}/name?`);
    const asked = await laptop.get(accountUrl(client, {}, `/factors/${factor?.id}/name`));
    expect(asked.body).toContain('value="Old"');
    const done = await follow(
      laptop,
      await send(laptop, before, `factors/${factor?.id}/name`, { label: ' <b>New</b> ' }),
    );
    expect(noticeOf(done)).toBe('The name was changed.');
    expect(done.body).toContain('&lt;b&gt;New&lt;/b&gt;');
    expect(await factors()).toMatchObject([{ label: '<b>New</b>' }]);
    expect(await events('auth.mfa_renamed')).toHaveLength(1);
    const unnamed = await follow(laptop, await send(laptop, before, `factors/${factor?.id}/name`, { label: '  ' }));
    expect(noticeOf(unnamed)).toMatch(/^You gave no name/);
    expect(await factors()).toMatchObject([{ label: '<b>New</b>' }]);
    const gone = await send(laptop, before, `factors/${uuidv7()}/name`, { label: 'x' });
    expect(locationOf(gone).searchParams.get('done')).toBe('gone');
    expect((await laptop.get(`/oauth/account/factors/none/name?client_id=${client.clientId}`)).statusCode).toBe(404);
  });
});

describe('removing', () => {
  test('requires a recent sign-in with a second factor, explains its effect, and distrusts browsers', async () => {
    const totp = await enrollTotp(world, environment, ana);
    const page = await signInWith(totp);
    const [factor] = await factors();
    const trust = { identityId: ana.id, days: 30, device: null, userAgent: null };
    await world.logins.trustedDevices.trust(environment, trust, world.db);
    const ask = await laptop.get(accountUrl(client, {}, `/factors/${factor?.id}`));
    expect(ask.body).toContain('It is your only second step.');
    const done = await follow(laptop, await send(laptop, page, `factors/${factor?.id}`, {}));
    expect(noticeOf(done)).toBe('Removed.');
    expect(await factors()).toEqual([]);
    for (const table of ['recovery_codes', 'trusted_devices']) {
      expect(await world.query(`select 1 from ${table} where identity_id = $1`, [ana.id])).toEqual([]);
    }
    expect(await events('identity.mfa_removed')).toHaveLength(1);
    // As when the page stayed open in another tab, or its form is sent twice.
    for (const answer of [
      await send(laptop, page, `factors/${factor?.id}`, {}),
      await laptop.get(accountUrl(client, {}, `/factors/${factor?.id}`)),
    ]) {
      expect(noticeOf(await follow(laptop, answer))).toMatch(/^That no longer exists/);
    }
    expect((await send(laptop, page, `factors/${factor?.id}`, {}, { accept: 'application/json' })).statusCode).toBe(
      404,
    );
  });

  test('asks for the factor if the sign-in was without, and continues where it was', async () => {
    const page = await open(); // by the password, before there was a factor
    const totp = await enrollTotp(world, environment, ana);
    const [factor] = await factors();
    const refused = await send(laptop, page, `factors/${factor?.id}`, {});
    expect(locationOf(refused).searchParams.get('acr_values')).toBe('urn:gatehouse:aal2');
    expect(await factors()).toHaveLength(1);
    const challenge = await follow(laptop, refused);
    const back = await follow(laptop, await laptop.submit(challenge, { code: totp.code() }));
    expect(back.body).toContain('Remove “Authenticator app”?');
  });

  test('is refused for the last allowed factor if the Environment requires one, also twice at once', async () => {
    await settle({ mfaPolicy: 'required', mfaAllowedFactors: ['totp', 'recovery_code'] });
    const totp = await enrollTotp(world, environment, ana);
    const page = await signInWith(totp);
    const [only] = await factors();
    const refused = await send(laptop, page, `factors/${only?.id}`, {});
    expect(refused.statusCode).toBe(409);
    expect(alertOf(refused)).toMatch(/^You need at least one second step/);
    expect(refused.body).toContain('/oauth/account/factors/totp?');
    // A person who only looks sees the same, without consequences that will not come; with an old sign-in, too.
    world.wait(minutes(20));
    const asked = await laptop.get(accountUrl(client, {}, `/factors/${only?.id}`));
    expect([asked.statusCode, alertOf(asked)]).toEqual([409, alertOf(refused)]);
    expect(asked.body).not.toMatch(/<button|only second step/);
    world.wait(-minutes(20));

    await enrollTotp(world, environment, ana);
    await giveKey(world, ana, createAuthenticator({ origin: world.baseUrl })); // which this Environment does not allow
    const apps = (await factors()).filter(({ type }) => type === 'totp');
    const both = await Promise.all(apps.map(({ id }) => send(laptop, page, `factors/${id}`, {})));
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([303, 409]);
    expect((await factors()).map(({ type }) => type)).toEqual(['totp', 'webauthn']);
  });

  test('does not find another person’s factor', async () => {
    const ben = await environment.newIdentity();
    await enrollTotp(world, environment, ben);
    const [bens] = await world.query<{ id: string }>('select id from mfa_factors where identity_id = $1', [ben.id]);
    const page = await open();
    for (const id of [bens?.id, ana.id]) {
      const ways = [
        await laptop.get(accountUrl(client, {}, `/factors/${id}`)),
        await send(laptop, page, `factors/${id}`, {}),
      ];
      for (const way of ways) expect(locationOf(way).searchParams.get('done')).toBe('gone');
    }
    for (const id of ['x', '%27', '..%2f..']) {
      expect((await laptop.get(accountUrl(client, {}, `/factors/${id}`))).statusCode).toBe(404);
      expect((await send(laptop, page, `factors/${id}`, {})).statusCode).toBe(404);
    }
    expect(await world.query('select 1 from mfa_factors where identity_id = $1', [ben.id])).toHaveLength(1);
  });
});

describe('a stolen password is not enough for', () => {
  test('adding a factor next to one that this Environment does not allow', async () => {
    await settle({ mfaAllowedFactors: ['webauthn', 'recovery_code'] });
    await enrollTotp(world, environment, ana);
    const page = await open(); // this page does not ask for the app
    expect(page.body).toContain('Authenticator app');
    const refused = await laptop.get(accountUrl(client, {}, '/factors/webauthn'));
    expect(locationOf(refused).searchParams.get('acr_values')).toBe('urn:gatehouse:aal2');
    expect((await follow(laptop, refused)).body).toContain('name="challenge_token"');
    const [factor] = await factors();
    expect((await send(laptop, page, `factors/${factor?.id}`, {})).headers.location).toContain('/oauth/authorize');
    expect((await send(laptop, page, 'recovery-codes', {})).headers.location).toContain('/oauth/authorize');
  });

  test('changing factors where no sign-in is strong enough', async () => {
    await settle({ mfaAllowedFactors: ['email_otp', 'recovery_code'] });
    await enrollTotp(world, environment, ana);
    const page = await open();
    const [factor] = await factors();
    for (const path of ['factors/email-otp', `factors/${factor?.id}`, 'recovery-codes', 'password']) {
      expect((await send(laptop, page, path, { code: '1' })).statusCode).toBe(403);
    }
    expect(await factors()).toHaveLength(1);
  });

  test.each<[string, Partial<EnvironmentSettings>]>([
    ['', {}],
    [', where nothing better could be added', { mfaAllowedFactors: ['email_otp', 'recovery_code'] }],
    [', where they are not accepted any more', { mfaAllowedFactors: ['totp'] }],
  ])('removing codes by mail%s: a mailed code is needed, and is enough', async (_, settings) => {
    await settle({ mfaPolicy: 'off', ...settings });
    await giveFactor(world, environment, ana.id, { id: uuidv7(), type: 'email_otp', label: 'Email' });
    const page = await open();
    const [factor] = await factors();
    const refused = await send(laptop, page, `factors/${factor?.id}`, {});
    expect(refused.statusCode).toBe(303);
    const asked = await follow(laptop, refused);
    expect(asked.body).toContain('/oauth/mfa/email-otp/send');
    expect(await factors()).toHaveLength(1);
    expect((await laptop.get(accountUrl(client, {}, '/password'))).statusCode).toBe(200); // with the current one

    const sent = await laptop.submit(asked, {});
    const shown = await follow(laptop, await laptop.submit(sent, { code: await world.mailedCode('mfa') }));
    expect(shown.body).toContain(`action="/oauth/account/factors/${factor?.id}"`);
    expect((await send(laptop, shown, `factors/${factor?.id}`, {})).headers.location).toContain('done=factor_removed');
    expect(await factors()).toEqual([]);
  });
});

const policies = ['off', 'optional', 'required'] as const;
const takes: FactorKind[][] = [
  ['totp', 'webauthn', 'email_otp', 'recovery_code'],
  ['totp'],
  ['webauthn', 'recovery_code'],
  ['email_otp'],
  [],
];
const enrolled: MfaFactorType[][] = [[], ['totp'], ['webauthn'], ['email_otp'], ['email_otp', 'webauthn']];
const waysIn = [
  { amr: ['pwd'], acr: 'urn:gatehouse:aal1', secondFactorAt: null },
  { amr: ['otp'], acr: 'urn:gatehouse:aal1', secondFactorAt: null },
  { amr: ['pwd'], acr: 'urn:gatehouse:aal1', secondFactorAt: new Date('2026-01-01T00:00:00Z') }, // by a trusted browser
];
test.each(policies)(
  'with MFA %s, whatever is allowed and enrolled, no person is redirected in circles',
  async (mfaPolicy) => {
    const seen = new Set<string>();
    for (const mfaAllowedFactors of takes) {
      await settle({ mfaPolicy, mfaAllowedFactors, mfaGracePeriodDays: 7, sessionEndRequireRecentSignIn: true });
      for (const kinds of enrolled) {
        ana = await environment.newIdentity();
        for (const kind of kinds) {
          if (kind === 'totp') await enrollTotp(world, environment, ana);
          else if (kind === 'webauthn') await giveKey(world, ana, createAuthenticator({ origin: world.baseUrl }));
          else await giveFactor(world, environment, ana.id, { id: uuidv7(), type: kind, label: 'Email' });
        }
        const [factor] = await factors();
        for (const wayIn of waysIn) {
          laptop = world.browser();
          const { browser } = await world.provider.sessions.signIn({
            scope: environment,
            identityId: ana.id,
            ...wayIn,
            lifeSeconds: 3600,
            browser: null,
            ipAddress: '192.0.2.1',
            userAgent: null,
          });
          laptop.cookies.set('hosted_session', browser);
          const isTrusted = wayIn.secondFactorAt !== null;
          if (isTrusted) {
            const trust = { identityId: ana.id, days: 30, device: null, userAgent: null };
            const { device } = await world.logins.trustedDevices.trust(environment, trust, world.db);
            laptop.cookies.set('trusted_device', device);
          }
          for (const path of [
            '/factors/totp',
            '/factors/webauthn',
            '/factors/email-otp',
            '/recovery-codes',
            '/password',
            `/factors/${factor?.id}`,
          ]) {
            const end = await follow(laptop, await laptop.get(accountUrl(client, {}, path)));
            expect([200, 400, 403, 404, 409]).toContain(end.statusCode);
            const name = end.body.includes('name="challenge_token"')
              ? 'challenge'
              : end.body.includes('name="enrollment_token"')
                ? 'enrollment'
                : end.statusCode;
            seen.add(`${name}`);
            // A stolen password alone changes nothing for a person with a factor of aal2.
            const isStrong = kinds.some((kind) => kind !== 'email_otp');
            if (isStrong) expect(end.body).not.toContain('action="/oauth/account/');
            // Nor do the password and a trusted browser, except the password.
            if (isTrusted && kinds.length > 0 && path !== '/password')
              expect(end.body).not.toContain('action="/oauth/account/');
          }
          // Ending a session is never refused: at most it requires an allowed factor.
          const own = { client_id: client.clientId, session: hidden(await laptop.get(accountUrl(client)), 'session') };
          const ended = await follow(laptop, await laptop.post('/oauth/account/sessions', { ...own, end: 'others' }));
          const isTaken = kinds.some((kind) => mfaAllowedFactors.includes(kind));
          expect([ended.statusCode, isTaken || ended.body.includes('action="/oauth/account/')]).toEqual([200, true]);
        }
      }
    }
    expect([...seen]).toEqual(expect.arrayContaining(['200', '400', '403', '404', 'challenge']));
  },
);

test('a factor that the Environment does not allow is neither offered nor added', async () => {
  await settle({ mfaAllowedFactors: ['webauthn'] });
  const page = await open();
  expect(page.body).toContain('/oauth/account/factors/webauthn');
  for (const path of ['factors/totp', 'factors/email-otp']) {
    expect(page.body).not.toContain(`/oauth/account/${path}`);
    const asked = await laptop.get(accountUrl(client, {}, `/${path}`));
    const sent = await send(laptop, page, path, { code: '000000' });
    for (const refused of [asked, sent]) {
      expect(refused.statusCode).toBe(400);
      expect(refused.body).toMatch(
        /<a class="button" href="[^"]*\/oauth\/account\?client_id=[^"]*">Back to your account</,
      );
    }
  }
});

test('recovery codes are renewed; the old ones are void', async () => {
  const totp = await enrollTotp(world, environment, ana);
  await signInWith(totp);
  const ask = await laptop.get(accountUrl(client, {}, '/recovery-codes'));
  expect(ask.body).toContain('You have 10 left.');
  const shown = await follow(laptop, await send(laptop, ask, 'recovery-codes', {}));
  const [fresh = ''] = codesIn(shown.body);
  const other = world.browser();
  const { page } = await passwordStep(other, client, ana);
  const old = await other.submit(page, { recovery_code: totp.recoveryCodes?.[0] ?? '', factor: 'recovery_code' });
  expect(old.statusCode).toBe(200);
  expect((await other.submit(old, { recovery_code: fresh })).statusCode).toBe(303);
  expect(await events('auth.recovery_codes_renewed')).toHaveLength(1);
});

test('without a factor there are no recovery codes to renew', async () => {
  const page = await open();
  expect((await laptop.get(accountUrl(client, {}, '/recovery-codes'))).statusCode).toBe(409);
  expect((await send(laptop, page, 'recovery-codes', {})).statusCode).toBe(409);
});

test('new recovery codes are shown to no other session', async () => {
  const totp = await enrollTotp(world, environment, ana);
  await signInWith(totp);
  const ask = await laptop.get(accountUrl(client, {}, '/recovery-codes'));
  const made = await send(laptop, ask, 'recovery-codes', {});
  const ben = await environment.newIdentity();
  const other = world.browser();
  await openAccount(other, accountUrl(client), ben);
  const { pathname, search } = locationOf(made);
  expect(codesIn((await follow(other, await other.get(pathname + search))).body)).toEqual([]);
});

test('trusted browsers are listed and forgotten, one or all, and then asked again', async () => {
  const totp = await enrollTotp(world, environment, ana);
  const challenge = await open();
  const page = await follow(laptop, await laptop.submit(challenge, { code: totp.code(), remember_device: 'true' }));
  expect(page.body).toContain('Trusted browsers');
  expect(page.body.match(/this browser/g)).toHaveLength(2);
  const trust = { days: 30, device: null, userAgent: null };
  await world.logins.trustedDevices.trust(environment, { identityId: ana.id, ...trust }, world.db);

  const ben = await environment.newIdentity();
  await world.logins.trustedDevices.trust(environment, { identityId: ben.id, ...trust }, world.db);
  const ids = async (of: string) =>
    (
      await world.query<{ id: string }>(
        'select id from trusted_devices where identity_id = $1 order by created_at, id',
        [of],
      )
    ).map(({ id }) => id);
  const [mine = '', others = ''] = await ids(ana.id);
  const [bens = ''] = await ids(ben.id);
  for (const forget of [bens, ana.id])
    expect(locationOf(await send(laptop, page, 'devices', { forget })).searchParams.get('done')).toBe('gone');
  expect((await send(laptop, page, 'devices', { forget: 'x' })).statusCode).toBe(404);
  expect((await send(laptop, page, 'devices', { forget: others })).statusCode).toBe(303);
  expect(await ids(ana.id)).toEqual([mine]);
  expect((await send(laptop, page, 'devices', { forget: 'all' }, { origin: 'https://evil.example' })).statusCode).toBe(
    403,
  );
  const done = await follow(laptop, await send(laptop, page, 'devices', { forget: 'all' }));
  expect(noticeOf(done)).toBe('No browser is trusted any longer.');
  expect(await ids(ana.id)).toEqual([]);
  expect(await ids(ben.id)).toHaveLength(1);
  expect(await events('auth.trusted_devices_revoked')).toHaveLength(2);

  world.wait(days(1));
  const form = await follow(laptop, await laptop.get(accountUrl(client)));
  const asked = await laptop.submit(form, { email: ana.email, password });
  expect(asked.body).toContain('name="challenge_token"');
});

test('one of two first factors that two browsers add at once is added; the other browser is asked for it', async () => {
  const sent: Promise<unknown>[] = [];
  const forms: (() => Promise<unknown>)[] = [];
  const answers: { browser: Browser; to: string }[] = [];
  for (const browser of [laptop, world.browser()]) {
    const page = await openAccount(browser, accountUrl(client, {}, '/factors/totp'), ana);
    const fields = firstCode(page);
    forms.push(async () => {
      const { headers } = await send(browser, page, 'factors/totp', fields);
      answers.push({ browser, to: String(headers.location) });
    });
  }
  await world.db.transaction({ accountId: environment.accountId }, async (tx) => {
    await tx.query('select from identities where id = $1 for update', [ana.id]);
    for (const form of forms) sent.push(form());
    await untilWaiting(world.database.ownerUrl, 2, 'select from identities%');
  });
  await Promise.all(sent);
  expect(await factors()).toHaveLength(1);
  const [refused] = answers.filter(({ to }) => !to.includes('codes_token'));
  const { pathname, search } = new URL(refused?.to ?? '');
  expect(pathname).toBe('/oauth/account/factors/totp');
  const again = await follow(refused!.browser, await refused!.browser.get(pathname + search));
  expect(again.body).toContain('name="challenge_token"');
});

test.each([
  ['adds no factor', 'factors/totp'],
  ['removes no factor', 'factors/:id'],
  ['renames no factor', 'factors/:id/name'],
  ['makes no recovery codes', 'recovery-codes'],
  ['changes no password', 'password'],
])('a form whose session ends at the same moment %s, and leads through the sign-in to its page', async (_, form) => {
  await signInWith(await enrollTotp(world, environment, ana));
  const before = await factors();
  const page = await laptop.get(accountUrl(client, {}, '/factors/totp'));
  const fields = {
    ...firstCode(page),
    label: 'Another',
    current_password: password,
    new_password: 'plumage over the harbour',
  };
  const path = form.replace(':id', before[0]?.id ?? '');
  let sent: ReturnType<typeof send> | undefined;
  await world.db.transaction({ accountId: environment.accountId }, async (tx) => {
    await tx.query('select from identities where id = $1 for update', [ana.id]);
    sent = send(laptop, page, path, fields);
    await untilWaiting(world.database.ownerUrl, 1, '%from identities%for update%');
    await tx.query('update sessions set revoked_at = $2 where identity_id = $1', [ana.id, world.now()]);
  });
  const { pathname, search } = locationOf(await sent!);
  expect(pathname).toBe(`/oauth/account/${path}`);
  expect(locationOf(await laptop.get(pathname + search)).searchParams.get('destination')).toBe(`account/${path}`);
  expect(await factors()).toEqual(before);
  expect(await events('auth.recovery_codes_renewed')).toEqual([]);
  expect(await events('identity.password_changed')).toEqual([]);
});

test('a script gets the same in JSON', async () => {
  const json = { accept: 'application/json' };
  const page = await open();
  const { secret, uri, enrollment } = (await laptop.get(accountUrl(client, {}, '/factors/totp'), json)).json();
  expect(uri).toContain(secret);
  const wrong = await send(laptop, page, 'factors/totp', { enrollment, code: '000000' }, json);
  expect([wrong.statusCode, wrong.json().error]).toEqual([401, 'mfa.code_invalid']);
  const added = await send(laptop, page, 'factors/totp', { enrollment, code: totpCode(secret, world.now()) }, json);
  const { pathname, search } = new URL(added.json().redirect_to);
  expect((await laptop.get(pathname + search, json)).json().recovery_codes).toHaveLength(10);
  const { factors: listed, recovery_codes_remaining } = (await laptop.get(accountUrl(client), json)).json();
  expect(listed).toMatchObject([{ type: 'totp' }]);
  expect(recovery_codes_remaining).toBe(10);
});
