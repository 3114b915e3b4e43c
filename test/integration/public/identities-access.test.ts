import { v7 as uuidv7 } from 'uuid';
import { newMember } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { plantFactors } from '../../support/credentials.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { newPublicClient } from '../../support/public-client.js';
import { rowsOf } from '../../support/rows.js';
import { statementsOf } from '../../support/statements.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let support: Record<string, string>;
let viewer: Record<string, string>;
let clientId: string;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  support = await account.as('support');
  viewer = await account.as('viewer');
  ({ clientId } = await newPublicClient(api, account.scope));
});
afterAll(() => api.stop());

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
const call = (method: Method, path: string, status: number, payload?: object, headers = key) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
const inPortal = (method: Method, path: string, status: number, payload?: object, headers = support) =>
  send(api.app, status, { method, url: account.portalPath(path), headers, ...(payload && { payload }) });
const password = 'a passphrase of somebody';
const person = async (body: object = {}) => {
  const email = `${uuidv7()}@example.com`;
  const wanted = { email, password, email_verified: true, ...body };
  return { id: (await call('POST', '/identities', 201, wanted)).json().data.id as string, email };
};
const login = (email: string, status: number, secret = password) =>
  send(api.app, status, {
    method: 'POST',
    url: '/v1/identity/auth/login',
    payload: { client_id: clientId, email, password: secret },
  });
const signedIn = async (email: string) => {
  const { access_token, refresh_token } = (await login(email, 200)).json().data;
  return { headers: { authorization: `Bearer ${access_token}` }, refresh_token };
};
const switchPasswords = (passwordLoginEnabled: boolean) =>
  rowsOf(api, 'update environment_settings set password_login_enabled = $2 where environment_id = $1', [
    account.scope.environmentId,
    passwordLoginEnabled,
  ]);
const me = (status: number, headers: Record<string, string>) =>
  send(api.app, status, { url: '/v1/identity/auth/me', headers });
const eventsOf = (id: string) =>
  rowsOf<{ action: string; actor_type: string }>(
    api,
    'select action, actor_type from events where resource_id = $1 order by id',
    [id],
  );
const mailsTo = (template: string, id: string) =>
  rowsOf(
    api,
    `select template from emails where template = $1 and (subject_id::text in (select id::text from environment_memberships where identity_id = $2)
       or subject_id::text in (select id::text from identity_links where identity_id = $2)
       or subject_id::text in (select id::text from events where resource_id = $2::text))`,
    [template, id],
  );

test('a deactivated person is signed out at once and stays out; activated, they can sign in again', async () => {
  const { id, email } = await person();
  const { headers, refresh_token } = await signedIn(email);
  await me(200, headers);
  expect((await call('POST', `/identities/${id}/deactivate`, 200)).json().data.is_active).toBe(false);
  await me(401, headers);
  await login(email, 401);
  await call('POST', `/identities/${id}/deactivate`, 200);
  expect((await inPortal('POST', `/identities/${id}/activate`, 200)).json().data.is_active).toBe(true);
  await me(401, headers);
  const refresh = { method: 'POST', url: '/v1/identity/auth/refresh', payload: { client_id: clientId, refresh_token } };
  expect((await api.app.inject(refresh as never)).statusCode).toBe(401);
  await me(200, (await signedIn(email)).headers);
  const recorded = (await eventsOf(id)).map(({ action }) => action);
  expect(recorded.filter((action) => /activated|revoked/.test(action))).toEqual([
    'identity.sessions_revoked',
    'identity.deactivated',
    'identity.activated',
  ]);
  const revoked = (await eventsOf(id)).find(({ action }) => action === 'identity.sessions_revoked');
  expect(revoked?.actor_type).toBe('api_key');
});

test('a change of its state is a change of the identity, and the same state again is none', async () => {
  const { id } = await person();
  const said = async (verb: string) => {
    api.clock.advance(1000);
    const { updated_at } = (await call('POST', `/identities/${id}/${verb}`, 200)).json().data;
    return updated_at === api.clock.now.toISOString();
  };
  expect([await said('activate'), await said('deactivate'), await said('deactivate')]).toEqual([false, true, false]);
  expect(await said('activate')).toBe(true);
});

test('a password that is set is the only one, ends all sessions, and has an event', async () => {
  const { id, email } = await person();
  const { headers } = await signedIn(email);
  const next = 'another passphrase altogether';
  await call('PUT', `/identities/${id}/password`, 200, { password: next });
  await me(401, headers);
  await login(email, 401);
  await login(email, 200, next);
  expect(await mailsTo('identity-password-changed', id)).toHaveLength(1);
  const changed = (await eventsOf(id)).find(({ action }) => action === 'identity.password_changed');
  expect(changed?.actor_type).toBe('api_key');
  const short = await call('PUT', `/identities/${id}/password`, 400, { password: 'short' });
  expect(short.json().error.details[0].code).toBe('password.too_short');
  const guessable = await call('PUT', `/identities/${id}/password`, 400, { password: email });
  expect(guessable.json().error.code).toBe('password.context_specific');
  const newcomer = { email: 'josefine.kern@example.com', password: 'Josefine-Kern-1' };
  const unmade = await call('POST', '/identities', 400, newcomer);
  expect(unmade.json().error.code).toBe('password.context_specific');
});

test('a forced reset removes the password and all sessions, and mails a link', async () => {
  const { id, email } = await person();
  const { headers } = await signedIn(email);
  await inPortal('POST', `/identities/${id}/password/reset`, 200);
  await me(401, headers);
  await login(email, 401);
  expect(await mailsTo('identity-password-reset', id)).toHaveLength(1);
  expect((await call('GET', `/identities/${id}/auth-state`, 200)).json().data.has_password).toBe(false);
  const named = await call('POST', `/identities/${id}/password/reset`, 404, { client_id: 'nobody' });
  expect(named.json().error.code).toBe('oauth_client.not_found');
  await call('POST', `/identities/${id}/password/reset`, 200, { client_id: clientId });
});

test.each<[string, (id: string) => Promise<unknown>]>([
  ['a deactivated person', (id) => inPortal('POST', `/identities/${id}/deactivate`, 200)],
  ['a person in an environment without passwords', () => switchPasswords(false)],
])('a forced reset for %s removes the password, and mails no link, as it would not work', async (_name, prepare) => {
  const { id } = await person();
  await prepare(id);
  try {
    await inPortal('POST', `/identities/${id}/password/reset`, 200);
  } finally {
    await switchPasswords(true);
  }
  expect((await call('GET', `/identities/${id}/auth-state`, 200)).json().data.has_password).toBe(false);
  expect(await mailsTo('identity-password-reset', id)).toEqual([]);
  const links = await rowsOf(api, 'select from identity_links where identity_id = $1', [id]);
  expect(links).toEqual([]);
});

test('sessions are listed, and ended one by one or all at once', async () => {
  const { id, email } = await person();
  const [one, two, three] = [await signedIn(email), await signedIn(email), await signedIn(email)];
  const path = `/identities/${id}/sessions`;
  const { items, pagination } = (await call('GET', `${path}?order=asc`, 200)).json();
  expect(pagination.item_count).toBe(3);
  expect(items[0]).toEqual({
    id: expect.any(String),
    authenticated_at: expect.any(String),
    created_at: expect.any(String),
    expires_at: expect.any(String),
    ip_address: expect.any(String),
    user_agent: expect.anything(),
  });
  await call('DELETE', `${path}/${items[0].id}`, 204);
  await call('DELETE', `${path}/${items[0].id}`, 404);
  await me(401, one.headers);
  await me(200, two.headers);
  const other = await person();
  await call('DELETE', `/identities/${other.id}/sessions/${items[1].id}`, 404);
  await me(200, two.headers);
  await inPortal('DELETE', path, 204);
  await me(401, two.headers);
  await me(401, three.headers);
  expect((await call('GET', path, 200)).json().items).toEqual([]);
  await call('DELETE', path, 204);
});

test('an address is marked as verified, once', async () => {
  const { id, email } = await person({ email_verified: false });
  await login(email, 403);
  const path = `/identities/${id}/email/verify`;
  expect((await call('POST', path, 200)).json().data.email_verified).toBe(true);
  await inPortal('POST', path, 200);
  await login(email, 200);
  const verified = (await eventsOf(id)).filter(({ action }) => action === 'identity.email_verified');
  expect(verified).toHaveLength(1);
});

test('the state of sign-ins is shown', async () => {
  const { id, email } = await person();
  const path = `/identities/${id}/auth-state`;
  expect((await call('GET', path, 200)).json().data).toEqual({
    has_password: true,
    password_changed_at: expect.any(String),
    email_verified: true,
    mfa_enrolled: false,
    grace_expires_at: null,
    last_login_at: null,
    locked_until: null,
    sso_connections: [],
  });
  await login(email, 200);
  expect((await inPortal('GET', path, 200, undefined, viewer)).json().data.last_login_at).toEqual(expect.any(String));
});

test('the grace is shown as the sign-in shows it, and not once no policy requires a factor', async () => {
  const { id, email } = await person();
  const { id: organization } = (await call('POST', '/organizations', 201, { name: uuidv7() })).json().data;
  await call('POST', `/organizations/${organization}/members`, 201, { identity_id: id });
  const requireMfa = async (required: boolean, version: number) =>
    send(api.app, 200, {
      method: 'PUT',
      url: `/api/v1/organizations/${organization}/authentication-policy`,
      headers: { ...key, 'if-match': `${version}` },
      payload: { allowed_methods: null, require_mfa: required, require_sso: false, session_ttl_seconds: null },
    });
  const told = async () => ({
    atSignIn: (await login(email, 200)).json().data.grace_expires_at,
    inState: (await call('GET', `/identities/${id}/auth-state`, 200)).json().data.grace_expires_at,
  });
  const none = { atSignIn: null, inState: null };
  await requireMfa(true, 1);
  const until = await told();
  expect(until).toEqual({ atSignIn: expect.any(String), inState: until.atSignIn });
  await requireMfa(false, 2);
  expect(await told()).toEqual(none);
  await requireMfa(true, 3);
  expect(await told()).toEqual(until);
  await call('DELETE', `/organizations/${organization}/members/${id}`, 204);
  expect(await told()).toEqual(none);
});

test('the providers by which a person signs in are shown, of this Environment alone', async () => {
  const { id } = await person();
  const owner = await account.as('owner');
  const body = (name: string) => ({
    type: 'oidc',
    name,
    oidc_discovery_url: 'https://idp.example/.well-known/openid-configuration',
    oidc_client_id: 'gatehouse',
    oidc_client_secret: 'a secret of thirty-two characters',
  });
  const linked: { id: string; at: string }[] = [];
  for (const [environment, name] of [
    ['development', 'Acme Entra'],
    ['development', 'Acme Okta'],
    ['production', 'Elsewhere'],
  ]) {
    const url = account.portalPath('/sso-connections', environment);
    const made = await send(api.app, 201, { method: 'POST', url, headers: owner, payload: body(name as string) });
    const connection = made.json().data.connection.id as string;
    const at = `2026-01-0${linked.length + 1}T00:00:00.000Z`;
    linked.push({ id: connection, at });
    if (name === 'Acme Okta') continue; // nobody has signed in by it yet
    await rowsOf(
      api,
      `insert into sso_links (id, account_id, connection_id, subject, identity_id, created_at, last_login_at)
       values ($1, $2, $3, 'ana', $4, $5::timestamptz, $5::timestamptz + interval '1 hour')`,
      [uuidv7(), account.scope.accountId, connection, id, at],
    );
  }
  const state = await call('GET', `/identities/${id}/auth-state`, 200);
  expect(state.json().data.sso_connections).toEqual([
    {
      id: linked[0]?.id,
      organization_id: null,
      type: 'oidc',
      name: 'Acme Entra',
      status: 'configuring',
      linked_at: '2026-01-01T00:00:00.000Z',
      last_login_at: '2026-01-01T01:00:00.000Z',
    },
  ]);
});

test('second factors are shown without secrets, and removed with codes and trusted devices', async () => {
  const { id } = await person();
  const { accountId, environmentId } = account.scope;
  const factor = uuidv7();
  await rowsOf(
    api,
    `insert into mfa_factors (id, account_id, identity_id, type, label, secret, enrolled_at)
     values ($1, $2, $3, 'totp', 'My phone', 'sealed-secret', now())`,
    [factor, accountId, id],
  );
  await rowsOf(api, 'update identities set recovery_codes_generation = 2 where id = $1', [id]);
  for (const [code, used] of [
    ['a', null],
    ['b', new Date()],
  ]) {
    await rowsOf(
      api,
      `insert into recovery_codes (id, account_id, identity_id, generation, code_hash, created_at, used_at)
       values ($1, $2, $3, 2, $4, now(), $5)`,
      [uuidv7(), accountId, id, Buffer.from(code as string), used],
    );
  }
  await rowsOf(
    api,
    `insert into trusted_devices (id, account_id, environment_id, identity_id, device_hash, created_at, last_used_at, expires_at)
     values ($1, $2, $3, $4, 'x', now(), now(), now() + interval '1 day')`,
    [uuidv7(), accountId, environmentId, id],
  );
  const path = `/identities/${id}/mfa`;
  const shown = await inPortal('GET', path, 200, undefined, viewer);
  expect(shown.body).not.toContain('sealed-secret');
  expect(shown.json().data).toEqual({
    factors: [
      {
        id: factor,
        type: 'totp',
        label: 'My phone',
        enrolled_at: expect.any(String),
        last_used_at: null,
        signs_in: false,
      },
    ],
    recovery_codes_generation: 2,
    recovery_codes_remaining: 1,
    mfa_admin_reset_at: null,
  });
  expect((await call('POST', `${path}/reset`, 200)).json().data).toEqual({
    factors: [],
    recovery_codes_generation: 2,
    recovery_codes_remaining: 0,
    mfa_admin_reset_at: expect.any(String),
  });
  expect(await rowsOf(api, 'select 1 from trusted_devices where identity_id = $1', [id])).toEqual([]);
  expect(await eventsOf(id)).toContainEqual({ action: 'identity.mfa_reset', actor_type: 'api_key' });
  expect(await mailsTo('security-notice', id)).toHaveLength(1);
});

test('a password that the application sets or removes makes keys second factors', async () => {
  const { id } = await person();
  await plantFactors((text, values) => rowsOf(api, text, values), id);
  const signsIn = async (): Promise<boolean[]> =>
    (await call('GET', `/identities/${id}/mfa`, 200))
      .json()
      .data.factors.map((one: { signs_in: boolean }) => one.signs_in);
  const changes = [
    () => call('PUT', `/identities/${id}/password`, 200, { password: 'another passphrase of theirs' }),
    () => call('POST', `/identities/${id}/password/reset`, 200),
    () => inPortal('PUT', `/identities/${id}/password`, 200, { password }),
  ];
  for (const change of changes) {
    await rowsOf(api, 'update mfa_factors set signs_in = true where identity_id = $1', [id]);
    expect(await signsIn()).toEqual([true]);
    await change();
    expect(await signsIn()).toEqual([false]);
  }
});

test('the summary counts what exists', async () => {
  const own = await newAccount(api);
  const headers = await own.apiKey();
  const summary = async () => (await call('GET', '/identities/summary', 200, undefined, headers)).json().data;
  expect(await summary()).toEqual({ total: 0, active: 0, inactive: 0, unverified: 0, mfa_enrolled: 0 });
  const make = async (email_verified: boolean) =>
    (await call('POST', '/identities', 201, { email: `${uuidv7()}@example.com`, email_verified }, headers)).json().data
      .id;
  const [id] = [await make(true), await make(true), await make(false)];
  await call('POST', `/identities/${id}/deactivate`, 200, undefined, headers);
  expect(await summary()).toEqual({ total: 3, active: 2, inactive: 1, unverified: 1, mfa_enrolled: 0 });
});

test('applications with access are listed with their scopes, and their access can be ended', async () => {
  const { id, email } = await person();
  const { accountId, environmentId } = account.scope;
  const one = await signedIn(email);
  await rowsOf(
    api,
    `insert into consents (identity_id, oauth_client_id, account_id, environment_id, scope, created_at, updated_at)
     select $1, id, account_id, environment_id, '{openid,email}', now(), now() from oauth_clients
     where account_id = $2 and environment_id = $3 and client_id = $4`,
    [id, accountId, environmentId, clientId],
  );
  const path = `/identities/${id}/applications`;
  const { items } = (await call('GET', path, 200)).json();
  expect(items).toEqual([
    {
      oauth_client_id: expect.any(String),
      client_id: clientId,
      name: 'Test client',
      since: expect.any(String),
      scopes: ['openid', 'email'],
    },
  ]);
  const other = await person();
  await signedIn(other.email);
  expect((await call('GET', `/identities/${other.id}/applications`, 200)).json().items).toMatchObject([
    { client_id: clientId, scopes: null },
  ]);
  const itself = `${path}/${items[0].oauth_client_id}`;
  await inPortal('DELETE', itself, 204);
  await me(401, one.headers);
  expect((await call('GET', path, 200)).json().items).toEqual([]);
  expect(outcomeOf(await call('DELETE', itself, 404))).toBe('404 application.not_found');
  expect((await eventsOf(id)).at(-1)).toEqual({ action: 'identity.consent_withdrawn', actor_type: 'platform_admin' });
  const reasons = 'select revoked_reason from grants where identity_id = any($1) order by revoked_reason nulls last';
  expect(await rowsOf(api, reasons, [[id, other.id]])).toEqual([
    { revoked_reason: 'revoked_by_administrator' },
    { revoked_reason: null },
  ]);
});

describe('permissions', () => {
  test.each([
    ['POST', '/activate', 'manage'],
    ['POST', '/deactivate', 'manage'],
    ['PUT', '/password', 'manage'],
    ['POST', '/password/reset', 'manage'],
    ['GET', '/sessions', 'manage'],
    ['DELETE', '/sessions', 'manage'],
    ['DELETE', `/sessions/${uuidv7()}`, 'manage'],
    ['GET', '/applications', 'manage'],
    ['DELETE', `/applications/${uuidv7()}`, 'manage'],
    ['POST', '/email/verify', 'manage'],
    ['POST', '/mfa/reset', 'manage'],
    ['GET', '/mfa', 'view'],
    ['GET', '/auth-state', 'view'],
  ] as const)('%s /identities/{id}%s', async (method, path, right) => {
    const { id } = await person({ password: null });
    const url = `/identities/${id}${path}`;
    const body = method === 'PUT' ? { password: 'a passphrase that is new' } : undefined;
    await call(method, url, 401, body, {});
    const narrow = await account.apiKey([right === 'manage' ? 'identity.view' : 'hierarchy.view']);
    expect(outcomeOf(await call(method, url, 403, body, narrow))).toBe('403 api_key.scope_required');
    const nobody = await newIdentityCaller(api, account);
    expect(outcomeOf(await call(method, url, 403, body, nobody.headers))).toBe('403 permission.required');
    if (right === 'manage') {
      expect(outcomeOf(await inPortal(method, url, 403, body, viewer))).toBe('403 account.capability_required');
    }
    const neighbour = await (await newAccount(api)).apiKey();
    expect(outcomeOf(await call(method, url, 404, body, neighbour))).toBe('404 identity.not_found');
    if (method === 'PUT') expect(outcomeOf(await call(method, url, 404, {}, neighbour))).toBe('404 identity.not_found');
  });
});

describe('a caller with fewer permissions cannot take over a person with more', () => {
  const strong = async () => {
    const { id } = await person();
    const roles = (await call('GET', '/roles?source=system&q=Administrator', 200)).json().items;
    await call('POST', `/identities/${id}/role-assignments`, 201, { role_id: roles[0].id });
    return id;
  };
  const takeOvers = (id: string) =>
    [
      ['PUT', `/identities/${id}/password`, { password: 'another passphrase of mine' }],
      ['PATCH', `/identities/${id}`, { email: `${uuidv7()}@example.com`, email_verified: true }],
      ['POST', `/identities/${id}/mfa/reset`, undefined],
      ['POST', `/identities/${id}/unlock`, undefined],
    ] as const;

  test('a key with scopes, and an end user with identity.manage alone, are refused', async () => {
    const id = await strong();
    const narrow = await account.apiKey(['identity.view', 'identity.manage']);
    await call('POST', '/roles', 201, { name: 'Helper', permission_keys: ['identity.view', 'identity.manage'] });
    const helper = await newIdentityCaller(api, account, [{ role: 'Helper' }]);
    for (const [method, path, payload] of takeOvers(id)) {
      for (const headers of [narrow, helper.headers]) {
        const refused = await call(method, path, 403, payload, headers);
        expect(refused.json().error.code).toBe('identity.holds_more');
      }
    }
    // Another caller could reactivate a disabled role without knowing of this.
    const { id: off } = await person();
    const role = { name: 'Off', permission_keys: ['rbac.assign_roles'], is_active: false };
    const { id: role_id } = (await call('POST', '/roles', 201, role)).json().data;
    await call('POST', `/identities/${off}/role-assignments`, 201, { role_id });
    const [method, path, payload] = takeOvers(off)[0];
    const late = await call(method, path, 403, payload, helper.headers);
    expect(late.json().error.code).toBe('identity.holds_more');
    await call('PATCH', `/identities/${id}`, 200, { first_name: 'Ada' }, helper.headers);
    // The external id is set by the developers' own system, with its key, and not by an end user.
    const named = { external_id: `crm-${uuidv7()}` };
    const refused = await call('PATCH', `/identities/${id}`, 403, named, helper.headers);
    expect(refused.json().error.code).toBe('identity.holds_more');
    await call('PATCH', `/identities/${id}`, 200, named, narrow);
  });

  test('nor a person to whom a pending invite offers more permissions: accepting it requires no password of a person who has one', async () => {
    const { id, email } = await person();
    const outcomes = async (headers: Record<string, string>, path = (at: string) => `/api/v1${at}`) => {
      const answers = new Set<string>();
      for (const [method, at, payload] of takeOvers(id).filter(([, , body]) => !(body && 'email' in body)))
        answers.add(outcomeOf(await api.app.inject({ method, url: path(at), headers, ...(payload && { payload }) })));
      return [...answers];
    };
    const refused = ['403 identity.holds_more'];
    const helping = ['identity.view', 'identity.manage'];
    await call('POST', '/roles', 201, { name: 'Helps', permission_keys: helping });
    const helper = (await newIdentityCaller(api, account, [{ role: 'Helps' }])).headers;
    const narrow = await account.apiKey(helping);
    const role = { name: uuidv7(), permission_keys: ['rbac.assign_roles'] };
    const { id: roleId } = (await call('POST', '/roles', 201, role)).json().data;
    const { id: acme } = (await call('POST', '/organizations', 201, { name: uuidv7() })).json().data;
    const invitations = `/organizations/${acme}/invitations`;
    const { data: offer } = (await call('POST', invitations, 201, { email, role_ids: [roleId] })).json();
    for (const headers of [helper, narrow]) expect(await outcomes(headers)).toEqual(refused);
    expect(await outcomes(support, account.portalPath)).toEqual(['200']); // at an organization, where a help desk helps
    await call('DELETE', `${invitations}/${offer.id}`, 204);
    for (const headers of [helper, narrow]) expect(await outcomes(headers)).toEqual(['200']);

    const production = (path: string) => account.portalPath(path, 'production');
    const owner = await account.as('owner');
    const roles = await send(api.app, 200, { url: production('/roles?q=Administrator'), headers: owner });
    const payload = { email, role_id: roles.json().items[0].id };
    await send(api.app, 201, { method: 'POST', url: production('/identity-invites'), headers: owner, payload });
    for (const headers of [helper, narrow]) expect(await outcomes(headers)).toEqual(refused);
    expect(await outcomes(support, account.portalPath)).toEqual(refused);
    expect(await outcomes(await account.as('admin'), account.portalPath)).toEqual(['200']);
    // It has expired, whether or not its row says so.
    await rowsOf(api, 'update identity_invites set expires_at = $2 where email = $1', [email, api.clock.now]);
    expect(await outcomes(narrow)).toEqual(['200']);
  });

  test('nor from another Environment, by a caller without permissions where the person manages people', async () => {
    const production = { scope: account.productionScope };
    const outcomes = async (of: string, headers: Record<string, string>, path: (path: string) => string) => {
      const answers = new Set<string>();
      for (const [method, at, payload] of takeOvers(of))
        answers.add(outcomeOf(await api.app.inject({ method, url: path(at), headers, ...(payload && { payload }) })));
      return [...answers];
    };
    const publicly = (path: string) => `/api/v1${path}`;
    const portal = (path: string) => account.portalPath(path, 'production');
    /** Creates a person who manages people in development, and is an ordinary member of production. */
    const elsewhere = async () => {
      const id = await strong();
      const [row] = await rowsOf<{ email: string }>(api, `select email::text from identities where id = '${id}'`);
      const joined = {
        method: 'POST',
        url: portal('/identities'),
        headers: support,
        payload: { email: row?.email },
      } as const;
      await send(api.app, 201, joined);
      return id;
    };
    const keyed = async (accessMode: 'full' | 'scoped') => {
      const by = { type: 'api_key', accessMode: 'full' };
      const scopes = accessMode === 'full' ? [] : ['identity.view', 'identity.manage'];
      const wanted = { name: accessMode, description: null, accessMode, scopes: scopes as never, expiresAt: null };
      const { secret } = await api.services.apiKeyManagement.create(production.scope, by as never, wanted);
      return { 'x-api-key': secret };
    };
    const id = await elsewhere();
    const admin = await newIdentityCaller(api, production, [{ role: 'Administrator' }]);
    const limits = { environment_ids: [account.productionScope.environmentId] };
    const limited = (await newMember(api, account, 'support', undefined, limits)).headers;
    const refused = ['403 identity.holds_more'];
    expect(await outcomes(id, await keyed('scoped'), publicly)).toEqual(refused);
    expect(await outcomes(id, admin.headers, publicly)).toEqual(refused);
    expect(await outcomes(id, limited, portal)).toEqual(refused);
    // A help desk holds none of the permissions of an Environment's administrator.
    expect(await outcomes(id, support, portal)).toEqual(refused);
    expect(await outcomes(id, await account.as('admin'), portal)).toEqual(['200']);
    expect(await outcomes(await elsewhere(), await keyed('full'), publicly)).toEqual(['200']);
    // Over an ordinary member elsewhere they keep their power.
    const { id: ordinary, email } = await person();
    await send(api.app, 201, { method: 'POST', url: portal('/identities'), headers: support, payload: { email } });
    expect(await outcomes(ordinary, limited, portal)).toEqual(['200']);
  });

  test('nor change their own sign-in with just a token: they need a recent sign-in, as on the account page', async () => {
    await call('POST', '/roles', 201, { name: 'People', permission_keys: ['identity.view', 'identity.manage'] });
    const own = await newIdentityCaller(api, account, [{ role: 'People' }]);
    const refuse = async (headers: Record<string, string>) => {
      for (const [method, path, payload] of takeOvers(own.id)) {
        const refused = await call(method, path, 403, payload, headers);
        expect(refused.json().error.code).toBe('auth.reauthentication_required');
      }
    };
    api.clock.advance(11 * 60_000);
    await refuse(own.headers);
    await call('PATCH', `/identities/${own.id}`, 200, { first_name: 'Ada' }, own.headers);
    const { access_token } = (await login(own.email, 200, own.password)).json().data;
    const recent = { authorization: `Bearer ${access_token}` };
    const [password, , factors, lock] = takeOvers(own.id);
    for (const [method, path, payload] of [factors, lock]) await call(method, path, 200, payload, recent);
    // A password alone removes no factor, here as in a person's own account.
    await rowsOf(
      api,
      `insert into mfa_factors (id, account_id, identity_id, type, label, secret, enrolled_at)
       values ($1, $2, $3, 'totp', 'My phone', 'sealed-secret', now())`,
      [uuidv7(), account.scope.accountId, own.id],
    );
    await refuse(recent);
    await call('POST', `/identities/${own.id}/mfa/reset`, 200);
    await call(password[0], password[1], 200, password[2], recent);
  });

  test('they change everyone else, and so does a caller with as many permissions', async () => {
    const { id } = await person();
    const narrow = await account.apiKey(['identity.view', 'identity.manage']);
    for (const [method, path, payload] of takeOvers(id)) await call(method, path, 200, payload, narrow);
    const admin = await newIdentityCaller(api, account, [{ role: 'Administrator' }]);
    for (const [method, path, payload] of takeOvers(await strong()))
      await call(method, path, 200, payload, admin.headers);
    const portalAdmin = await account.as('admin');
    for (const [method, path, payload] of takeOvers(await strong()))
      await inPortal(method, path, 200, payload, portalAdmin);
  });

  test('a help desk helps managers of organizations and people who only read, and takes over nobody with more permissions in all of the Environment', async () => {
    const outcomes = async (id: string, headers = support) => {
      const answers = new Set<string>();
      for (const [method, at, payload] of takeOvers(id)) {
        const url = account.portalPath(at);
        answers.add(outcomeOf(await api.app.inject({ method, url, headers, ...(payload && { payload }) })));
      }
      return [...answers];
    };
    const refused = ['403 identity.holds_more'];
    const holding = async (roleId: string, nodeId?: string) => {
      const { id } = await person();
      await call('POST', `/identities/${id}/role-assignments`, 201, {
        role_id: roleId,
        ...(nodeId && { node_id: nodeId }),
      });
      return id;
    };
    const system = async (name: string) =>
      (await call('GET', `/roles?source=system&q=${name}`, 200)).json().items[0].id;
    const custom = async (...keys: string[]) =>
      (await call('POST', '/roles', 201, { name: uuidv7(), permission_keys: keys })).json().data.id;
    const { id: acme } = (await call('POST', '/organizations', 201, { name: uuidv7() })).json().data;
    const manager = await system('Organization manager');
    expect(await outcomes(await holding(manager, acme))).toEqual(['200']);
    expect(await outcomes(await holding(manager))).toEqual(refused);
    expect(await outcomes(await holding(await system('Viewer')))).toEqual(['200']);
    const [people, keys] = [await custom('identity.manage'), await custom('api_key.manage')];
    expect(await outcomes(await holding(people))).toEqual(['200']);
    const strongOne = await holding(keys);
    expect(await outcomes(strongOne)).toEqual(refused);
    // A caller with that permission there can help, and only there.
    const url = `/portal/v1/accounts/${account.accountSlug}/administrator-roles`;
    const payload = { name: uuidv7(), capabilities: ['identities.view', 'identities.manage', 'env_api_keys.manage'] };
    const made = await send(api.app, 201, { method: 'POST', url, headers: await account.as('owner'), payload });
    const roleId = made.json().data.id;
    const there = { environment_ids: [account.scope.environmentId] };
    const beside = { environment_ids: [account.productionScope.environmentId] };
    expect(await outcomes(strongOne, (await newMember(api, account, { roleId })).headers)).toEqual(['200']);
    expect(await outcomes(strongOne, (await newMember(api, account, { roleId }, undefined, there)).headers)).toEqual([
      '200',
    ]);
    const elsewhere = (await newMember(api, account, { roleId }, undefined, beside)).headers;
    expect(await outcomes(strongOne, elsewhere)).toEqual(['404 environment.not_found']);
  });
});

describe('a test Environment does not reach into production', () => {
  const changes = (id: string) =>
    [
      ['PATCH', `/identities/${id}`, { first_name: 'Ada' }],
      ['PATCH', `/identities/${id}`, { email: `${uuidv7()}@example.com`, email_verified: true }],
      ['PUT', `/identities/${id}/password`, { password: 'another passphrase of mine' }],
      ['POST', `/identities/${id}/password/reset`, undefined],
      ['POST', `/identities/${id}/email/verify`, undefined],
      ['POST', `/identities/${id}/mfa/reset`, undefined],
      ['POST', `/identities/${id}/unlock`, undefined],
    ] as const;
  /** Creates a person in production; for development's keys they do not exist until they have joined it. */
  const productive = async () => {
    const email = `${uuidv7()}@example.com`;
    const url = account.portalPath('/identities', 'production');
    const made = await send(api.app, 201, { method: 'POST', url, headers: support, payload: { email, password } });
    return { id: made.json().data.id as string, email };
  };

  test('a person in production is not changed from a development environment, by a key, an end user or a limited administrator', async () => {
    const { id, email } = await productive();
    const limits = { environment_ids: [account.scope.environmentId] };
    const limited = (await newMember(api, account, 'support', undefined, limits)).headers;
    const helper = (await newIdentityCaller(api, account, [{ role: 'Administrator' }])).headers;
    const callers = [
      (...[method, path, payload]: ReturnType<typeof changes>[number]) => call(method, path, 403, payload),
      (...[method, path, payload]: ReturnType<typeof changes>[number]) => call(method, path, 403, payload, helper),
      (...[method, path, payload]: ReturnType<typeof changes>[number]) => inPortal(method, path, 403, payload, limited),
    ];
    for (const [method, path, payload] of changes(id)) await call(method, path, 404, payload);
    await call('POST', '/identities', 201, { email });
    const before = (await call('GET', `/identities/${id}/detail`, 200)).json();
    for (const ask of callers) {
      for (const change of changes(id)) expect(outcomeOf(await ask(...change))).toBe('403 identity.in_production');
    }
    expect((await call('GET', `/identities/${id}/detail`, 200)).json()).toEqual(before);
    await call('POST', `/identities/${id}/deactivate`, 200);
  });

  test('an administrator of both changes them there, production changes people of tests, and one who leaves production can be changed', async () => {
    const { id, email } = await productive();
    await call('POST', '/identities', 201, { email });
    const both = { environment_ids: [account.scope.environmentId, account.productionScope.environmentId] };
    const limited = (await newMember(api, account, 'support', undefined, both)).headers;
    const application = { application_ids: [account.scope.applicationId] };
    const wider = (await newMember(api, account, 'support', undefined, application)).headers;
    const [rename] = changes(id);
    for (const headers of [support, limited, wider])
      await inPortal(...(rename.slice(0, 2) as ['PATCH', string]), 200, rename[2], headers);
    await send(api.app, 200, {
      method: 'PATCH',
      url: account.portalPath(`/identities/${id}`, 'production'),
      headers: support,
      payload: rename[2],
    });
    await send(api.app, 204, {
      method: 'DELETE',
      url: account.portalPath(`/identities/${id}`, 'production'),
      headers: support,
    });
    for (const [method, path, payload] of changes(id)) await call(method, path, 200, payload);
  });
});

/** Creates a person with many sessions; returns their calls and session ids. */
async function signedInOften(many: number) {
  const { id, email } = await person();
  const { headers } = await signedIn(email);
  await rowsOf(
    api,
    `insert into sessions select (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(),
       'browser_hash', sha256(n::text::bytea)))).* from sessions s, generate_series(2, $2::int) n where identity_id = $1`,
    [id, many],
  );
  const ids = await rowsOf<{ id: string }>(api, 'select id from sessions where identity_id = $1 order by id', [id]);
  return { id, headers, sessionIds: ids.map((one) => one.id) };
}

/** Returns the events of ended sessions, oldest first. */
const toldOf = (id: string, sessionIds: string[]) =>
  rowsOf<{ action: string; resource_id: string; metadata: { session_ids: string[] } }>(
    api,
    `select action, resource_id, metadata from events where environment_id = $1
       and (resource_id = $2 or resource_id = any ($3)) and action in ('identity.sessions_revoked', 'auth.identity_signed_out')
     order by created_at, id`,
    [account.scope.environmentId, id, sessionIds],
  );

test('a person with many sessions is signed out by few statements, with an event for each session', async () => {
  const { id, headers, sessionIds } = await signedInOften(1200);
  expect(await statementsOf(() => call('POST', `/identities/${id}/deactivate`, 200))).toBeLessThan(50);
  await me(401, headers);
  const told = await toldOf(id, sessionIds);
  const revoked = told.filter(({ resource_id }) => resource_id === id).map(({ metadata }) => metadata.session_ids);
  expect(revoked.map(({ length }) => length)).toEqual([500, 500, 200]);
  expect(revoked.flat().toSorted()).toEqual(sessionIds);
  const audited = told.filter(({ action }) => action === 'auth.identity_signed_out');
  expect(audited.map(({ resource_id }) => resource_id).toSorted()).toEqual(sessionIds.slice(-500));
});

test('a new password of a person with many sessions records their ends in parts, too', async () => {
  const { id, headers, sessionIds } = await signedInOften(1200);
  await call('PUT', `/identities/${id}/password`, 200, { password: 'violet tractor nineteen' });
  await me(401, headers);
  const revoked = (await toldOf(id, sessionIds)).map(({ metadata }) => metadata.session_ids);
  expect(revoked.map(({ length }) => length)).toEqual([500, 500, 200]);
  expect(revoked.flat().toSorted()).toEqual(sessionIds);
});
