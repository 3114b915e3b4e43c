import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { challengeOf } from '../../../src/domain/oidc/tokens/pkce.js';
import { minutes, seconds } from '../../../src/platform/clock.js';
import { redirectUri, type TestClient } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { codeFor, newPkce } from '../../support/oauth/sign-in.js';
import { basicOf, postToken, redeem, refresh, tokensFor, userinfo } from '../../support/oauth/tokens.js';

const world = await newProvider();
const environment = await world.newEnvironment();
const client = await environment.newClient();
const basic = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_basic', requirePkce: false });
const post = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_post' });
const ana = await environment.newIdentity();
afterAll(() => world.close());

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const send = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  world.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { ...form, ...headers },
    payload: new URLSearchParams(fields).toString(),
  });
const flow = (of: TestClient = client, more: Record<string, string | undefined> = {}) =>
  codeFor(world.browser(), of, ana.email, more);

describe('client authentication', () => {
  test('accepts a secret of any characters by basic and post', async () => {
    expect((await redeem(world.app, basic, await flow(basic))).statusCode).toBe(200);
    expect((await redeem(world.app, post, await flow(post))).statusCode).toBe(200);
  });

  test('accepts a secret in the header and in the body, whichever is registered: libraries mix them', async () => {
    const grant = { grant_type: 'refresh_token', refresh_token: 'x' };
    for (const { clientId, secret } of [basic, post]) {
      const inBody = await send({ ...grant, client_id: clientId, client_secret: secret ?? '' });
      const inHeader = await send(grant, { authorization: basicOf(clientId, secret ?? '') });
      expect([inBody.json().error, inHeader.json().error]).toEqual(['invalid_grant', 'invalid_grant']);
    }
  });

  test('accepts no other method than the registered one', async () => {
    const secret = basic.secret as string;
    const grant = { grant_type: 'refresh_token', refresh_token: 'x' };
    const tries: [Record<string, string>, Record<string, string>][] = [
      [{ client_id: basic.clientId, client_secret: 'wrong' }, {}],
      [{ client_id: basic.clientId }, {}],
      [{}, { authorization: basicOf(post.clientId, secret) }],
      [{}, { authorization: basicOf(basic.clientId, '') }],
      [{}, { authorization: basicOf(client.clientId, 'guessed') }],
      [{ client_id: client.clientId, client_secret: 'guessed' }, {}],
      [{}, { authorization: basicOf(basic.clientId, 'wrong') }],
      [{}, { authorization: basicOf('unknown', secret) }],
      [{}, { authorization: 'Basic %%%' }],
      [{}, { authorization: `Basic ${Buffer.from('%zz:%zz').toString('base64')}` }],
      [{}, { authorization: 'Bearer token' }],
      [{ client_id: post.clientId }, { authorization: basicOf(basic.clientId, secret) }],
      [{ client_id: 'unknown' }, {}],
      [{ client_id: '\u0000' }, {}],
      [{}, {}],
    ];
    for (const [fields, headers] of tries) {
      const answer = await send({ ...grant, ...fields }, headers);
      expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client']);
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.headers['www-authenticate']).toBe('Basic realm="oauth", charset="UTF-8"');
    }
  });

  test('lets a public client identify itself in the header, with an empty secret', async () => {
    const { code, verifier } = await flow();
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const answer = await send(grant, { authorization: basicOf(client.clientId, '') });
    expect(answer.statusCode).toBe(200);
  });

  test('refuses two methods at once as an invalid request', async () => {
    const authorization = basicOf(basic.clientId, basic.secret as string);
    const twice = await send({ grant_type: 'refresh_token', client_secret: 'x' }, { authorization });
    expect([twice.statusCode, twice.json().error]).toEqual([400, 'invalid_request']);
  });

  test.each(['token', 'revoke', 'introspect'])('an API key besides it is refused at /oauth/%s', async (endpoint) => {
    const authorization = basicOf(basic.clientId, basic.secret as string);
    const answer = await world.app.inject({
      method: 'POST',
      url: `/oauth/${endpoint}`,
      headers: { ...form, authorization, 'x-api-key': 'ghk_test_x' },
      payload: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', token: 'x' }).toString(),
    });
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request']);
    expect(answer.json().error_description).toBe('Send either an Authorization header or X-API-Key, not both');
  });

  test('form-decodes a credential (RFC 6749 §2.3.1)', async () => {
    const encoded = [...basic.clientId].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('');
    const authorization = basicOf(encoded, basic.secret as string);
    const answer = await send({ grant_type: 'refresh_token', refresh_token: 'x' }, { authorization });
    expect(answer.json().error).toBe('invalid_grant');
  });
});

describe('malformed requests', () => {
  test.each<[string, Record<string, string>, string]>([
    ['no grant type', {}, 'invalid_request'],
    ['an unknown grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['a grant type named like a property', { grant_type: 'constructor' }, 'unsupported_grant_type'],
    ['no code', { grant_type: 'authorization_code' }, 'invalid_request'],
    ['an unknown code', { grant_type: 'authorization_code', code: 'x', redirect_uri: redirectUri }, 'invalid_grant'],
    ['no refresh token', { grant_type: 'refresh_token' }, 'invalid_request'],
    ['an unknown refresh token', { grant_type: 'refresh_token', refresh_token: '\u0000' }, 'invalid_grant'],
  ])('%s', async (_name, fields, error) => {
    const answer = await send({ client_id: client.clientId, ...fields });
    expect([answer.statusCode, answer.json().error]).toEqual([400, error]);
    expect(answer.json().error_description).toEqual(expect.any(String));
  });

  test('parameters given twice', async () => {
    const payload = `client_id=${client.clientId}&grant_type=refresh_token&refresh_token=a&refresh_token=b`;
    const answer = await world.app.inject({ method: 'POST', url: '/oauth/token', headers: form, payload });
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request']);
  });

  test('bodies of another kind, and other methods', async () => {
    const raw = (payload: string, type: string) =>
      world.app.inject({ method: 'POST', url: '/oauth/token', payload, headers: { 'content-type': type } });
    const answers = [
      [await raw('{', 'application/json'), 400],
      [await raw('[1]', 'application/json'), 401],
      [await raw('{"client_id":1}', 'application/json'), 401],
      [await raw('{"__proto__":{}}', 'application/json'), 400],
      [await raw('x', 'text/plain'), 415],
      [await raw('x'.repeat(1_100_000), 'application/json'), 413],
      [await world.app.inject({ method: 'POST', url: '/oauth/token' }), 401],
      [await world.app.inject('/oauth/token'), 405],
    ] as const;
    for (const [answer, status] of answers) expect([answer.statusCode, status]).toEqual([status, status]);
  });

  test('a JSON body is accepted like a form', async () => {
    const { code, verifier } = await flow();
    const payload = {
      client_id: client.clientId,
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    expect((await world.app.inject({ method: 'POST', url: '/oauth/token', payload })).statusCode).toBe(200);
  });
});

describe('authorization codes', () => {
  const refused = async (of: TestClient, fields: Awaited<ReturnType<typeof flow>>) => {
    const answer = await redeem(world.app, of, fields);
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant']);
  };

  test('of another client, redirect URI or verifier are refused, and nothing is used up', async () => {
    const good = await flow();
    const sibling = await environment.newClient();
    const stranger = await (await world.newEnvironment()).newClient();
    await refused(sibling, good);
    await refused(stranger, good);
    await refused(basic, good);
    await refused(client, { ...good, redirect: 'http://127.0.0.1/cb' });
    await refused(client, { ...good, verifier: newPkce().verifier });
    await refused(client, { ...good, verifier: 'short' });
    const { code, redirect } = good;
    const without = await postToken(world.app, client, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirect,
    });
    expect(without.json().error).toBe('invalid_grant');
    const noUri = await postToken(world.app, client, {
      grant_type: 'authorization_code',
      code,
      code_verifier: good.verifier,
    });
    expect(noUri.json().error).toBe('invalid_grant');
    expect((await redeem(world.app, client, good)).statusCode).toBe(200);
  });

  test('with a verifier but no challenge are refused (RFC 9700 §4.8.2); without both they work if PKCE is off', async () => {
    const off = { code_challenge: undefined, code_challenge_method: undefined };
    const first = await flow(basic, off);
    await refused(basic, first);
    const { code, redirect } = first;
    const plain = await postToken(world.app, basic, { grant_type: 'authorization_code', code, redirect_uri: redirect });
    expect(plain.statusCode).toBe(200);
  });

  test('with a verifier of the wrong form are refused, though its challenge fits (RFC 7636 §4.1)', async () => {
    const verifier = 'short';
    const short = await flow(client, { code_challenge: challengeOf(verifier) });
    await refused(client, { ...short, verifier });
  });

  test('are valid for a minute', async () => {
    const late = await flow();
    world.wait(seconds(60));
    await refused(client, late);
  });

  test.each([
    ['at once', 0],
    ['within 30 seconds', seconds(20)],
    ['after 30 seconds', seconds(45)],
    ['after hours', minutes(180)],
  ])('used a second time %s are refused, and the first use’s tokens are revoked', async (_name, later) => {
    const used = await flow();
    const tokens = (await redeem(world.app, client, used)).json();
    expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(200);
    world.wait(later);
    const before = (await world.events('session.code_reuse_detected')).length;
    await refused(client, used);
    expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(401);
    expect((await refresh(world.app, client, tokens.refresh_token)).json().error).toBe('invalid_grant');
    await refused(client, used);
    const events = await world.events('session.code_reuse_detected');
    expect(events).toHaveLength(before + 1);
    expect(events.at(-1)).toMatchObject({ outcome: 'denied', account_id: environment.accountId });
  });

  test('that another client presents after their use revoke nothing', async () => {
    const used = await flow();
    const tokens = (await redeem(world.app, client, used)).json();
    await refused(await environment.newClient(), used);
    expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(200);
  });

  test('redeemed twenty times in parallel succeed once, and the grant does not survive the others', async () => {
    const used = await flow();
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(world.app, client, used)));
    const good = answers.filter(({ statusCode }) => statusCode === 200);
    expect(good).toHaveLength(1);
    expect(
      answers.filter((answer) => answer.statusCode === 400 && answer.json().error === 'invalid_grant'),
    ).toHaveLength(19);
    expect((await userinfo(world.app, good[0]?.json().access_token)).statusCode).toBe(401);
  });

  test('of a person who was deactivated or signed out meanwhile are refused', async () => {
    const person = await environment.newIdentity();
    const first = await codeFor(world.browser(), client, person.email);
    await world.query('update environment_memberships set is_active = false where identity_id = $1', [person.id]);
    await refused(client, first);
    const browser = world.browser();
    const second = await codeFor(browser, client, ana.email);
    await world.provider.sessions.end(browser.cookies.get('hosted_session') as string, environment.environmentId);
    await refused(client, second);
  });

  test('grant what was requested: scopes decide about ID token and claims', async () => {
    const plain = await tokensFor(world.browser(), client, ana.email, { scope: 'email unknown' });
    expect(plain).not.toHaveProperty('id_token');
    expect(plain.scope).toBe('email');
    const unscoped = await tokensFor(world.browser(), client, ana.email, { scope: undefined });
    expect(unscoped.scope).toBe('');
    const all = await tokensFor(world.browser(), client, ana.email, { scope: 'openid permissions' });
    expect(decodeProtectedHeader(all.id_token).typ).toBe('JWT');
    expect(decodeProtectedHeader(all.access_token).typ).toBe('at+jwt');
    expect(decodeJwt(all.access_token).permissions).toEqual([]);
    expect(decodeJwt(plain.access_token)).not.toHaveProperty('permissions');
  });

  test('grant a client no more than it is registered for', async () => {
    const narrow = await environment.newClient({ scopes: ['openid', 'org'] });
    const given = await tokensFor(world.browser(), narrow, ana.email, { scope: 'openid email permissions' });
    expect(given.scope).toBe('openid');
    expect(decodeJwt(given.id_token)).not.toHaveProperty('email');
    const plain = await environment.newClient({ scopes: ['email'] });
    const without = await tokensFor(world.browser(), plain, ana.email, { scope: 'openid email' });
    expect([without.scope, without.id_token]).toEqual(['email', undefined]);
    expect((await userinfo(world.app, without.access_token)).statusCode).toBe(403);
  });
});

test('scripts of the client’s origins may read the answer, others may not', async () => {
  const tenant = await world.newEnvironment({ allowedOrigins: ['https://admin.example.com'] });
  const spa = await tenant.newClient();
  const server = await tenant.newClient({ tokenEndpointAuthMethod: 'client_secret_basic' });
  const from = (origin: string, of: TestClient) =>
    send(
      { client_id: of.clientId, grant_type: 'refresh_token', refresh_token: 'x' },
      { origin, ...(of.secret && { authorization: basicOf(of.clientId, of.secret) }) },
    );
  const allowed = async (origin: string, of: TestClient) => {
    const { headers, body } = await from(origin, of);
    expect(body).toContain('invalid_grant');
    return headers['access-control-allow-origin'];
  };
  expect(await allowed('https://app.example.com', spa)).toBe('https://app.example.com');
  expect(await allowed('https://admin.example.com', spa)).toBe('https://admin.example.com');
  expect(await allowed('https://evil.example', spa)).toBeUndefined();
  // A sandboxed frame's origin, and a URL parser's origin of an app's own scheme.
  const app = await tenant.newClient({ redirectUris: ['com.example.app:/cb'] });
  for (const one of [spa, app]) expect(await allowed('null', one)).toBeUndefined();
  // Like the redirect URI http://127.0.0.1/cb, the origin may vary its port, and nothing else.
  for (const local of ['http://127.0.0.1', 'http://127.0.0.1:5173']) expect(await allowed(local, spa)).toBe(local);
  for (const other of [
    'http://[::1]:5173',
    'http://localhost:5173',
    'https://127.0.0.1:5173',
    'http://127.0.0.1.evil.example',
    'http://127.0.0.1:99999',
    'https://app.example.com:8443',
  ])
    expect([other, await allowed(other, spa)]).toEqual([other, undefined]);
  expect(await allowed('http://127.0.0.1:5173', server)).toBeUndefined();
  expect(await allowed('https://app.example.com', server)).toBeUndefined();
  expect(await allowed('https://admin.example.com', server)).toBe('https://admin.example.com');
});

test.each([
  '/oauth/token',
  '/oauth/revoke',
  '/oauth/userinfo',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/jwks.json',
])('%s may be called by a traced page: its preflight allows traceparent, and no cookie', async (url) => {
  const preflight = await world.app.inject({
    method: 'OPTIONS',
    url,
    headers: { origin: 'https://app.example.com', 'access-control-request-headers': 'traceparent' },
  });
  expect([preflight.statusCode, preflight.body]).toEqual([204, '']);
  expect(preflight.headers['access-control-allow-headers']).toContain('traceparent');
  expect(preflight.headers['access-control-allow-credentials']).toBeUndefined();
});

test('codes and refresh tokens are stored as hashes only', async () => {
  const used = await flow();
  const tokens = (await redeem(world.app, client, used)).json();
  const stored = JSON.stringify([
    await world.query('select * from authorization_codes'),
    await world.query('select * from refresh_tokens'),
    await world.query('select * from grants'),
    await world.query('select * from events'),
  ]);
  for (const secret of [used.code, used.verifier, tokens.refresh_token, tokens.access_token]) {
    expect(stored).not.toContain(secret);
  }
});
