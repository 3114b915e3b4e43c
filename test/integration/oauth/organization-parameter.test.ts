import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { codeIn, enrollTotp, passwordStep } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, codeFor, newPkce } from '../../support/oauth/sign-in.js';
import { redeem, refresh, tokensFor, userinfo } from '../../support/oauth/tokens.js';
import { leave, newOrganization, setPolicy } from '../../support/organizations.js';

const world = await newProvider();
const environment = await world.newEnvironment({
  emailOtpLoginEnabled: true,
  allowSelfSignup: true,
  mfaPolicy: 'optional',
});
const client = await environment.newClient();
afterAll(() => world.close());

const refused = async (browser: Browser, more: Record<string, string>) => {
  const answer = await browser.get(authorizeUrl(client, more));
  return [answer.statusCode, /<dd lang="en">([^<]*)</.exec(answer.body)?.[1] ?? answer.body];
};
/** Whether access tokens are accepted, by userinfo, introspection and the end-user API alike, in parallel. */
const taken = (...all: { access_token: string }[]) =>
  Promise.all(
    all.map(async ({ access_token: token }) => {
      const [told, { active }, me] = await Promise.all([
        userinfo(world.app, token),
        world.provider.presentedTokens.introspect(client as never, token),
        world.app.inject({ url: '/v1/identity/auth/me', headers: { authorization: `Bearer ${token}` } }),
      ]);
      const statuses = [told.statusCode, active, me.statusCode];
      if (active) expect(statuses).toEqual([200, true, 200]);
      else expect(statuses).toEqual([401, false, 401]);
      return active;
    }),
  );
const errorIn = (answer: Parameters<typeof locationOf>[0]) => locationOf(answer).searchParams.get('error');

describe('which organization', () => {
  test('is a page if the parameter names none, an inactive one, one of another Environment, or several by one slug', async () => {
    const inactive = await newOrganization(world, environment, { status: 'inactive' });
    const below = await newOrganization(world, environment, { parent: inactive });
    const foreign = await newOrganization(world, await world.newEnvironment(), { slug: 'foreign' });
    for (const organization of [
      inactive.id,
      inactive.slug,
      below.id,
      foreign.id,
      'foreign',
      'nobody',
      'x'.repeat(2000),
    ]) {
      expect(await refused(world.browser(), { organization })).toEqual([400, 'organization is unknown']);
      expect(await refused(world.browser(), { organization, prompt: 'none' })).toEqual([
        400,
        'organization is unknown',
      ]);
    }
    const above = await newOrganization(world, environment, { slug: 'twin' });
    const twin = await newOrganization(world, environment, { slug: 'twin', parent: above });
    expect(await refused(world.browser(), { organization: 'twin' })).toEqual([
      400,
      expect.stringContaining('send the ID instead'),
    ]);
    expect((await world.browser().get(authorizeUrl(client, { organization: twin.id }))).statusCode).toBe(200);
    const twice = await world
      .browser()
      .get(`${authorizeUrl(client, { organization: above.id })}&organization=${twin.id}`);
    expect(twice.statusCode).toBe(400);
  });

  test('cannot be changed or dropped by a later step', async () => {
    const ana = await environment.newIdentity();
    await enrollTotp(world, environment, ana);
    const [mine, other] = [
      await newOrganization(world, environment, { members: [ana] }),
      await newOrganization(world, environment, { members: [ana] }),
    ];
    const browser = world.browser();
    const { page } = await passwordStep(browser, client, ana, { organization: mine.id });
    const changed = await browser.submit(page, { code: '000000', organization: other.id });
    expect([changed.statusCode, changed.body]).toEqual([
      400,
      expect.stringContaining('organization differs from the value'),
    ]);
  });
});

describe('who may finish', () => {
  test('a member, by id or slug; the tokens name the organization, also after a refresh', async () => {
    const ana = await environment.newIdentity();
    const others = [await newOrganization(world, environment, { slug: 'a-first', members: [ana] })];
    const mine = await newOrganization(world, environment, { slug: 'the-one', members: [ana] });
    for (const organization of [mine.id, mine.slug]) {
      const tokens = await tokensFor(world.browser(), client, ana.email, { organization, scope: 'openid org' });
      const refreshed = (await refresh(world.app, client, tokens.refresh_token)).json();
      for (const token of [tokens.access_token, tokens.id_token, refreshed.access_token, refreshed.id_token]) {
        expect(decodeJwt(token).organization_id).toBe(mine.id);
        const told = decodeJwt(token).organizations as { id: string }[];
        expect(told.map(({ id }) => id)).toEqual([mine.id, others[0]?.id]);
      }
      const told = (await userinfo(world.app, tokens.access_token)).json().organizations;
      expect(told.map(({ id }: { id: string }) => id)).toEqual([mine.id, others[0]?.id]);
    }
    const plain = await tokensFor(world.browser(), client, ana.email);
    expect(decodeJwt(plain.access_token)).not.toHaveProperty('organization_id');
  });

  test('does not include a stranger, who is sent back with access_denied after the right credentials, without a session', async () => {
    const ben = await environment.newIdentity();
    const { id } = await newOrganization(world, environment);
    const browser = world.browser();
    const start = await browser.get(authorizeUrl(client, { organization: id }));
    const wrong = await browser.submit(start, { email: ben.email, password: 'a wrong one' });
    expect(wrong.statusCode).toBe(200);
    const { page } = await passwordStep(browser, client, ben, { organization: id });
    expect([locationOf(page).origin, errorIn(page)]).toEqual(['https://app.example.com', 'access_denied']);
    expect(browser.cookies.size).toBe(0);
    const told = await world.query<{ reason: string }>(
      `select metadata->>'reason' as reason from events where action = 'auth.identity_sign_in_failed' and outcome = 'denied' and resource_id = $1`,
      [ben.id],
    );
    expect(told).toEqual([{ reason: 'not_a_member' }]);
  });

  test('does not include a stranger with a second factor, who learns it only after that factor', async () => {
    const ben = await environment.newIdentity();
    const app = await enrollTotp(world, environment, ben);
    const { id } = await newOrganization(world, environment);
    const browser = world.browser();
    const { page } = await passwordStep(browser, client, ben, { organization: id });
    expect(page.body).toContain('name="challenge_token"');
    expect(errorIn(await browser.submit(page, { code: app.code() }))).toBe('access_denied');
  });

  test('another person’s session is no dead end: the page asks for another account', async () => {
    const [ana, ben] = [await environment.newIdentity(), await environment.newIdentity()];
    const { id } = await newOrganization(world, environment, { members: [ana] });
    const browser = world.browser();
    await codeFor(browser, client, ben.email);
    const silent = await browser.get(authorizeUrl(client, { organization: id, prompt: 'none' }));
    expect(errorIn(silent)).toBe('login_required');
    const page = await browser.get(authorizeUrl(client, { organization: id }));
    expect([page.statusCode, page.body]).toEqual([
      200,
      expect.stringContaining('does not belong to this organization'),
    ]);
    expect(codeIn(await browser.submit(page, { email: ana.email, password }))).toBeTruthy();
  });

  test.each(['taken', 'not taken any more'])(
    'does not include a stranger who first has to use a factor that is %s',
    async (which) => {
      const mfaPolicy = which === 'taken' ? 'optional' : 'required';
      const place = await world.newEnvironment({ mfaPolicy, mfaGracePeriodDays: 0 });
      const at = await place.newClient();
      const [ana, ben] = [await place.newIdentity(), await place.newIdentity()];
      const { id } = await newOrganization(world, place, { members: [ana] });
      const setTo = (settings: string) =>
        world.query(`update environment_settings set ${settings} where environment_id = $1`, [place.environmentId]);
      await setTo(`mfa_policy = 'off'`);
      const browser = world.browser();
      await codeFor(browser, at, ben.email);
      const totp = await enrollTotp(world, place, ben);
      const allowed = which === 'taken' ? 'totp' : 'webauthn';
      await setTo(`mfa_policy = '${mfaPolicy}', mfa_allowed_factors = '{${allowed}}'`);
      world.wait(2000); // settings are cached for a second
      const challenge = await browser.get(authorizeUrl(at, { organization: id, max_age: '86400' }));
      const { pathname, search } = locationOf(await browser.submit(challenge, { code: totp.code() }));
      const page = await browser.get(pathname + search);
      expect([page.statusCode, page.body]).toEqual([
        200,
        expect.stringContaining('does not belong to this organization'),
      ]);
    },
  );

  test('a person whose membership has ended gets nothing more: no code is redeemed, no token refreshed or accepted', async () => {
    const ana = await environment.newIdentity();
    const mine = await newOrganization(world, environment, { members: [ana] });
    const server = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_post' });
    const more = { organization: mine.id };
    const [tokens, kept, plain] = [
      await tokensFor(world.browser(), client, ana.email, more),
      await tokensFor(world.browser(), server, ana.email, more),
      await tokensFor(world.browser(), client, ana.email),
    ];
    const issued = await codeFor(world.browser(), client, ana.email, more);
    expect(await taken(tokens, kept, plain)).toEqual([true, true, true]);
    await leave(world, mine, ana);
    expect(await taken(tokens, kept, plain)).toEqual([false, false, true]);
    for (const answer of [
      await redeem(world.app, client, issued),
      await refresh(world.app, client, tokens.refresh_token),
      await refresh(world.app, server, kept.refresh_token),
    ]) {
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant']);
    }
    expect(await world.provider.presentedTokens.introspect(server as never, kept.refresh_token)).toEqual({
      active: false,
    });
    expect((await refresh(world.app, client, plain.refresh_token)).statusCode).toBe(200);
  });

  test('a token for an organization that is inactive works again when it is active', async () => {
    const ana = await environment.newIdentity();
    const above = await newOrganization(world, environment);
    const mine = await newOrganization(world, environment, { parent: above, members: [ana] });
    const tokens = await tokensFor(world.browser(), client, ana.email, { organization: mine.id });
    const become = (status: string, { id }: { id: string }) =>
      world.query('update nodes set status = $2 where id = $1', [id, status]);
    for (const node of [mine, above]) {
      await become('inactive', node);
      expect(await taken(tokens)).toEqual([false]);
      await become('active', node);
      expect(await taken(tokens)).toEqual([true]);
    }
  });

  test('nobody can sign up for an organization', async () => {
    const { id } = await newOrganization(world, environment);
    const plain = await world.browser().get(authorizeUrl(client));
    const page = await world.browser().get(authorizeUrl(client, { organization: id }));
    expect([plain, page].map(({ body }) => body.includes('/oauth/register'))).toEqual([true, false]);
    const url = authorizeUrl(client, { organization: id }).replace('/authorize?', '/register?');
    const form = { email: 'new@example.com', password };
    const answer = await world.browser().post(url, form, { accept: 'application/json' });
    expect([answer.statusCode, answer.json().reason]).toEqual([403, 'sign_up.error.closed']);
  });
});

describe('its page', () => {
  const open = (organization: string, more = {}) =>
    world.browser().get(authorizeUrl(client, { organization, ...more }));

  test('names the organization, in both languages, and the application', async () => {
    const { id } = await newOrganization(world, environment, { name: 'Müller & Co' });
    const english = await open(id);
    expect(english.body).toContain('<h1>Sign in to Müller &amp; Co</h1>');
    expect(english.body).toContain('to continue to Shop web');
    expect((await open(id, { ui_locales: 'de' })).body).toContain('<h1>Bei Müller &amp; Co anmelden</h1>');
    expect((await open(id, { method: 'code' })).body).toContain('<h1>Sign in to Müller &amp; Co</h1>');
  });

  test('offers what the organization allows, and accepts nothing else', async () => {
    const ana = await environment.newIdentity();
    const mine = await newOrganization(world, environment, { members: [ana] });
    const inJson = { accept: 'application/json' };
    const methods = async () =>
      (await world.browser().get(authorizeUrl(client, { organization: mine.id }), inJson)).json().methods;
    expect(await methods()).toEqual(['password', 'email_code', 'passkey']);

    await setPolicy(world, mine, { allowed_methods: ['email_otp'] });
    expect(await methods()).toEqual(['email_code']);
    expect((await open(mine.id)).body).not.toContain('name="password"');
    const post = await world
      .browser()
      .post(authorizeUrl(client, { organization: mine.id }), { email: ana.email, password });
    expect([post.statusCode, post.body]).toEqual([200, expect.stringContaining('/oauth/login/email-otp/start')]);

    await setPolicy(world, mine, { allowed_methods: ['passkey'] });
    expect((await open(mine.id)).body).toContain('/oauth/login/passkey/options');
    const started = await world
      .browser()
      .post(
        authorizeUrl(client, { organization: mine.id }).replace('/authorize?', '/login/email-otp/start?'),
        { email: ana.email },
        inJson,
      );
    expect(started.json().reason).toBe('sign_in.error.code_disabled');
  });

  test('says if the organization requires an identity provider', async () => {
    const { id } = await newOrganization(world, environment, { policy: { require_sso: true } });
    const page = await open(id);
    expect([page.statusCode, page.body]).toEqual([
      403,
      expect.stringContaining('only lets its members sign in through its own'),
    ]);
    const answer = await world
      .browser()
      .get(authorizeUrl(client, { organization: id }), { accept: 'application/json' });
    expect(answer.json()).toMatchObject({ error: 'sso_required', methods: [] });
  });

  test('says if the organization leaves none of the environment’s ways', async () => {
    const plain = await world.newEnvironment({ emailOtpLoginEnabled: false });
    const { id } = await newOrganization(world, plain, { policy: { allowed_methods: ['email_otp'] } });
    const url = authorizeUrl(await plain.newClient(), { organization: id });
    const page = await world.browser().get(url);
    expect([page.statusCode, page.body]).toEqual([403, expect.stringContaining('by any of the ways available here')]);
    const answer = await world.browser().get(url, { accept: 'application/json' });
    expect([answer.statusCode, answer.json()]).toMatchObject([403, { error: 'login.method_not_allowed', methods: [] }]);
  });

  test('an emailed code belongs to the organization for which it was requested', async () => {
    const ana = await environment.newIdentity();
    const mine = await newOrganization(world, environment, { members: [ana] });
    const { verifier, challenge } = newPkce();
    const browser = world.browser();
    const form = await browser.get(
      authorizeUrl(client, { code_challenge: challenge, method: 'code', organization: mine.id }),
    );
    const sent = await browser.submit(form, { email: ana.email });
    const code = await world.mailedCode('login');
    const other = await newOrganization(world, environment, { members: [ana] });
    expect((await browser.submit(sent, { code, organization: other.id })).statusCode).toBe(200);
    const answer = await browser.submit(sent, { code });
    const tokens = await redeem(world.app, client, { code: codeIn(answer), verifier, redirect: redirectUri });
    expect(decodeJwt(tokens.json().access_token).organization_id).toBe(mine.id);
  });
});
