import { createLocalJWKSet, jwtVerify } from 'jose';
import { createApiGrants } from '../../../src/domain/logins/api-grants.js';
import { days, hours, minutes } from '../../../src/platform/clock.js';
import { expectEqualTimes } from '../../support/equal-times.js';
import { apiOf, bearer, type LoginResult, shapeOf } from '../../support/identity-auth.js';
import { untilWaiting } from '../../support/lock-waits.js';
import { password } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { basicOf, userinfo } from '../../support/oauth/tokens.js';
import { startTurnstile } from '../../support/turnstile.js';

const provider = await newProvider();
const api = apiOf(provider);
afterAll(() => provider.close());

const claimsOf = async (token: string) => {
  const jwks = (await provider.app.inject('/.well-known/jwks.json')).json();
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(jwks), {
    issuer: provider.baseUrl,
    audience: provider.baseUrl,
    currentDate: provider.now(),
  });
  return { ...payload, typ: protectedHeader.typ } as Record<string, unknown>;
};

describe('the right password', () => {
  test('returns exactly the login result, with tokens that say how and where the person signed in', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const answer = await api.login(client, ana);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['set-cookie']).toBeUndefined();
    const { data } = answer.json() as { data: LoginResult };
    expect(data).toEqual({
      requires_application_selection: false,
      requires_mfa_challenge: false,
      expires_in: 900,
      identity: { id: ana.id, email: ana.email, first_name: 'Ana', last_name: 'Arendt' },
      access_token: expect.any(String),
      token_type: 'Bearer',
      applications: null,
      mfa_challenge: null,
      mfa_enrollment_pending: false,
      grace_expires_at: null,
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      scope: 'openid profile email',
      selection_token: null,
    });
    const at = Math.floor(provider.now().getTime() / 1000);
    expect(await claimsOf(data.access_token)).toMatchObject({
      typ: 'at+jwt',
      sub: ana.id,
      client_id: client.clientId,
      scope: 'openid profile email',
      principal_type: 'identity',
      account_id: place.accountId,
      application_id: place.applicationId,
      environment_id: place.environmentId,
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
      auth_time: at,
      exp: at + 900,
      sid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect((await userinfo(provider.app, data.access_token)).json()).toMatchObject({ sub: ana.id, email: ana.email });
    const [event] = await provider.query<{ metadata: object }>(
      `select metadata from events where action = 'identity.signed_in' and resource_id = $1`,
      [ana.id],
    );
    expect(event?.metadata).toMatchObject({ amr: ['pwd'] });
  });

  test('works for an address from before addresses were limited, and a wrong password for it is refused as usual', async () => {
    const place = await provider.newEnvironment();
    const client = await place.newClient();
    for (const email of [`${'a'.repeat(65)}@example.com`, `a@${'b'.repeat(64)}.example`, 'x@1.2.3.4']) {
      const stranger = await api.login(client, { email });
      expect((await api.signedIn(client, await place.newIdentity({ email }))).access_token).toEqual(expect.any(String));
      const wrong = await api.login(client, { email }, { password: 'something else 7' });
      expect([stranger.statusCode, shapeOf(stranger)]).toEqual([401, shapeOf(wrong)]);
    }
  });

  test('grants the requested scope, without unknown values', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const { scope, access_token: token } = await api.signedIn(client, ana, { scope: 'email admin openid' });
    expect(scope).toBe('openid email');
    expect(await claimsOf(token)).toMatchObject({ scope: 'openid email' });
    const narrow = await place.newClient({ scopes: ['email', 'org'] });
    expect((await api.signedIn(narrow, ana)).scope).toBe('email');
  });

  test('starts a new session each time', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const tokens = [await api.signedIn(client, ana), await api.signedIn(client, ana)];
    const [one, two] = await Promise.all(tokens.map(({ access_token: token }) => claimsOf(token)));
    expect(one?.sid).not.toBe(two?.sid);
  });

  test.each(['client_secret_basic', 'client_secret_post'] as const)(
    'is not enough for a client of %s that does not authenticate',
    async (method) => {
      const place = await provider.newEnvironment();
      const [client, ana] = [await place.newClient({ tokenEndpointAuthMethod: method }), await place.newIdentity()];
      const presented = (given: string): [object, Record<string, string>] =>
        method === 'client_secret_basic'
          ? [{}, { authorization: basicOf(client.clientId, given) }]
          : [{ client_secret: given }, {}];
      expect((await api.login(client, ana)).statusCode).toBe(401);
      expect((await api.login(client, ana, ...presented('wrong'))).statusCode).toBe(401);
      expect((await api.login(client, ana, ...presented(client.secret ?? ''))).statusCode).toBe(200);
    },
  );

  test('reports an unconfirmed address, and only then', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity({ emailVerifiedAt: null })];
    const told = await api.login(client, ana);
    expect([told.statusCode, told.json().error.code]).toEqual([403, 'identity.email_unverified']);
    const events = await provider.query(
      `select outcome, metadata from events where action = 'auth.identity_sign_in_failed' and resource_id = $1`,
      [ana.id],
    );
    const metadata = { method: 'password', reason: 'identity.email_unverified' };
    expect(events).toEqual([{ outcome: 'denied', metadata }]);
    expect((await api.login(client, ana, { password: 'wrong' })).json().error.code).toBeNull();
  });
});

describe('one refusal', () => {
  test('has every reason: status, headers and body do not differ', async () => {
    const place = await provider.newEnvironment();
    const elsewhere = await provider.newEnvironment();
    const off = await provider.newEnvironment({ passwordLoginEnabled: false });
    const client = await place.newClient();
    const [known, inactive, foreign, passwordless] = [
      await place.newIdentity(),
      await place.newIdentity({ isActive: false }),
      await elsewhere.newIdentity(),
      await place.newIdentity({ passwordHash: null }),
    ];
    const refused = [
      await api.login(client, { email: 'nobody@example.com' }),
      await api.login(client, known, { password: 'wrong' }),
      await api.login(client, known, { password: `${password}x`.repeat(40) }),
      await api.login(client, inactive),
      await api.login(client, foreign),
      await api.login(client, passwordless),
      await api.login(await off.newClient(), await off.newIdentity()),
      await api.login({ clientId: 'unknown' }, known),
    ].map(shapeOf);
    for (const one of refused) expect(one).toEqual(refused[0]);
    expect(refused[0]).toMatchObject({
      statusCode: 401,
      headers: { 'www-authenticate': 'Bearer' },
      error: { code: null, message: 'The credentials are not valid' },
    });
  });

  test('takes the same time, known or not', async () => {
    const place = await provider.newEnvironment();
    const client = await place.newClient();
    const [known, inactive] = [await place.newIdentity(), await place.newIdentity({ isActive: false })];
    const elsewhere = await (await provider.newEnvironment()).newIdentity();
    const wrong = () => api.login(client, known, { password: 'wrong' });
    await expectEqualTimes(wrong, () => api.login(client, { email: 'nobody@example.com' }));
    await expectEqualTimes(wrong, () => api.login(client, inactive));
    await expectEqualTimes(wrong, () => api.login(client, elsewhere));
  });

  test('is in the log of the environment, by the member’s id and without the address', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    await api.login(client, ana, { password: 'wrong' });
    await api.login(client, { email: 'nobody@example.com' });
    const rows = await provider.query<{ resource_id: string | null }>(
      `select resource_id, metadata::text from events where action = 'auth.identity_sign_in_failed' and environment_id = $1
       order by created_at`,
      [place.environmentId],
    );
    expect(rows.map(({ resource_id: id }) => id)).toEqual([ana.id, null]);
    expect(JSON.stringify(rows)).not.toContain('@');
  });
});

test('a sign-in with the old password ends if a new one is set meanwhile', async () => {
  const place = await provider.newEnvironment();
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  let signingIn: ReturnType<typeof api.login> | undefined;
  await provider.db.transaction({ accountId: place.accountId }, async (tx) => {
    const later = new Date(provider.now().getTime() + 1);
    await tx.query('update identities set password_changed_at = $2 where id = $1', [ana.id, later]);
    signingIn = api.login(client, ana);
    await untilWaiting(provider.database.ownerUrl, 1, '%identities%');
  });
  expect((await signingIn)?.statusCode).toBe(401);
  const left = await provider.query('select from sessions where identity_id = $1 and revoked_at is null', [ana.id]);
  expect(left).toHaveLength(0);
});

test.each([
  ['who is deactivated', 'update environment_memberships set is_active = false where identity_id = $1'],
  [
    'whose password is changed',
    `update identities set password_changed_at = password_changed_at + interval '1 second' where id = $1`,
  ],
])('a person %s between session and tokens gets no tokens, and the session ends', async (_, change) => {
  const place = await provider.newEnvironment();
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  const { sid } = await claimsOf((await api.signedIn(client, ana)).access_token);
  const found = await provider.provider.clients.find(client.clientId);
  if (!found) throw new Error('the client is there');
  const grants = createApiGrants({ db: provider.db, now: provider.now });
  const ended = async () => {
    const [session] = await provider.query<{ at: Date | null }>('select revoked_at as at from sessions where id = $1', [
      sid,
    ]);
    return session?.at;
  };
  expect(await grants.issue(found, String(sid), ['openid'])).toMatchObject({ granted: { sessionId: sid } });
  expect(await ended()).toBeNull();
  await provider.query(change, [ana.id]);
  expect(await grants.issue(found, String(sid), ['openid'])).toBeNull();
  expect(await ended()).toEqual(provider.now());
});

test('a missing captcha is refused before the password is verified, if the environment requires one', async () => {
  const turnstile = await startTurnstile();
  const guarded = await newProvider({ captchaUrl: turnstile.url });
  try {
    const place = await guarded.newEnvironment({ loginRequireCaptcha: true });
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const login = (more: object) => apiOf(guarded).login(client, ana, more);
    for (const more of [{}, { 'cf-turnstile-response': 'wrong' }, { password: 'wrong' }]) {
      const refused = await login(more);
      expect([refused.statusCode, refused.json().error.code]).toEqual([400, 'captcha.failed']);
    }
    expect((await login({ 'cf-turnstile-response': 'solved' })).statusCode).toBe(200);
    turnstile.behave('broken');
    const unasked = await login({ 'cf-turnstile-response': 'solved' });
    expect([unasked.statusCode, unasked.json().error.code]).toEqual([503, 'service.unavailable']);
  } finally {
    await guarded.close();
    await turnstile.close();
  }
});

test('a malformed login gets the names of its invalid fields', async () => {
  const answer = await api.post('/login', { email: 'ana', extra: 1 });
  expect(answer.statusCode).toBe(400);
  const fields = answer.json().error.details.map(({ field }: { field: string }) => field);
  expect(fields.sort()).toEqual(['client_id', 'email', 'extra', 'password']);
});

test('an additional API key is refused', async () => {
  const answer = await api.post('/login', {}, { authorization: 'Bearer x', 'x-api-key': 'y' });
  expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'auth.multiple_credentials']);
});

describe('where a second factor is required and none is enrolled', () => {
  const policy = { mfaPolicy: 'required', mfaGracePeriodDays: 7 } as const;

  test('the session is complete while the grace runs, and reports its end', async () => {
    const place = await provider.newEnvironment(policy);
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const first = await api.signedIn(client, ana);
    expect(first).toMatchObject({
      mfa_enrollment_pending: true,
      grace_expires_at: new Date(provider.now().getTime() + days(7)).toISOString(),
      requires_mfa_challenge: false,
    });
    expect((await api.get('/me', bearer(first.access_token))).statusCode).toBe(200);
    provider.wait(days(6));
    const later = await api.signedIn(client, ana);
    expect(later).toMatchObject({ mfa_enrollment_pending: true, grace_expires_at: first.grace_expires_at });
  });

  test('the sign-in is refused when the grace is over, until an admin resets it', async () => {
    const place = await provider.newEnvironment(policy);
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    await api.signedIn(client, ana);
    provider.wait(days(7));
    const refused = await api.login(client, ana);
    expect([refused.statusCode, refused.json().error.code]).toEqual([403, 'mfa.enrollment_required']);
    const events = await provider.query(
      `select metadata from events where action = 'auth.identity_sign_in_failed' and resource_id = $1`,
      [ana.id],
    );
    expect(events).toEqual([{ metadata: { method: 'password', reason: 'mfa.enrollment_required' } }]);
    expect((await api.login(client, ana, { password: 'wrong' })).statusCode).toBe(401);
    await provider.logins.mfaReset(place, ana.id);
    expect(await api.signedIn(client, ana)).toMatchObject({ mfa_enrollment_pending: true });
  });

  test('the sign-in is refused at once if there is no grace', async () => {
    const place = await provider.newEnvironment({ ...policy, mfaGracePeriodDays: 0 });
    const refused = await api.login(await place.newClient(), await place.newIdentity());
    expect([refused.statusCode, refused.json().error.code]).toEqual([403, 'mfa.enrollment_required']);
    const [event] = await provider.query<{ outcome: string; metadata: object }>(
      `select outcome, metadata from events where action = 'auth.identity_sign_in_failed' and environment_id = $1`,
      [place.environmentId],
    );
    expect(event).toEqual({ outcome: 'denied', metadata: { method: 'password', reason: 'mfa.enrollment_required' } });
  });
});

describe('refresh', () => {
  test('rotates the token of a public client, and ends the grant when a used one is presented again', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const { refresh_token: first, access_token: before } = await api.signedIn(client, ana);
    const again = (token: string) => api.post('/refresh', { client_id: client.clientId, refresh_token: token });
    const { data } = (await again(first)).json();
    expect(data).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 900,
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      scope: 'openid profile email',
    });
    expect(data.refresh_token).not.toBe(first);
    expect((await claimsOf(data.access_token)).sid).toBe((await claimsOf(before)).sid);
    expect((await again(first)).json().data.refresh_token).toBe(data.refresh_token); // a lost answer
    provider.wait(minutes(1));
    expect((await again(first)).statusCode).toBe(401);
    expect((await again(data.refresh_token)).statusCode).toBe(401);
    expect((await api.get('/me', bearer(data.access_token))).statusCode).toBe(401);
  });

  test('narrows the requested scope, and never widens it', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const { refresh_token: token } = await api.signedIn(client, ana, { scope: 'openid email' });
    const ask = (scope: string) => api.post('/refresh', { client_id: client.clientId, refresh_token: token, scope });
    const wide = await ask('openid profile');
    expect([wide.statusCode, wide.json().error.details[0].field]).toEqual([400, 'scope']);
    expect((await ask('email')).json().data.scope).toBe('email');
    expect((await ask('openid email offline_access')).json().data.scope).toBe('openid email');
  });

  test.each([
    [
      'of another client',
      async (own: { newClient(): Promise<{ clientId: string }> }) => (await own.newClient()).clientId,
    ],
    ['of an unknown client', async () => 'unknown'],
  ])('is refused for a token %s', async (_, other) => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const { refresh_token: token } = await api.signedIn(client, ana);
    const refused = await api.post('/refresh', { client_id: await other(place), refresh_token: token });
    expect([refused.statusCode, refused.json().error.code]).toEqual([401, null]);
    const own = await api.post('/refresh', { client_id: client.clientId, refresh_token: token });
    expect(own.statusCode).toBe(200); // not affected
  });

  test('ends with the membership', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const { refresh_token: token } = await api.signedIn(client, ana);
    await provider.query('update environment_memberships set is_active = false where identity_id = $1', [ana.id]);
    const refused = await api.post('/refresh', { client_id: client.clientId, refresh_token: token });
    expect(refused.statusCode).toBe(401);
  });

  test('the token endpoint accepts the same token', async () => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const { refresh_token: token } = await api.signedIn(client, ana);
    const answer = await provider.app.inject({
      method: 'POST',
      url: '/oauth/token',
      payload: { grant_type: 'refresh_token', client_id: client.clientId, refresh_token: token },
    });
    expect(answer.json()).toMatchObject({ token_type: 'Bearer', id_token: expect.any(String) });
  });
});

test('a session survives its own lifetime by its refresh token', async () => {
  const place = await provider.newEnvironment();
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  const { refresh_token: token } = await api.signedIn(client, ana);
  provider.wait(hours(13));
  const { data } = (await api.post('/refresh', { client_id: client.clientId, refresh_token: token })).json();
  const listed = (await api.get('/sessions', bearer(data.access_token))).json();
  expect(listed.items).toMatchObject([{ current: true }]);
});
