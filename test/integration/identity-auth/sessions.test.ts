import { randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { createApiProfiles } from '../../../src/domain/logins/api-me.js';
import { createApiSessions } from '../../../src/domain/logins/api-sessions.js';
import { createAdminTokens } from '../../../src/domain/users/admin-tokens.js';
import { minutes, seconds } from '../../../src/platform/clock.js';
import { apiOf, bearer } from '../../support/identity-auth.js';
import { enrollTotp, giveFactor } from '../../support/mfa.js';
import { newProvider } from '../../support/oauth/provider.js';
import { tokensFor, userinfo } from '../../support/oauth/tokens.js';
import { comingUpon } from '../../support/uncommitted.js';

const provider = await newProvider();
const api = apiOf(provider);
afterAll(() => provider.close());

async function signedIn() {
  const place = await provider.newEnvironment();
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  return { place, client, ana, ...(await api.signedIn(client, ana)) };
}
const refreshed = (client: { clientId: string }, token: string) =>
  api.post('/refresh', { client_id: client.clientId, refresh_token: token });

describe('a signed-in person', () => {
  test('reads their profile and where they are signed in', async () => {
    const { place, ana, access_token: token } = await signedIn();
    expect((await api.get('/me', bearer(token))).json().data).toEqual({
      identity: {
        id: ana.id,
        email: ana.email,
        email_verified: true,
        first_name: 'Ana',
        last_name: 'Arendt',
        avatar_url: null,
        has_password: true,
        created_at: ana.createdAt.toISOString(),
        updated_at: ana.updatedAt.toISOString(),
      },
      application: { id: place.applicationId, name: 'Shop', slug: 'shop' },
      environment: { id: place.environmentId, name: 'Development', slug: 'development', type: 'development' },
      session: {
        id: expect.any(String),
        authenticated_at: provider.now().toISOString(),
        amr: ['pwd'],
        acr: 'urn:gatehouse:aal1',
        created_at: provider.now().toISOString(),
      },
    });
  });

  test('sees their sessions here, hosted ones too, and nobody else’s', async () => {
    const { place, client, ana, access_token: token } = await signedIn();
    await api.signedIn(client, await place.newIdentity());
    provider.wait(1000);
    await tokensFor(provider.browser(), client, ana.email);
    const { items, pagination } = (await api.get('/sessions', bearer(token))).json();
    expect(items).toMatchObject([
      { current: false, ip_address: '127.0.0.1', user_agent: 'lightMyRequest' },
      { current: true },
    ]);
    expect(pagination.item_count).toBe(2);
    const oldest = await api.get('/sessions?sort_by=created_at&order=asc&take=1', bearer(token));
    expect(oldest.json().items).toMatchObject([{ current: true }]);
    expect((await api.get('/sessions?q=lightmy', bearer(token))).json().items).toHaveLength(2);
    expect((await api.get('/sessions?q=%25', bearer(token))).json().items).toHaveLength(0);
    expect((await api.get('/sessions?take=101', bearer(token))).statusCode).toBe(400);
  });

  test('ends a session with all that was issued in it, at once', async () => {
    const { client, ana, access_token: token } = await signedIn();
    const lost = await api.signedIn(client, ana);
    const { items } = (await api.get('/sessions', bearer(lost.access_token))).json();
    const { id } = items.find(({ current }: { current: boolean }) => current);
    expect((await api.delete(`/sessions/${id}`, bearer(token))).statusCode).toBe(204);
    expect((await api.get('/me', bearer(lost.access_token))).statusCode).toBe(401);
    expect((await refreshed(client, lost.refresh_token)).statusCode).toBe(401);
    expect((await api.get('/me', bearer(token))).statusCode).toBe(200);
    expect((await api.delete(`/sessions/${id}`, bearer(token))).statusCode).toBe(404);
    const [event] = await provider.events('identity.sessions_revoked');
    expect(event?.resource_id).toBe(ana.id);
  });

  test('who ends the calling session twice is signed out for the second request, even if both come at once', async () => {
    const { access_token: token } = await signedIn();
    const { sid } = decodeJwt(token);
    const end = async () => (await api.delete(`/sessions/${sid}`, bearer(token))).statusCode;
    const lock = (tx: EntityManager) => tx.query('select from sessions where id = $1 for update', [sid]);
    const both = await comingUpon(provider.database, lock, () => Promise.all([end(), end()]), { waiting: 2 });
    expect(both.sort()).toEqual([204, 401]);
    expect(await end()).toBe(401);
  });

  test('ends another session by any sign-in, however old, if the environment requires nothing else', async () => {
    const { client, ana, access_token: token } = await signedIn();
    const lost = await api.signedIn(client, ana);
    const { items } = (await api.get('/sessions', bearer(lost.access_token))).json();
    const { id } = items.find(({ current }: { current: boolean }) => current);
    provider.wait(minutes(10));
    expect((await api.delete(`/sessions/${id}`, bearer(token))).statusCode).toBe(204);
  });

  test('sees an idle session as long as a client lives on by tokens that it got in it', async () => {
    const idleSeconds = 900;
    const place = await provider.newEnvironment({ sessionIdleTtlSeconds: idleSeconds });
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    await api.signedIn(client, ana);
    provider.wait(seconds(idleSeconds));
    const { access_token: token } = await api.signedIn(client, ana);
    const listed = async () =>
      (await api.get('/sessions', bearer(token))).json().items.map(({ current }: { current: boolean }) => current);
    expect(await listed()).toEqual([true, false]);
    await provider.query('update grants set revoked_at = $2 where session_id <> $1 and identity_id = $3', [
      decodeJwt(token).sid,
      provider.now(),
      ana.id,
    ]);
    expect(await listed()).toEqual([true]);
  });

  test('ends another session only by a recent sign-in if the environment requires that, and their own by any', async () => {
    const place = await provider.newEnvironment({ sessionEndRequireRecentSignIn: true });
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const [old, other] = [await api.signedIn(client, ana), await api.signedIn(client, ana)];
    provider.wait(minutes(10));
    const { items } = (await api.get('/sessions', bearer(old.access_token))).json();
    const idOf = (isOwn: boolean) => items.find(({ current }: { current: boolean }) => current === isOwn).id;
    const end = async (id: string, { access_token }: { access_token: string }) => {
      const answer = await api.delete(`/sessions/${id}`, bearer(access_token));
      return [answer.statusCode, answer.body && answer.json().error.code];
    };
    expect(await end(idOf(false), old)).toEqual([403, 'auth.reauthentication_required']);
    expect((await api.get('/me', bearer(other.access_token))).statusCode).toBe(200);
    const recent = await api.signedIn(client, ana);
    expect(await end(idOf(false), recent)).toEqual([204, '']);
    expect(await end(idOf(true), old)).toEqual([204, '']);
  });

  test('ends another session by an allowed factor, and without one if theirs is not allowed any more', async () => {
    const settings = { sessionEndRequireRecentSignIn: true, mfaPolicy: 'optional', mfaTrustedDeviceDays: 0 } as const;
    const place = await provider.newEnvironment(settings);
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const { access_token } = await api.signedIn(client, ana);
    const before = bearer(access_token);
    const { items } = (await api.get('/sessions', before)).json();
    await enrollTotp(provider, place, ana);
    const end = async (headers: Record<string, string>) =>
      (await api.delete(`/sessions/${items[0].id}`, headers)).statusCode;
    const take = async (kinds: string[]) => {
      const text = 'update environment_settings set mfa_allowed_factors = $2 where environment_id = $1';
      await provider.query(text, [place.environmentId, kinds]);
      provider.wait(2000); // a process caches a client's settings for a second
    };
    await take([]);
    const byPassword = bearer((await api.signedIn(client, ana)).access_token);
    await take(['totp']);
    expect(await end(byPassword)).toBe(403);
    await take(['email_otp', 'recovery_code']);
    provider.wait(minutes(10));
    expect(await end(byPassword)).toBe(403);
    const recent = bearer((await api.signedIn(client, ana)).access_token);
    expect((await api.post('/mfa/recovery-codes', undefined, recent)).statusCode).toBe(403); // protected by factors
    expect(await end(recent)).toBe(204);
  });

  test('ends another session in a trusted browser, if mailed codes are their only factor', async () => {
    const settings = { sessionEndRequireRecentSignIn: true, mfaPolicy: 'optional', mfaTrustedDeviceDays: 30 } as const;
    const place = await provider.newEnvironment({ ...settings, mfaAllowedFactors: ['email_otp'] });
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const lost = bearer((await api.signedIn(client, ana)).access_token);
    const [{ id }] = (await api.get('/sessions', lost)).json().items;
    await giveFactor(provider, place, ana.id, { id: uuidv7(), type: 'email_otp', label: 'Email' });
    expect(await api.signedIn(client, ana)).toMatchObject({ requires_mfa_challenge: true });
    const trust = { identityId: ana.id, days: 30, device: null, userAgent: null };
    const { device } = await provider.logins.trustedDevices.trust(place, trust, provider.db);
    const { data } = (await api.login(client, ana, {}, { cookie: `trusted_device=${device}` })).json();
    const trusted = bearer(data.access_token);
    expect((await api.post('/mfa/recovery-codes', undefined, trusted)).statusCode).toBe(403); // protected by factors
    expect((await api.delete(`/sessions/${id}`, trusted)).statusCode).toBe(204);
  });

  test('cannot end a session of another person, or of another environment', async () => {
    const [ana, ben] = [await signedIn(), await signedIn()];
    const { items } = (await api.get('/sessions', bearer(ben.access_token))).json();
    const refused = await api.delete(`/sessions/${items[0].id}`, bearer(ana.access_token));
    expect([refused.statusCode, refused.json().error.code]).toEqual([404, 'session.not_found']);
    expect((await api.get('/me', bearer(ben.access_token))).statusCode).toBe(200);
    expect((await api.delete('/sessions/x', bearer(ana.access_token))).statusCode).toBe(404);
  });
});

describe('signing out', () => {
  test('by the access token ends the session with its grants', async () => {
    const { client, ana, access_token: token, refresh_token: refreshToken } = await signedIn();
    expect((await api.post('/logout', undefined, bearer(token))).statusCode).toBe(204);
    expect((await api.get('/me', bearer(token))).statusCode).toBe(401);
    expect((await userinfo(provider.app, token)).statusCode).toBe(401);
    expect((await refreshed(client, refreshToken)).statusCode).toBe(401);
    expect((await api.post('/logout', undefined, bearer(token))).statusCode).toBe(204); // not an error
    const events = await provider.query<{ action: string; metadata: object }>(
      `select action, metadata from events where actor_id = $1 and action <> 'identity.signed_in' order by action`,
      [ana.id],
    );
    expect(events).toEqual([
      { action: 'auth.identity_signed_out', metadata: { reason: 'logout' } },
      { action: 'identity.signed_out', metadata: { session_id: decodeJwt(token).sid } },
    ]);
  });

  test('by the refresh token does so too, also by a used one', async () => {
    const { client, access_token: token, refresh_token: first } = await signedIn();
    const { data } = (await refreshed(client, first)).json();
    const answer = await api.post('/logout', { client_id: client.clientId, refresh_token: first });
    expect(answer.statusCode).toBe(204);
    expect((await api.get('/me', bearer(token))).statusCode).toBe(401);
    expect((await refreshed(client, data.refresh_token)).statusCode).toBe(401);
  });

  test('ends the session even if the token’s grant was revoked for its reuse, but not for a third-party application', async () => {
    for (const consentRequired of [false, true]) {
      const { client, ana, refresh_token: first } = await signedIn();
      await provider.query('update oauth_clients set consent_required = $2 where client_id = $1', [
        client.clientId,
        consentRequired,
      ]);
      await provider.query(
        `update grants set revoked_at = now(), revoked_reason = 'reuse_detected' where identity_id = $1`,
        [ana.id],
      );
      const { signOutBy } = createApiSessions({ db: provider.db, now: provider.now });
      await signOutBy(client, first);
      const open = await provider.query('select from sessions where identity_id = $1 and revoked_at is null', [ana.id]);
      expect([consentRequired, open.length]).toEqual([consentRequired, consentRequired ? 1 : 0]);
    }
  });

  test('returns once by which session at an identity provider it began, if any', async () => {
    const { signOutBy } = createApiSessions({ db: provider.db, now: provider.now });
    const [local, federated] = [await signedIn(), await signedIn()];
    const ssoSessionId = uuidv7();
    await provider.query('update sessions set sso_session_id = $2 where identity_id = $1', [
      federated.ana.id,
      ssoSessionId,
    ]);
    expect(await signOutBy(local.client, local.refresh_token)).toEqual([]);
    expect(await signOutBy(federated.client, federated.refresh_token)).toEqual([ssoSessionId]);
    expect(await signOutBy(federated.client, federated.refresh_token)).toEqual([]);
  });

  test('does nothing by the refresh token of another client', async () => {
    const { place, access_token: token, refresh_token: refreshToken } = await signedIn();
    const other = await place.newClient();
    const answer = await api.post('/logout', { client_id: other.clientId, refresh_token: refreshToken });
    expect(answer.statusCode).toBe(204);
    expect((await api.get('/me', bearer(token))).statusCode).toBe(200);
    const unknown = await api.post('/logout', { client_id: 'unknown', refresh_token: refreshToken });
    expect(unknown.statusCode).toBe(401);
  });
});

test('a person who was deleted after the token was checked has no profile', async () => {
  const { place, ana } = await signedIn();
  const { accountId, applicationId, environmentId } = place;
  const subject = { accountId, applicationId, environmentId, identityId: ana.id, sessionId: uuidv7() };
  expect(await createApiProfiles({ db: provider.db })(subject)).toBeNull();
});

const signedInRoutes = [
  ['GET', '/me'],
  ['GET', '/sessions'],
  ['DELETE', '/sessions/019b0000-0000-7000-8000-000000000000'],
  ['PUT', '/password'],
  ['POST', '/mfa/totp/enroll'],
  ['POST', '/mfa/totp/confirm'],
  ['POST', '/mfa/webauthn/enroll/options'],
  ['POST', '/mfa/webauthn/enroll/verify'],
  ['GET', '/mfa/factors'],
  ['DELETE', '/mfa/factors/019b0000-0000-7000-8000-000000000000'],
  ['POST', '/mfa/recovery-codes'],
] as const;

describe.each(signedInRoutes)('%s %s', (method, path) => {
  const ask = (headers: Record<string, string>) =>
    provider.app.inject({ method, url: `/v1/identity/auth${path}`, headers });

  test('is for signed-in end users only, whatever else is wrong', async () => {
    const { ana, access_token: token, client } = await signedIn();
    const tokens = createAdminTokens({ keys: provider.keys, baseUrl: provider.baseUrl, now: provider.now });
    const { accessToken: admin } = await tokens.issue({
      userId: ana.id,
      sessionId: ana.id,
      accountId: ana.accountId,
      applicationId: client.applicationId,
      authenticatedAt: provider.now(),
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
    });
    const wrongType = await ask(bearer(admin));
    expect([wrongType.statusCode, wrongType.json().error.code]).toEqual([403, null]);
    const forged = `${token.slice(0, -8)}${randomBytes(4).toString('hex')}`;
    for (const headers of [{}, bearer(forged), bearer('x'), { 'x-api-key': 'ghk_test_x' }] as Record<
      string,
      string
    >[]) {
      const refused = await ask(headers);
      expect([refused.statusCode, refused.json().error.code]).toEqual([401, null]);
      expect(refused.headers['www-authenticate']).toMatch(/^Bearer/);
    }
    expect((await ask({ ...bearer(token), 'x-api-key': 'x' })).statusCode).toBe(400);
    provider.wait(minutes(15));
    expect((await ask(bearer(token))).statusCode).toBe(401); // expired
  });
});

test('an ID token is no access token', async () => {
  const { client, ana } = await signedIn();
  const { id_token: idToken } = await tokensFor(provider.browser(), client, ana.email);
  expect((await api.get('/me', bearer(idToken))).statusCode).toBe(401);
});

describe('scripts', () => {
  const own = 'https://app.example.com'; // the redirect URI's origin
  const allowed = 'https://shop.example.com';

  async function place() {
    const environment = await provider.newEnvironment({ allowedOrigins: [allowed] });
    return { client: await environment.newClient(), ana: await environment.newIdentity() };
  }

  test.each([own, allowed])('of %s may read answers and refusals, with cookies', async (origin) => {
    const { client, ana } = await place();
    const answers = [
      await api.login(client, ana, {}, { origin }),
      await api.login(client, ana, { password: 'wrong' }, { origin }),
      await api.post('/login', { client_id: client.clientId }, { origin }),
      await api.post('/refresh', { client_id: client.clientId, refresh_token: 'x' }, { origin }),
      await api.post('/logout', { client_id: client.clientId, refresh_token: 'x' }, { origin }),
      await api.post('/password/forgot', { client_id: client.clientId, email: ana.email }, { origin }),
      await api.get('/me', { ...bearer((await api.signedIn(client, ana)).access_token), origin }),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 401, 400, 401, 204, 200, 200]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': expect.stringContaining('Retry-After'),
        vary: 'Origin',
      });
    }
  });

  test('of an expired token’s client may read that it has expired', async () => {
    const { client, ana } = await place();
    const { access_token: token } = await api.signedIn(client, ana);
    provider.wait(minutes(15));
    const refused = await api.get('/me', { ...bearer(token), origin: own });
    expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([401, own]);
  });

  test.each(['https://evil.example.com', 'null'])('of %s may read nothing', async (origin) => {
    const { client, ana } = await place();
    const { access_token: token } = await api.signedIn(client, ana);
    const answers = [await api.login(client, ana, {}, { origin }), await api.get('/me', { ...bearer(token), origin })];
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  test.each([
    ['/login', 'POST'],
    ['/sessions', 'GET, HEAD'],
    ['/sessions/x', 'DELETE'],
    ['/mfa/challenge/totp', 'POST'],
    ['/password', 'PUT'],
  ])('may send a preflight request for %s', async (path, methods) => {
    const headers = { origin: own, 'access-control-request-method': 'POST' };
    const answer = await api.options(path, headers);
    expect(answer.statusCode).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': own,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': methods,
      'access-control-allow-headers': expect.stringContaining('authorization, content-type'),
    });
  });
});

test('an unknown path is 404, a wrong method 405', async () => {
  expect((await api.get('/nothing')).statusCode).toBe(404);
  const wrong = await api.get('/login');
  expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, 'OPTIONS, POST']);
});
