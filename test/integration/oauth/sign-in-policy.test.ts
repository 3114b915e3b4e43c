import { afterAll, describe, expect, test } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import type { AuthenticationPolicy } from '../../../entities/organization.js';
import { httpStatusOf } from '../../../src/http/error-statuses.js';
import { challengeAnswers } from '../../../src/http/identity-auth/mfa/challenge/answer.js';
import { codesOf } from '../../../src/http/surfaces/operation.js';
import { days, minutes, seconds } from '../../../src/platform/clock.js';
import { apiOf } from '../../support/identity-auth.js';
import { alertOf, codeIn, enrollTotp, passwordStep } from '../../support/mfa.js';
import { locationOf } from '../../support/oauth/browser.js';
import { password, type TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, codeFor } from '../../support/oauth/sign-in.js';
import { redeem, refresh, tokensFor, userinfo } from '../../support/oauth/tokens.js';
import { leave, newOrganization, setPolicy, type TestOrganization } from '../../support/organizations.js';

const world = await newProvider();
const environment = await world.newEnvironment({
  emailOtpLoginEnabled: true,
  passkeyLoginEnabled: true,
  mfaPolicy: 'off',
});
const client = await environment.newClient();
afterAll(() => world.close());

type Person = TestIdentity;

/** Creates a person who belongs to one organization for each of these policies. */
async function member(...policies: Partial<AuthenticationPolicy>[]) {
  const person = await environment.newIdentity();
  const organizations: TestOrganization[] = [];
  for (const policy of policies) {
    organizations.push(await newOrganization(world, environment, { policy, members: [person] }));
  }
  return { person, organizations, organization: organizations[0] as TestOrganization };
}
const signIn = async (person: Person, more = {}) => (await passwordStep(world.browser(), client, person, more)).page;
const failures = (person: Person) =>
  world.query<{ reason: string; method: string; outcome: string }>(
    `select metadata->>'reason' as reason, metadata->>'method' as method, outcome from events
     where action = 'auth.identity_sign_in_failed' and resource_id = $1`,
    [person.id],
  );
const linksOf = (page: LightMyRequestResponse) =>
  [...page.body.matchAll(/<a class="button" href="([^"]+)">([^<]+)</g)].map(([, url, text]) => ({
    url: (url ?? '').replaceAll('&amp;', '&'),
    text,
  }));
const inJson = { accept: 'application/json' };

describe('allowed methods', () => {
  test('the right password shows the remaining ways, if the person’s organization does not allow passwords', async () => {
    const { person } = await member({ allowed_methods: ['email_otp', 'passkey'] });
    const page = await signIn(person);
    expect(page.statusCode).toBe(403);
    expect(linksOf(page).map(({ text }) => text)).toEqual(['With an emailed code', 'With a passkey']);
    expect(page.headers['set-cookie']).toBeUndefined();
    expect(await failures(person)).toEqual([
      { reason: 'login.method_not_allowed', method: 'password', outcome: 'denied' },
    ]);
  });

  test('a wrong password gets the usual answer', async () => {
    const { person } = await member({ allowed_methods: ['passkey'] });
    const plain = await environment.newIdentity();
    const alerts = [];
    for (const { email } of [person, plain]) {
      const browser = world.browser();
      const page = await browser.submit(await browser.get(authorizeUrl(client)), { email, password: 'a wrong one' });
      alerts.push([page.statusCode, alertOf(page)]);
    }
    expect(alerts[0]).toEqual(alerts[1]);
    expect(alerts[0]?.[0]).toBe(200);
  });

  test('the page leads to a remaining way, which signs in', async () => {
    const { person } = await member({ allowed_methods: ['email_otp'] });
    const { page } = await passwordStep(world.browser(), client, person);
    const browser = world.browser();
    const form = await browser.get(linksOf(page)[0]?.url ?? '');
    const sent = await browser.submit(form, { email: person.email });
    const answer = await browser.submit(sent, { code: await world.mailedCode('login') });
    expect(codeIn(answer)).toBeTruthy();
  });

  test('several organizations allow what all of them allow', async () => {
    const { person } = await member(
      { allowed_methods: ['password', 'passkey'] },
      { allowed_methods: ['email_otp', 'passkey'] },
      {},
    );
    expect(linksOf(await signIn(person)).map(({ text }) => text)).toEqual(['With a passkey']);
    const { person: nobody } = await member({ allowed_methods: ['password'] }, { allowed_methods: ['email_otp'] });
    const page = await signIn(nobody);
    expect([page.statusCode, linksOf(page)]).toEqual([403, []]);
  });

  test('an emailed code is refused alike, after the right one', async () => {
    const { person } = await member({ allowed_methods: ['password'] });
    const browser = world.browser();
    const sent = await browser.submit(await browser.get(authorizeUrl(client, { method: 'code' })), {
      email: person.email,
    });
    const wrong = await browser.submit(sent, { code: '000000' });
    expect(wrong.statusCode).toBe(200);
    const page = await browser.submit(sent, { code: await world.mailedCode('login') });
    expect([page.statusCode, linksOf(page).map(({ text }) => text)]).toEqual([403, ['With your password']]);
  });

  test('a script gets code and ways; and so does the API for clients with their own pages', async () => {
    const { person } = await member({ allowed_methods: ['email_otp', 'passkey'] });
    const url = authorizeUrl(client);
    const answer = await world.browser().post(url, { email: person.email, password }, inJson);
    expect([answer.statusCode, answer.json()]).toEqual([
      403,
      { error: 'login.method_not_allowed', error_description: expect.any(String), methods: ['email_code', 'passkey'] },
    ]);
    const login = await apiOf(world).login(client, person);
    expect(login.json().error).toMatchObject({
      statusCode: 403,
      code: 'login.method_not_allowed',
      details: [
        { field: 'method', code: 'email_otp' },
        { field: 'method', code: 'passkey' },
      ],
    });
  });

  test('an earlier session does not get around the policy, nor does prompt=none', async () => {
    const { person, organization } = await member({});
    const browser = world.browser();
    await codeFor(browser, client, person.email);
    expect(
      locationOf(await browser.get(authorizeUrl(client, { prompt: 'none' }))).searchParams.get('code'),
    ).toBeTruthy();
    await setPolicy(world, organization, { allowed_methods: ['email_otp'] });
    const page = await browser.get(authorizeUrl(client));
    expect([page.statusCode, linksOf(page).map(({ text }) => text)]).toEqual([403, ['With an emailed code']]);
    const silent = locationOf(await browser.get(authorizeUrl(client, { prompt: 'none' })));
    expect(silent.searchParams.get('error')).toBe('login_required');
    expect(await failures(person)).toEqual([]);
    const sent = await browser.submit(await browser.get(linksOf(page)[0]?.url ?? ''), { email: person.email });
    expect(codeIn(await browser.submit(sent, { code: await world.mailedCode('login') }))).toBeTruthy();
    expect((await browser.get(authorizeUrl(client))).statusCode).toBe(303);
  });

  test('if an earlier session leads to no way at all, another person may sign in', async () => {
    const { person, organization } = await member({}, { allowed_methods: ['password'] });
    const browser = world.browser();
    await codeFor(browser, client, person.email);
    await setPolicy(world, organization, { allowed_methods: ['email_otp'] });
    const page = await browser.get(authorizeUrl(client, { login_hint: person.email }));
    expect([page.statusCode, linksOf(page)]).toEqual([403, []]);
    const [, link = ''] = /<a href="([^"]+)">Use another account</.exec(page.body) ?? [];
    const form = await browser.get(link.replaceAll('&amp;', '&'));
    expect(form.body).not.toContain(person.email);
    codeIn(await browser.submit(form, { email: (await environment.newIdentity()).email, password }));
    // A person who has just signed in sees the reason, and no link that would lead in circles.
    expect((await signIn(person)).body).not.toContain('Use another account');
  });

  test('organizations that are inactive, below inactive ones, or left have no effect', async () => {
    const strict = { allowed_methods: ['passkey' as const], require_mfa: true };
    const person = await environment.newIdentity();
    const inactive = await newOrganization(world, environment, {
      policy: strict,
      status: 'inactive',
      members: [person],
    });
    await newOrganization(world, environment, { policy: strict, parent: inactive, members: [person] });
    await newOrganization(world, environment, { policy: strict, members: [await environment.newIdentity()] });
    const left = await newOrganization(world, environment, { policy: strict, members: [person] });
    expect((await signIn(person)).statusCode).toBe(403);
    await leave(world, left, person);
    expect(codeIn(await signIn(person))).toBeTruthy();
  });
});

describe('the organization’s own identity provider', () => {
  test.each<[string, Partial<AuthenticationPolicy>]>([
    ['require_sso', { require_sso: true }],
    ['sso as the only method', { allowed_methods: ['sso'] }],
  ])('with %s, a sign-in by password is refused', async (_, policy) => {
    const { person } = await member(policy);
    expect((await signIn(person)).statusCode).toBe(403);
    const answer = await world.browser().post(authorizeUrl(client), { email: person.email, password }, inJson);
    expect(answer.json()).toMatchObject({ error: 'sso_required', methods: [] });
    expect((await apiOf(world).login(client, person)).json().error.code).toBe('sso_required');
    expect((await failures(person)).map(({ reason }) => reason)).toEqual(Array(3).fill('sso_required'));
  });
});

describe('require_mfa', () => {
  test('requires the second factor although the Environment does not', async () => {
    const { person } = await member({ require_mfa: true });
    const app = await enrollTotp(world, environment, person);
    const browser = world.browser();
    const { page } = await passwordStep(browser, client, person);
    expect(page.body).toContain('name="challenge_token"');
    expect(codeIn(await browser.submit(page, { code: app.code() }))).toBeTruthy();
    expect((await apiOf(world).login(client, person)).json().data.requires_mfa_challenge).toBe(true);
  });

  test('grants the Environment’s days to enroll one, and then refuses', async () => {
    const { person } = await member({ require_mfa: true });
    const page = await signIn(person);
    expect(page.body).toContain('name="enrollment_token"');
    expect((await apiOf(world).signedIn(client, person)).mfa_enrollment_pending).toBe(true);
    world.wait(days(8));
    expect((await signIn(person)).statusCode).toBe(403);
    expect((await apiOf(world).login(client, person)).json().error.code).toBe('mfa.enrollment_required');
  });
});

describe('session lifetime', () => {
  const policy = { session_ttl_seconds: 3600 };

  test('the shortest limits the session and the clients’ tokens, from the sign-in on', async () => {
    const { person } = await member({ session_ttl_seconds: 7200 }, policy);
    const browser = world.browser();
    const tokens = await tokensFor(browser, client, person.email);
    world.wait(minutes(50));
    const later = await tokensFor(browser, client, person.email); // by the session: auth_time stays
    const refreshed = await refresh(world.app, client, tokens.refresh_token);
    expect(refreshed.statusCode).toBe(200);
    world.wait(minutes(10) + seconds(1));
    expect((await browser.get(authorizeUrl(client))).statusCode).toBe(200);
    for (const token of [refreshed.json().refresh_token, later.refresh_token]) {
      const answer = await refresh(world.app, client, token);
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant']);
    }
    expect((await userinfo(world.app, refreshed.json().access_token)).statusCode).toBe(401);
  });

  test('tokens of the API for clients with their own pages end alike', async () => {
    const { person } = await member(policy);
    const { refresh_token: token } = await apiOf(world).signedIn(client, person);
    world.wait(minutes(60) + seconds(1));
    expect((await refresh(world.app, client, token)).json().error).toBe('invalid_grant');
  });

  test('is over if the second factor took longer: nobody is signed in, on the pages or by the API', async () => {
    const { person } = await member({ session_ttl_seconds: 300, require_mfa: true });
    const totp = await enrollTotp(world, environment, person);
    const browser = world.browser();
    const { page } = await passwordStep(browser, client, person);
    const { challenge_token: token } = (await apiOf(world).login(client, person)).json().data.mfa_challenge;
    world.wait(minutes(6));
    const answered = await browser.submit(page, { code: totp.code() });
    expect([answered.statusCode, answered.headers.location]).toEqual([400, undefined]);
    world.wait(seconds(30)); // for a code that was not used
    const fields = { challenge_token: token, code: totp.code() };
    expect((await apiOf(world).post('/mfa/challenge/totp', fields)).json().error).toMatchObject({
      statusCode: httpStatusOf('auth.invalid_credentials'),
      code: null, // one for every reason, which the document names
    });
    expect(codesOf(challengeAnswers)).toContain('auth.invalid_credentials');
    const begun = await world.query(`select from events where action = 'identity.signed_in' and resource_id = $1`, [
      person.id,
    ]);
    expect(begun).toHaveLength(0);
  });

  test('a longer one than the Environment’s prolongs nothing', async () => {
    const { person } = await member({ session_ttl_seconds: 90 * 86_400 });
    const browser = world.browser();
    await codeFor(browser, client, person.email);
    const [session] = await world.query<{ seconds: number }>(
      'select extract(epoch from expires_at - created_at)::int as seconds from sessions where identity_id = $1',
      [person.id],
    );
    const found = await world.provider.clients.find(client.clientId);
    expect(session?.seconds).toBe(found?.settings.sessionTtlSeconds);
  });

  test('a shortened one applies to the session and at the next refresh, also if tokens do not rotate', async () => {
    const server = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_basic' });
    for (const each of [client, server]) {
      const { person, organization } = await member({});
      const browser = world.browser();
      const { refresh_token: token } = await tokensFor(browser, each, person.email);
      world.wait(minutes(61));
      await setPolicy(world, organization, policy);
      expect((await refresh(world.app, each, token)).json().error).toBe('invalid_grant');
      expect((await browser.get(authorizeUrl(each))).statusCode).toBe(200);
      await setPolicy(world, organization, {});
      expect((await refresh(world.app, each, token)).statusCode).toBe(200);
    }
  });

  test('introspection respects it', async () => {
    const server = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_post' });
    const { person, organization } = await member({});
    const { refresh_token: token } = await tokensFor(world.browser(), server, person.email);
    const active = async () => (await world.provider.presentedTokens.introspect(server as never, token)).active;
    world.wait(minutes(61));
    expect(await active()).toBe(true);
    await setPolicy(world, organization, policy);
    expect(await active()).toBe(false);
  });

  test('a code that was issued before is redeemed for the remaining time', async () => {
    const { person } = await member(policy);
    const issued = await codeFor(world.browser(), client, person.email);
    world.wait(seconds(30));
    const tokens = (await redeem(world.app, client, issued)).json();
    const [grant] = await world.query<{ left: number }>(
      'select extract(epoch from expires_at - created_at)::int as left from grants where identity_id = $1',
      [person.id],
    );
    expect([tokens.token_type, grant?.left]).toEqual(['Bearer', 3570]);
  });
});
