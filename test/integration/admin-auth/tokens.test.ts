import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { UserSession } from '../../../entities/user-session.js';
import { DomainError } from '../../../src/domain/errors.js';
import type { Refused } from '../../../src/http/surfaces/surface.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';

let auth: AdminAuth;
let subject: { userId: string; sessionId: string };
let claims: JWTPayload;
beforeAll(async () => {
  auth = await newAdminAuth();
  const user = await auth.addUser();
  await auth.post('/login', { email: user.email, password: user.password });
  const session = await auth.db.transaction('system', (tx) => tx.findOneByOrFail(UserSession, { userId: user.id }));
  subject = { userId: user.id, sessionId: session.id };
  const iat = Math.floor(Date.now() / 1000);
  claims = {
    iss: auth.baseUrl,
    aud: auth.baseUrl,
    sub: user.id,
    sid: session.id,
    iat,
    exp: iat + 900,
    principal_type: 'platform_admin',
  };
});
afterAll(() => auth.close());

const me = (token: string) => auth.get('/me', bearer(token));

test('a valid token has the claims from which the invalid ones below are made', async () => {
  expect((await me(await auth.keys.sign(claims, { typ: 'at+jwt' }))).statusCode).toBe(200);
});

describe('401, with the reason in WWW-Authenticate, for a token', () => {
  const refused: [string, () => Promise<string> | string][] = [
    ['with alg none', () => new UnsecuredJWT(claims).encode()],
    ['of another issuer', () => auth.keys.sign({ ...claims, iss: 'https://other.example' }, { typ: 'at+jwt' })],
    ['for another audience', () => auth.keys.sign({ ...claims, aud: 'https://api.example' }, { typ: 'at+jwt' })],
    ['without an audience', () => auth.keys.sign({ ...claims, aud: undefined }, { typ: 'at+jwt' })],
    [
      'that has expired',
      () => auth.keys.sign({ ...claims, exp: Math.floor(Date.now() / 1000) - 1 }, { typ: 'at+jwt' }),
    ],
    ['that is an ID token', () => auth.keys.sign(claims, { typ: 'JWT' })],
    [
      'signed with another key',
      async () => {
        const { privateKey } = await generateKeyPair('RS256');
        const { keys } = await auth.keys.jwks();
        return new SignJWT(claims)
          .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: keys[0]?.kid as string })
          .sign(privateKey);
      },
    ],
    [
      'signed with the public key as an HMAC secret',
      async () => {
        const { keys } = await auth.keys.jwks();
        return new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: keys[0]?.kid as string })
          .sign(new TextEncoder().encode(JSON.stringify(keys[0])));
      },
    ],
    ['of another session', () => auth.keys.sign({ ...claims, sid: uuidv7() }, { typ: 'at+jwt' })],
    ['of another user’s session', () => auth.keys.sign({ ...claims, sub: uuidv7() }, { typ: 'at+jwt' })],
    ['without a session', () => auth.keys.sign({ ...claims, sid: undefined }, { typ: 'at+jwt' })],
    ['that is no token', () => 'garbage'],
    ['that only looks like a token', () => 'a.b.c'],
  ];
  test.each(refused)('%s', async (_, make) => {
    const answer = await me(await make());
    expect(answer.statusCode).toBe(401);
    expect(answer.json().error.code).toBeNull();
    expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
  });
});

test('no token, or another scheme, is 401', async () => {
  for (const headers of [{}, { authorization: 'Basic dTpw' }, { authorization: 'Bearer' }, { 'x-api-key': 'ghk_x' }]) {
    const answer = await auth.get('/me', headers as Record<string, string>);
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  }
});

test('an identity’s token is the wrong principal: 403, without a code', async () => {
  const token = await auth.keys.sign({ ...claims, principal_type: 'identity' }, { typ: 'at+jwt' });
  for (const answer of [await me(token), await auth.get('/sessions', bearer(token))]) {
    expect(answer.statusCode).toBe(403);
    expect(answer.json().error.code).toBeNull();
  }
});

test('two credentials are refused on every route', async () => {
  const both = { ...bearer(await auth.keys.sign(claims, { typ: 'at+jwt' })), 'x-api-key': 'ghk_test_x' };
  for (const answer of [
    await auth.get('/me', both),
    await auth.get('/sessions', both),
    await auth.post('/login', {}, both),
    await auth.post('/register', {}, both),
    await auth.post('/refresh', undefined, both),
    await auth.get('/verify-email?token=x', { ...both, accept: 'application/json' }),
  ]) {
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.code).toBe('auth.multiple_credentials');
  }
});

describe('the Portal’s principal', () => {
  const reply = { header: () => reply } as never;
  const request = async (params: object, token?: string) =>
    ({
      headers: bearer(token ?? (await auth.keys.sign(claims, { typ: 'at+jwt' }))),
      params,
      ip: '127.0.0.1',
    }) as never;

  const anything = { lacking: () => null, denied: async (_: object, refusal: DomainError) => refusal };
  const refusalOf = async (outcome: object) => ('refusal' in outcome ? (outcome as Refused).refusal() : outcome);

  test('is the member with roles, capabilities and the ids of the path', async () => {
    const user = await auth.addUser();
    const answer = await auth.post('/login', { email: user.email, password: user.password });
    const [{ account, applications }] = user.accounts as [(typeof user.accounts)[number]];
    const params = { accountSlug: account.slug, appSlug: applications[0]?.slug, envSlug: 'development' };
    const admin = await auth.admins.authorize(
      await request(params, answer.json().data.access_token),
      reply,
      'environment',
      anything,
    );
    expect(admin).toEqual({
      caller: {
        type: 'platform_admin',
        userId: user.id,
        sessionId: expect.any(String),
        roles: [
          {
            id: expect.any(String),
            name: 'Owner',
            capabilities: expect.arrayContaining(['account.manage']),
            limits: null,
          },
        ],
        capabilities: expect.arrayContaining(['account.manage', 'processes.view']),
      },
      scope: { accountId: account.id, applicationId: applications[0]?.id, environmentId: expect.any(String) },
      credential: `platform_admin/${user.id}`,
      capabilitiesInPart: expect.arrayContaining(['account.manage']),
    });
  });

  test('does not exist in other accounts, and finds only what is in its own', async () => {
    const [ana, ben] = [await auth.addUser(), await auth.addUser()];
    const token = (await auth.post('/login', { email: ana.email, password: ana.password })).json().data.access_token;
    const [own, other] = [ana.accounts[0], ben.accounts[0]];
    const slugs = { accountSlug: own?.account.slug, appSlug: own?.applications[0]?.slug, envSlug: 'development' };
    const refusals: [object, string][] = [
      [{ ...slugs, accountSlug: other?.account.slug }, 'account.not_found'],
      [{ ...slugs, accountSlug: 'nowhere' }, 'account.not_found'],
      [{ ...slugs, appSlug: 'nothing' }, 'application.not_found'],
      [{ ...slugs, envSlug: 'nothing' }, 'environment.not_found'],
    ];
    for (const [params, code] of refusals) {
      const authorized = await auth.admins.authorize(await request(params, token), reply, 'environment', anything);
      expect(await refusalOf(authorized)).toMatchObject({ code });
    }
    // A missing permission is reported before a missing resource (contract §10).
    const missing = await request({ ...slugs, appSlug: 'nothing' }, token);
    const refused = await auth.admins.authorize(missing, reply, 'environment', {
      ...anything,
      lacking: () => new DomainError('account.capability_required'),
    });
    expect(await refusalOf(refused)).toMatchObject({ code: 'account.capability_required' });
  });

  test('is refused once the session has ended', async () => {
    const { userId, sessionId } = subject;
    const own = { userId, sessionId, accountId: null, applicationId: null };
    await expect(auth.users.portal.isAlive(own)).resolves.toBe(true);
    await auth.users.sessions.end(own);
    await expect(auth.users.portal.isAlive(own)).resolves.toBe(false);
    const authorized = auth.admins.authorize(await request({ accountSlug: 'x' }), reply, 'account', anything);
    await expect(authorized).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
  });
});
