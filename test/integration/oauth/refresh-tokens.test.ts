import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { days, hours, minutes, seconds } from '../../../src/platform/clock.js';
import type { TestClient, TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { refresh, tokensFor, userinfo } from '../../support/oauth/tokens.js';

let spa: TestClient;
let server: TestClient;
let ana: TestIdentity;

const world = await newProvider();
const environment = await world.newEnvironment();
afterAll(() => world.close());
beforeEach(async () => {
  spa = await environment.newClient();
  server = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_basic' });
  ana = await environment.newIdentity();
});

const used = async (client: TestClient, token: string, more: Record<string, string> = {}) => {
  const answer = await refresh(world.app, client, token, more);
  return answer.statusCode === 200 ? answer.json() : answer.json().error;
};
const start = (client: TestClient, more = {}) => tokensFor(world.browser(), client, ana.email, more);
const chains = () =>
  world.query<{ open: string; family: number }>(
    `select count(*) filter (where spent_at is null)::int as open, count(*)::int as family from refresh_tokens t
     join grants g on g.id = t.family_id where g.identity_id = $1`,
    [ana.id],
  );
const reuses = async () =>
  (
    await world.query(`select 1 from events where action = 'session.refresh_reuse_detected' and actor_id = $1`, [
      ana.id,
    ])
  ).length;

describe('a public client', () => {
  test('gets a new token at every use', async () => {
    let { refresh_token: token } = await start(spa);
    const seen = new Set([token]);
    for (let i = 0; i < 3; i++) {
      world.wait(hours(1));
      token = (await used(spa, token)).refresh_token;
      seen.add(token);
    }
    expect(seen.size).toBe(4);
    expect(await chains()).toEqual([{ open: 1, family: 4 }]);
  });

  test('gets one successor for twenty parallel uses, and the family has one live chain', async () => {
    const { refresh_token: token } = await start(spa);
    const answers = await Promise.all(Array.from({ length: 20 }, () => used(spa, token)));
    expect(new Set(answers.map((answer) => answer.refresh_token)).size).toBe(1);
    expect(await chains()).toEqual([{ open: 1, family: 2 }]);
    expect(await reuses()).toBe(0);
  });

  test('can request a lost answer again within ten seconds', async () => {
    const { refresh_token: first } = await start(spa);
    const { refresh_token: second } = await used(spa, first);
    world.wait(seconds(10));
    expect((await used(spa, first)).refresh_token).toBe(second);
    expect(await chains()).toEqual([{ open: 1, family: 2 }]);
  });

  test('that sends a used token again within ten seconds gets no more than was granted either, and no answer without it', async () => {
    const { refresh_token: first } = await start(spa, { scope: 'openid' });
    const { refresh_token: second } = await used(spa, first);
    for (const scope of ['openid email', 'email']) expect(await used(spa, first, { scope })).toBe('invalid_scope');
    expect((await used(spa, first)).refresh_token).toBe(second);
    expect([await chains(), await reuses()]).toEqual([[{ open: 1, family: 2 }], 0]);
  });

  test('gets the present token if it comes late, however often others have refreshed since', async () => {
    const { refresh_token: first } = await start(spa);
    const { refresh_token: second } = await used(spa, first);
    world.wait(seconds(3));
    const { refresh_token: third } = await used(spa, second);
    expect((await used(spa, first)).refresh_token).toBe(third);
    const { refresh_token: last } = await used(spa, third);
    world.wait(seconds(5));
    expect((await used(spa, second)).refresh_token).toBe(last);
    const late = (await used(spa, first)).refresh_token;
    expect(late).toBe(last);
    world.wait(minutes(15));
    expect(await used(spa, late)).toMatchObject({ token_type: 'Bearer' });
    expect([await chains(), await reuses()]).toEqual([[{ open: 1, family: 5 }], 0]);
  });

  test('that presents a used token later ends its family and no other, once, with an event', async () => {
    const { refresh_token: first, access_token: accessToken } = await start(spa);
    const other = await start(spa);
    const { refresh_token: second } = await used(spa, first);
    world.wait(seconds(11));
    expect(await used(spa, first)).toBe('invalid_grant');
    expect(await used(spa, second)).toBe('invalid_grant');
    expect(await used(spa, first)).toBe('invalid_grant');
    expect((await userinfo(world.app, accessToken)).statusCode).toBe(401);
    expect((await userinfo(world.app, other.access_token)).statusCode).toBe(200);
    expect(await used(spa, other.refresh_token)).toMatchObject({ token_type: 'Bearer' });
    expect(await reuses()).toBe(1);
    const reasons = await world.query(
      'select revoked_reason from grants where identity_id = $1 and revoked_at is not null',
      [ana.id],
    );
    expect(reasons).toEqual([{ revoked_reason: 'refresh_reuse' }]);
  });

  test('that presents a used token later ends its family also with a request for more than was granted', async () => {
    const { refresh_token: first } = await start(spa, { scope: 'openid' });
    const { refresh_token: second } = await used(spa, first);
    world.wait(seconds(11));
    expect(await used(spa, first, { scope: 'openid email' })).toBe('invalid_grant');
    expect([await used(spa, second), await reuses()]).toEqual(['invalid_grant', 1]);
  });

  test('is refused for twenty parallel reuses, which are recorded once', async () => {
    const { refresh_token: first } = await start(spa);
    await used(spa, first);
    world.wait(seconds(11));
    const answers = await Promise.all(Array.from({ length: 20 }, () => used(spa, first)));
    expect(new Set(answers)).toEqual(new Set(['invalid_grant']));
    expect(await reuses()).toBe(1);
  });
});

describe('a confidential client', () => {
  test('keeps its token, which slides at most once a day', async () => {
    const { refresh_token: token } = await start(server);
    const expiry = async () =>
      (
        await world.query<{ e: Date }>(
          'select t.expires_at as e from refresh_tokens t join grants g on g.id = t.family_id where g.identity_id = $1',
          [ana.id],
        )
      )[0]?.e;
    const first = await expiry();
    world.wait(hours(23));
    expect((await used(server, token)).refresh_token).toBe(token);
    expect(await expiry()).toEqual(first);
    world.wait(hours(2));
    expect((await used(server, token)).refresh_token).toBe(token);
    expect(await expiry()).not.toEqual(first);
    expect(await chains()).toEqual([{ open: 1, family: 1 }]);
  });

  test.each([300, 3600, 86_400])('keeps its token until it is %d seconds unused', async (refreshTokenTtlSeconds) => {
    const brief = await world.newEnvironment({ refreshTokenTtlSeconds });
    const service = await brief.newClient({ tokenEndpointAuthMethod: 'client_secret_basic' });
    const { email } = await brief.newIdentity();
    const { refresh_token: token } = await tokensFor(world.browser(), service, email);
    for (let use = 0; use < 13; use++) {
      world.wait(seconds(refreshTokenTtlSeconds / 6));
      expect((await used(service, token)).refresh_token).toBe(token);
    }
    world.wait(seconds(refreshTokenTtlSeconds) + 1);
    expect(await used(service, token)).toBe('invalid_grant');
  });

  test('rotates if it is configured to', async () => {
    const rotating = await environment.newClient({
      tokenEndpointAuthMethod: 'client_secret_post',
      rotateRefreshTokens: true,
    });
    const { refresh_token: token } = await start(rotating);
    expect((await used(rotating, token)).refresh_token).not.toBe(token);
    world.wait(seconds(11));
    expect(await used(rotating, token)).toBe('invalid_grant');
    expect(await reuses()).toBe(1);
  });

  test('that ceases to rotate still refuses used tokens', async () => {
    const { refresh_token: first } = await start(spa);
    const { refresh_token: second } = await used(spa, first);
    await world.query(
      `update oauth_clients set client_type = 'confidential', token_endpoint_auth_method = 'client_secret_basic', secret_hash = $2 where id = $1`,
      [spa.id, server.secretHash],
    );
    world.wait(seconds(5));
    const confidential = { ...spa, tokenEndpointAuthMethod: 'client_secret_basic' as const, secret: server.secret };
    expect((await used(confidential, first)).refresh_token).toBe(second);
    world.wait(seconds(6));
    expect(await used(confidential, first)).toBe('invalid_grant');
    expect(await used(confidential, second)).toBe('invalid_grant');
  });
});

describe.each([
  ['a rotating token', () => spa],
  ['a sliding token', () => server],
])('%s', (_name, client) => {
  test('thirty unused days end a token, and ninety days end it however often it is used', async () => {
    const { refresh_token: unused } = await start(client());
    let { refresh_token: token } = await start(client());
    for (let day = 0; day < 87; day += 29) {
      world.wait(days(29));
      token = (await used(client(), token)).refresh_token;
      expect(token).toEqual(expect.any(String));
    }
    expect(await used(client(), unused)).toBe('invalid_grant');
    world.wait(days(4));
    expect(await used(client(), token)).toBe('invalid_grant');
  });

  test('thirty unused days after a use end it too', async () => {
    const { refresh_token: first } = await start(client());
    world.wait(days(2));
    const { refresh_token: token } = await used(client(), first);
    world.wait(days(30));
    expect(await used(client(), token)).toBe('invalid_grant');
  });

  test('another client cannot use it, and uses nothing up', async () => {
    const { refresh_token: token } = await start(client());
    const stranger = await (await world.newEnvironment()).newClient();
    for (const other of [await environment.newClient(), stranger])
      expect(await used(other, token)).toBe('invalid_grant');
    expect(await used(client(), token)).toMatchObject({ token_type: 'Bearer' });
  });

  test('it ends with the membership, and when the session is ended', async () => {
    const browser = world.browser();
    const { refresh_token: token } = await tokensFor(browser, client(), ana.email);
    await world.query('update environment_memberships set is_active = false where identity_id = $1', [ana.id]);
    expect(await used(client(), token)).toBe('invalid_grant');
    await world.query('update environment_memberships set is_active = true where identity_id = $1', [ana.id]);
    expect(await used(client(), token)).toMatchObject({ token_type: 'Bearer' });
    await world.provider.sessions.end(browser.cookies.get('hosted_session') as string, null);
    expect(await used(client(), token)).toBe('invalid_grant');
  });

  test('its scope can be narrowed but not widened, and requesting more uses nothing up', async () => {
    const { refresh_token: token } = await start(client(), { scope: 'openid email' });
    expect(await used(client(), token, { scope: 'openid profile' })).toBe('invalid_scope');
    const narrow = await used(client(), token, { scope: 'email' });
    expect(narrow).toMatchObject({ scope: 'email' });
    expect(narrow).not.toHaveProperty('id_token');
    expect(await used(client(), narrow.refresh_token)).toMatchObject({ scope: 'openid email' });
  });

  test('a scope that the authorization request left out may be repeated at each refresh; one that was not granted may not', async () => {
    const asked = 'openid email offline_access phone';
    const { refresh_token: first, scope } = await start(client(), { scope: asked });
    expect(scope).toBe('openid email');
    const next = await used(client(), first, { scope: asked });
    expect(next).toMatchObject({ scope: 'openid email', id_token: expect.any(String) });
    expect(await used(client(), next.refresh_token, { scope: `${asked} profile` })).toBe('invalid_scope');
    // A scope that would leave nothing is a typing error, and reported before the token is used up.
    expect(await used(client(), next.refresh_token, { scope: 'opneid' })).toBe('invalid_scope');
    expect(await used(client(), next.refresh_token, { scope: 'openid phone' })).toMatchObject({ scope: 'openid' });

    const { tokenEndpointAuthMethod } = client();
    const narrow = await environment.newClient({ tokenEndpointAuthMethod, scopes: ['openid', 'org'] });
    const given = await start(narrow, { scope: 'openid email' });
    expect(await used(narrow, given.refresh_token, { scope: 'openid email' })).toMatchObject({ scope: 'openid' });
    // For such a client, an empty scope is possible.
    const nothing = await start(narrow, { scope: 'email' });
    expect(await used(narrow, nothing.refresh_token, { scope: 'email' })).toMatchObject({ scope: '' });
  });

  test('a client with fewer scopes since gets fewer, whatever it requests, and all again when they are restored', async () => {
    const { id } = client();
    const allow = async (scopes: string[]) => {
      await world.query('update oauth_clients set scopes = $2 where id = $1', [id, scopes]);
      world.wait(seconds(2)); // a client is cached for one
    };
    const { refresh_token: first } = await start(client(), { scope: 'openid email profile' });
    await allow(['openid', 'email', 'org']);
    const narrow = await used(client(), first);
    expect(narrow.scope).toBe('openid email');
    const asked = await used(client(), narrow.refresh_token, { scope: 'openid profile' });
    expect(asked.scope).toBe('openid');
    expect(JSON.parse(Buffer.from(asked.access_token.split('.')[1] as string, 'base64url').toString()).scope).toBe(
      'openid',
    );
    expect(await used(client(), asked.refresh_token, { scope: 'openid org' })).toBe('invalid_scope');
    await allow(['email']);
    const plain = await used(client(), asked.refresh_token);
    expect(plain).toMatchObject({ scope: 'email' });
    expect(plain).not.toHaveProperty('id_token');
    await allow(['openid', 'profile', 'email', 'org', 'permissions']);
    expect((await used(client(), plain.refresh_token)).scope).toBe('openid profile email');
  });

  test('its new ID token describes the first sign-in, without its nonce', async () => {
    const first = await start(client());
    world.wait(hours(1));
    const next = await used(client(), first.refresh_token);
    const claims = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
    const { iss, sub, aud, auth_time, sid, acr, amr } = claims(first.id_token);
    expect(claims(next.id_token)).toMatchObject({ iss, sub, aud, auth_time, sid, acr, amr });
    expect(claims(next.id_token)).not.toHaveProperty('nonce');
    expect(claims(next.id_token).iat).toBe(claims(first.id_token).iat + 3600);
  });
});

describe('of platform admins', () => {
  async function newFamily(expiresIn = days(30)) {
    const [userId, familyId, at] = [uuidv7(), uuidv7(), world.now()];
    await world.query(
      `insert into users (id, email, first_name, last_name, created_at, updated_at) values ($1, $2, 'A', 'B', $3, $3)`,
      [userId, `${userId}@example.com`, at],
    );
    await world.query(
      `insert into user_sessions (id, user_id, authenticated_at, amr, created_at, last_used_at, expires_at) values ($1, $2, $3, '{pwd}', $3, $3, $4)`,
      [familyId, userId, at, new Date(at.getTime() + expiresIn)],
    );
    const family = { kind: 'user_session', familyId, expiresAt: new Date(at.getTime() + days(30)) } as const;
    const token = await world.db.transaction('system', (tx) => world.refreshTokens.issue(tx, family));
    return { token, familyId };
  }

  test('rotate alike: repeated within ten seconds, revoked later', async () => {
    const { token, familyId } = await newFamily();
    const parallel = await Promise.all(Array.from({ length: 20 }, () => world.refreshTokens.rotate(token)));
    const [first] = parallel;
    expect(first).toMatchObject({ familyId });
    expect(new Set(parallel.map((answer) => answer?.token)).size).toBe(1);
    world.wait(seconds(11));
    expect(await world.refreshTokens.rotate(token)).toBeNull();
    expect(await world.refreshTokens.rotate(first?.token as string)).toBeNull();
    const [session] = await world.query<{ revoked_at: Date }>('select revoked_at from user_sessions where id = $1', [
      familyId,
    ]);
    expect(session?.revoked_at).not.toBeNull();
  });

  test('are no tokens of clients, nor the other way round', async () => {
    const [{ token }, { refresh_token: ofClient }] = [await newFamily(), await start(spa)];
    expect([await used(spa, token), await used(server, token)]).toEqual(['invalid_grant', 'invalid_grant']);
    expect(await world.refreshTokens.rotate(ofClient)).toBeNull();
    expect(await world.refreshTokens.rotate(token)).not.toBeNull();
    expect(await used(spa, ofClient)).toHaveProperty('refresh_token');
  });

  test('get the present token, until ten seconds have passed', async () => {
    const { token } = await newFamily();
    const rotate = async (one: string) => (await world.refreshTokens.rotate(one))?.token as string;
    const second = await rotate(token);
    world.wait(seconds(3));
    const third = await rotate(second);
    world.wait(seconds(5));
    expect(await rotate(token)).toBe(third);
    world.wait(minutes(15));
    expect(await rotate(third)).toBeTruthy();
  });

  test('never outlive their session', async () => {
    const [{ token }, { token: unused }] = [await newFamily(days(2)), await newFamily(days(2))];
    const next = await world.refreshTokens.rotate(token);
    expect(next?.expiresAt).toEqual(new Date(world.now().getTime() + days(2)));
    world.wait(days(2));
    for (const late of [next?.token as string, unused]) expect(await world.refreshTokens.rotate(late)).toBeNull();
  });

  test('are used up when PostgreSQL does so, however long the statement waited', async () => {
    world.wait(Date.now() - world.now().getTime() - seconds(12));
    const { token } = await newFamily();
    const next = await world.refreshTokens.rotate(token);
    world.wait(seconds(12));
    expect((await world.refreshTokens.rotate(token))?.token).toBe(next?.token);
  });

  test('are valid for thirty days, however long their session is', async () => {
    const { token } = await newFamily(days(60));
    const next = await world.refreshTokens.rotate(token);
    expect(next?.expiresAt).toEqual(new Date(world.now().getTime() + days(30)));
    world.wait(days(30));
    expect(await world.refreshTokens.rotate(next?.token as string)).toBeNull();
  });
});
