import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { v4 as uuidv4 } from 'uuid';
import { minutes, seconds } from '../../../src/platform/clock.js';
import { follow } from '../../support/account.js';
import { codeIn } from '../../support/mfa.js';
import { password, redirectUri, type TestClient } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { basicOf, refresh, type TokenBody, tokensFor, userinfo } from '../../support/oauth/tokens.js';

const world = await newProvider();
const environment = await world.newEnvironment();
const client = await environment.newClient();
const server = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_basic' });
const ana = await environment.newIdentity();
afterAll(() => world.close());

const start = (more = {}): Promise<TokenBody> => tokensFor(world.browser(), client, ana.email, more);
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const send = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  world.app.inject({
    method: 'POST',
    url,
    headers: { ...form, ...headers },
    payload: new URLSearchParams(fields).toString(),
  });
const asServer = (of: TestClient = server) => ({ authorization: basicOf(of.clientId, of.secret as string) });
const introspect = async (token: string, of?: TestClient) =>
  (await send('/oauth/introspect', { token }, asServer(of))).json();

describe('userinfo', () => {
  test('accepts the token in the header or a form, by GET and POST, and returns what the scopes allow', async () => {
    const { access_token: token } = await start({ scope: 'openid email' });
    const authorization = `Bearer ${token}`;
    const expected = { sub: ana.id, email: ana.email, email_verified: true };
    const answers = [
      await userinfo(world.app, token),
      await world.app.inject({ method: 'POST', url: '/oauth/userinfo', headers: { authorization } }),
      await send('/oauth/userinfo', { access_token: token }),
      await world.app.inject({ method: 'GET', url: '/oauth/userinfo', headers: { authorization: `bearer ${token}` } }),
    ];
    for (const answer of answers) {
      expect(answer.json()).toEqual(expected);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
    expect(
      (await world.app.inject({ method: 'HEAD', url: '/oauth/userinfo', headers: { authorization } })).statusCode,
    ).toBe(200);
  });

  test('reports what is wrong with a request (RFC 6750 §3.1)', async () => {
    const { access_token: token } = await start();
    const none = await world.app.inject('/oauth/userinfo');
    expect([none.statusCode, none.headers['www-authenticate'], none.body]).toEqual([401, 'Bearer', '']);
    expect((await world.app.inject(`/oauth/userinfo?access_token=${token}`)).statusCode).toBe(401);
    const twice = await send('/oauth/userinfo', { access_token: token }, { authorization: `Bearer ${token}` });
    expect([twice.statusCode, twice.json().error]).toEqual([400, 'invalid_request']);
    const withKey = await world.app.inject({
      url: '/oauth/userinfo',
      headers: { authorization: `Bearer ${token}`, 'x-api-key': 'k' },
    });
    expect(withKey.statusCode).toBe(400);
    const { access_token: unscoped } = await start({ scope: 'email' });
    const lacking = await userinfo(world.app, unscoped);
    expect([lacking.statusCode, lacking.json().error]).toEqual([403, 'insufficient_scope']);
    expect(lacking.headers['www-authenticate']).toMatch(/error="insufficient_scope".*, scope="openid"$/);
  });

  test('refuses invalid tokens of every kind', async () => {
    const { access_token: good, id_token: idToken, refresh_token: refreshToken } = await start();
    const claims = decodeJwt(good);
    const { kid } = decodeProtectedHeader(good);
    const signed = (changes: JWTPayload, typ: 'at+jwt' | 'JWT' = 'at+jwt') =>
      world.keys.sign({ ...claims, ...changes }, { typ });
    const { privateKey } = await generateKeyPair('RS256');
    const none = `${Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt', kid })).toString('base64url')}.${good.split('.')[1]}.`;
    const bad = {
      none,
      'ID token': idToken,
      'refresh token': refreshToken,
      'another issuer': await signed({ iss: 'https://evil.example' }),
      'another audience': await signed({ aud: 'https://api.example' }),
      expired: await signed({ iat: 1, exp: Math.floor(world.now().getTime() / 1000) - 1 }),
      'another type': await signed({}, 'JWT'),
      'an unknown grant': await signed({ grant_id: uuidv4() }),
      'a grant of somebody else': await signed({ sub: uuidv4() }),
      'no grant': await signed({ grant_id: undefined }),
      'no id': await signed({ jti: undefined }),
      'no subject': await signed({ sub: undefined }),
      'another key': await new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid })
        .sign(privateKey),
      'no token': 'nonsense',
    };
    for (const [name, token] of Object.entries(bad)) {
      const answer = await userinfo(world.app, token);
      expect([name, answer.statusCode, answer.json().error]).toEqual([name, 401, 'invalid_token']);
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    }
    const admin = await userinfo(world.app, await signed({ principal_type: 'platform_admin' }));
    expect([admin.statusCode, admin.json().error]).toEqual([403, 'insufficient_scope']);
  });

  test('can be read by scripts of the client, also when the token has expired', async () => {
    const { access_token: token } = await start();
    const from = (origin: string) =>
      world.app.inject({ url: '/oauth/userinfo', headers: { origin, authorization: `Bearer ${token}` } });
    expect((await from('https://app.example.com')).headers['access-control-allow-origin']).toBe(
      'https://app.example.com',
    );
    expect((await from('https://evil.example')).headers['access-control-allow-origin']).toBeUndefined();
    world.wait(minutes(16));
    const expired = await from('https://app.example.com');
    expect([expired.statusCode, expired.headers['access-control-allow-origin']]).toEqual([
      401,
      'https://app.example.com',
    ]);
  });
});

describe('revocation', () => {
  const revoke = (token: string, of: TestClient = client) =>
    of.secret
      ? send('/oauth/revoke', { token }, asServer(of))
      : send('/oauth/revoke', { token, client_id: of.clientId });

  test('of a refresh token ends the grant with all its tokens', async () => {
    const tokens = await start();
    expect((await revoke(tokens.refresh_token)).statusCode).toBe(200);
    expect((await refresh(world.app, client, tokens.refresh_token)).json().error).toBe('invalid_grant');
    expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(401);
    expect((await revoke(tokens.refresh_token)).statusCode).toBe(200);
    const { grant_id: grantId } = decodeJwt(tokens.access_token);
    const events = (await world.events('auth.grant_revoked')).filter((event) => event.resource_id === grantId);
    expect(events).toMatchObject([{ outcome: 'success' }]);
  });

  test('of an access token ends that one only, and is remembered until it would have expired', async () => {
    const tokens = await start();
    expect((await revoke(tokens.access_token)).statusCode).toBe(200);
    const { jti, exp } = decodeJwt(tokens.access_token);
    const denied = await world.query('select expires_at from revoked_access_tokens where jti = $1', [jti]);
    expect(denied).toEqual([{ expires_at: new Date((exp as number) * 1000) }]);
    expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(401);
    const next = (await refresh(world.app, client, tokens.refresh_token)).json();
    expect((await userinfo(world.app, next.access_token)).statusCode).toBe(200);
    expect((await revoke(tokens.access_token)).statusCode).toBe(200);
  });

  test('of an unknown token has the same answer as that of a known one (RFC 7009 §2.2)', async () => {
    const there = await start();
    for (const token of [there.refresh_token, 'unknown', `${'a'.repeat(40)}.${'b'.repeat(40)}.${'c'.repeat(40)}`]) {
      const answer = await revoke(token);
      expect([answer.statusCode, answer.json()]).toEqual([200, {}]);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
    }
  });

  test('of a token of another client is refused, and changes nothing (RFC 7009 §2.1)', async () => {
    const tokens = await start();
    const sibling = await environment.newClient();
    for (const token of [tokens.refresh_token, tokens.access_token])
      for (const other of [sibling, server]) {
        const refused = await revoke(token, other);
        expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_grant']);
      }
    expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(200);
    expect((await refresh(world.app, client, tokens.refresh_token)).statusCode).toBe(200);
  });

  test('requires a client and a token', async () => {
    const unnamed = await send('/oauth/revoke', { token: 'x' });
    expect([unnamed.json().error, unnamed.headers['www-authenticate']]).toMatchObject([
      'invalid_client',
      expect.stringMatching(/^Basic /),
    ]);
    expect((await send('/oauth/revoke', { client_id: client.clientId })).json().error).toBe('invalid_request');
  });
});

describe('introspection', () => {
  test('tells a confidential client of the Environment what a token is', async () => {
    const tokens = await start();
    expect(await introspect(tokens.access_token)).toMatchObject({
      active: true,
      token_type: 'Bearer',
      sub: ana.id,
      client_id: client.clientId,
      scope: 'openid profile email',
      iss: world.baseUrl,
      aud: world.baseUrl,
      environment_id: environment.environmentId,
    });
    expect(await introspect(tokens.refresh_token)).toMatchObject({
      active: true,
      token_type: 'refresh_token',
      sub: ana.id,
      client_id: client.clientId,
      exp: expect.any(Number),
    });
  });

  test('says of everything else that it is inactive, and no more', async () => {
    const tokens = await start();
    const next = (await refresh(world.app, client, tokens.refresh_token)).json();
    const stranger = await (await world.newEnvironment()).newClient({ tokenEndpointAuthMethod: 'client_secret_basic' });
    const admin = await world.keys.sign(
      { ...decodeJwt(tokens.access_token), principal_type: 'platform_admin' },
      { typ: 'at+jwt' },
    );
    for (const token of [tokens.refresh_token, tokens.id_token, 'unknown', admin]) {
      expect(await introspect(token)).toEqual({ active: false });
    }
    for (const token of [next.access_token, next.refresh_token]) {
      expect(await introspect(token, stranger)).toEqual({ active: false });
      expect(await introspect(token)).toMatchObject({ active: true });
    }
    world.wait(minutes(15) + seconds(1));
    expect(await introspect(next.access_token)).toEqual({ active: false });
    const { grant_id: grantId } = decodeJwt(next.access_token);
    await world.query('update refresh_tokens set expires_at = created_at where family_id = $1', [grantId]);
    expect(await introspect(next.refresh_token)).toEqual({ active: false });
  });

  test('tells a third-party application about its own tokens, and about no others', async () => {
    const tokens = await start();
    const partner = await environment.newClient({
      tokenEndpointAuthMethod: 'client_secret_basic',
      consentRequired: true,
    });
    const browser = world.browser();
    const { verifier, challenge } = newPkce();
    const signIn = await browser.get(authorizeUrl(partner, { scope: 'openid', code_challenge: challenge }));
    const question = await follow(browser, await browser.submit(signIn, { email: ana.email, password }));
    const code = codeIn(await browser.submit(question, { choice: 'allow' }));
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const own: TokenBody = (await send('/oauth/token', grant, asServer(partner))).json();
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      expect(await introspect(token)).toMatchObject({ active: true });
      expect(await introspect(token, partner)).toEqual({ active: false });
    }
    for (const token of [own.access_token, own.refresh_token])
      expect(await introspect(token, partner)).toMatchObject({ active: true, client_id: partner.clientId });
  });

  test('is refused to public and unknown clients', async () => {
    const answer = await send('/oauth/introspect', { token: 'x', client_id: client.clientId });
    expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client']);
    expect((await send('/oauth/introspect', { token: 'x' })).statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Basic /);
    expect((await send('/oauth/introspect', {}, asServer())).json().error).toBe('invalid_request');
  });
});

describe('what tokens rest on is looked up at every call, and while it is over they are not valid:', () => {
  test.each([
    ['the membership', 'environment_memberships', 'is_active = false', 'is_active = true'],
    [
      'the session, which alone ends when another person signs in',
      'sessions',
      'revoked_at = now()',
      'revoked_at = null',
    ],
    ['the grant', 'grants', 'revoked_at = now()', 'revoked_at = null'],
    ['the grant’s time', 'grants', 'expires_at = created_at', "expires_at = created_at + interval '1 day'"],
  ])('%s', async (_, table, over, good) => {
    const person = await environment.newIdentity();
    const tokens = await tokensFor(world.browser(), client, person.email);
    const validWhere = async (change: string) => {
      await world.query(`update ${table} set ${change} where identity_id = $1`, [person.id]);
      const [access, refreshing] = [await introspect(tokens.access_token), await introspect(tokens.refresh_token)];
      return [(await userinfo(world.app, tokens.access_token)).statusCode, access.active, refreshing.active];
    };
    expect(await validWhere(over)).toEqual([401, false, false]);
    expect(await validWhere(good)).toEqual([200, true, true]);
  });
});

test('the access token proves an identity to the rest of the service', async () => {
  const tokens = await start({ scope: 'openid org' });
  expect(await world.provider.accessTokens.prove(tokens.access_token)).toMatchObject({
    identityId: ana.id,
    accountId: environment.accountId,
    applicationId: environment.applicationId,
    environmentId: environment.environmentId,
    clientId: client.clientId,
    scope: ['openid', 'org'],
  });
  expect(await world.provider.accessTokens.prove('x')).toBeNull();
  const unscoped = { ...decodeJwt(tokens.access_token), scope: '' };
  for (const claims of [unscoped, { ...unscoped, scope: undefined }]) {
    const token = await world.keys.sign(claims, { typ: 'at+jwt' });
    expect(await world.provider.accessTokens.prove(token)).toMatchObject({ scope: [] });
  }
  expect(decodeJwt(tokens.access_token).organizations).toEqual([]);
});
