import { generateKeyPairSync } from 'node:crypto';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let call: Call;
let path: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  call = callsOf(api, account.accountSlug, await account.as('owner'));
  path = `/applications/${account.applicationSlug}/environments/development/oauth-clients`;
});
afterAll(() => api.stop());

const settings = { name: 'Web', client_type: 'confidential', redirect_uris: ['https://app.example/callback'] };
const create = async (more: object = {}) => (await call('POST', path, { ...settings, ...more })).json().data;
const change = async (id: string, changes: object) => (await call('PATCH', `${path}/${id}`, changes)).json().data;
const hashOf = async (id: string) =>
  (await rowsOf<{ hash: Buffer | null }>(api, 'select secret_hash as hash from oauth_clients where id = $1', [id]))[0]
    ?.hash;

test('a client that authenticates by a secret gets one, for either method, and no other does', async () => {
  for (const method of ['client_secret_basic', 'client_secret_post']) {
    const { id, client_secret, has_client_secret } = await create({ token_endpoint_auth_method: method });
    expect([client_secret, has_client_secret]).toEqual([expect.stringMatching(/^[\w-]{43}$/), true]);
    expect(await hashOf(id)).not.toBeNull();
  }
  const spa = await create({ client_type: 'public' });
  expect([spa.client_secret, spa.has_client_secret, await hashOf(spa.id)]).toEqual([null, false, null]);
  expect(outcomeOf(await call('POST', `${path}/${spa.id}/rotate-secret`))).toBe('400 oauth_client.has_no_secret');
});

test('a secret stays while it is used, ends with the last method that uses one, and is then created anew', async () => {
  const { id } = await create();
  const before = await hashOf(id);
  await change(id, { token_endpoint_auth_method: 'client_secret_post', name: 'Web 2' });
  expect(await hashOf(id)).toEqual(before);
  const keyed = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example/jwks' };
  expect((await change(id, keyed)).has_client_secret).toBe(false);
  expect(await hashOf(id)).toBeNull();
  const back = await change(id, { token_endpoint_auth_method: 'client_secret_basic', jwks_uri: null });
  expect(back.has_client_secret).toBe(false);
  const given = (await call('POST', `${path}/${id}/rotate-secret`)).json().data;
  expect(given).toMatchObject({ client_secret: expect.any(String), has_client_secret: true });
  const { client_secret: _, ...shown } = given;
  expect((await call('GET', `${path}/${id}`)).json().data).toEqual(shown);
});

test('keys of which none can be used are refused at creation and at a change', async () => {
  const keyed = (key: object) => ({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key] } });
  const usable = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const { id, name, redirect_uris } = await create(keyed(usable));
  const sent = { name, redirect_uris, client_type: 'confidential', ...keyed({ kty: 'EC' }) };
  expect(outcomeOf(await call('POST', path, sent))).toBe('400 validation.failed');
  const refused = await call('PATCH', `${path}/${id}`, { jwks: { keys: [{ kty: 'RSA' }] } });
  expect(refused.json().error.details).toMatchObject([{ field: 'jwks', code: 'unusable' }]);
  expect((await call('GET', `${path}/${id}`)).json().data.jwks.keys).toEqual([usable]);
});

/** Whether a client is accepted with a secret, as the status of an introspection. */
const introspectionBy = (clientId: string) => async (secret: string) => {
  const authorization = `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`;
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  const request = { method: 'POST', url: '/oauth/introspect', headers, payload: 'token=none' } as const;
  return (await api.app.inject(request)).statusCode;
};

test('a new secret works at once, also on a process that has cached the client, and the old one ends', async () => {
  const { id, client_id, client_secret } = await create();
  const introspect = introspectionBy(client_id);
  expect(await introspect(client_secret)).toBe(200);
  const since = await databaseTime(api);
  const { client_secret: next } = (await call('POST', `${path}/${id}/rotate-secret`)).json().data;
  expect([await introspect(next), await introspect(client_secret)]).toEqual([200, 401]);
  const told = await eventsSince(api, account.scope.accountId, since);
  expect(told).toMatchObject([{ action: 'oauth_client.secret_rotated', metadata: { overlap_seconds: 0 } }]);
  await change(id, { token_endpoint_auth_method: 'client_secret_post' });
  api.clock.advance(1000);
  expect(await introspect(next)).toBe(200);
  const keyed = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example/jwks' };
  await change(id, keyed);
  api.clock.advance(1000);
  expect(await introspect(next)).toBe(401);
});

test('with an overlap the old secret works until its end, and never more than two do', async () => {
  const { id, client_id, client_secret: first } = await create();
  const introspect = introspectionBy(client_id);
  const rotate = async (overlap_seconds?: number): Promise<string> =>
    (await call('POST', `${path}/${id}/rotate-secret`, { overlap_seconds })).json().data.client_secret;
  const second = await rotate(60);
  expect([await introspect(first), await introspect(second)]).toEqual([200, 200]);
  api.clock.advance(60_000);
  expect([await introspect(first), await introspect(second)]).toEqual([401, 200]);
  const third = await rotate(604_800);
  const fourth = await rotate(60);
  expect([await introspect(fourth), await introspect(third), await introspect(second)]).toEqual([200, 200, 401]);
  const fifth = await rotate(); // such as after a leak
  expect([await introspect(fifth), await introspect(fourth), await introspect(third)]).toEqual([200, 401, 401]);

  await rotate(60);
  const usesKeys = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example/jwks' };
  await change(id, usesKeys);
  await change(id, { token_endpoint_auth_method: 'client_secret_basic', jwks_uri: null });
  expect([await introspect(await rotate()), await introspect(fifth)]).toEqual([200, 401]);
  for (const overlap_seconds of [-1, 604_801, 1.5])
    expect(outcomeOf(await call('POST', `${path}/${id}/rotate-secret`, { overlap_seconds }))).toBe(
      '400 validation.failed',
    );
});

test('a change is recorded once, and a request for the present values changes nothing', async () => {
  const made = await create();
  const since = await databaseTime(api);
  const changed = await change(made.id, { name: 'Shop', require_pkce: true });
  expect(changed).toMatchObject({ name: 'Shop', client_id: made.client_id, redirect_uris: made.redirect_uris });
  expect(await change(made.id, { name: 'Shop' })).toEqual(changed);
  expect((await call('GET', `${path}/${made.id}`)).json().data).toEqual(changed);
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events).toMatchObject([
    { action: 'oauth_client.updated', metadata: { changed: ['name'], became: { name: 'Shop' } } },
  ]);
  expect(outcomeOf(await call('PATCH', `${path}/${made.id}`, { redirect_uris: ['https://app.example/#x'] }))).toBe(
    '400 validation.failed',
  );
});

test('a client may have a page that starts sign-ins itself: a web page, and nothing else', async () => {
  expect((await create()).initiate_login_uri).toBeNull();
  const made = await create({ initiate_login_uri: 'https://app.example/login' });
  expect(made.initiate_login_uri).toBe('https://app.example/login');
  expect(await change(made.id, { initiate_login_uri: 'http://localhost:3000/login' })).toMatchObject({
    initiate_login_uri: 'http://localhost:3000/login',
  });
  for (const uri of [
    'http://app.example/login',
    'com.example.app:/login',
    'https://app.example/#login',
    'javascript:alert(1)',
    'login',
    '',
  ])
    expect([uri, outcomeOf(await call('PATCH', `${path}/${made.id}`, { initiate_login_uri: uri }))]).toEqual([
      uri,
      '400 validation.failed',
    ]);
  expect((await change(made.id, { initiate_login_uri: null })).initiate_login_uri).toBeNull();
});

test('a client may have an address for logout tokens, which is checked like others that are called', async () => {
  expect(await create()).toMatchObject({
    backchannel_logout_uri: null,
    backchannel_logout_session_required: false,
  });
  const given = {
    backchannel_logout_uri: 'https://app.example/logout?tenant=acme',
    backchannel_logout_session_required: true,
  };
  const made = await create(given);
  expect(made).toMatchObject(given);
  const routes = () =>
    rowsOf(api, `select scope_id, event_type from webhook_routes where webhook_id = '${made.id}' order by event_type`);
  const scope_id = account.scope.environmentId;
  const both = ['identity.sessions_revoked', 'identity.signed_out'].map((event_type) => ({ scope_id, event_type }));
  expect(await routes()).toEqual(both);
  for (const [uri, code] of [
    ['http://app.example/logout', 'redirect_uri'],
    ['com.example.app:/logout', 'redirect_uri'],
    ['https://app.example/#logout', 'redirect_uri'],
    ['https://ana:secret@app.example/logout', 'redirect_uri'],
    ['https://10.0.0.1/logout', 'address'],
    ['https://169.254.169.254/latest', 'address'],
    ['logout', 'format'],
  ]) {
    const refused = await call('PATCH', `${path}/${made.id}`, { backchannel_logout_uri: uri });
    expect([uri, outcomeOf(refused), refused.json().error.details[0]]).toMatchObject([
      uri,
      '400 validation.failed',
      { field: 'backchannel_logout_uri', code },
    ]);
    const body = { name: 'Shop', client_type: 'public', redirect_uris: [], backchannel_logout_uri: uri };
    expect(outcomeOf(await call('POST', path, body))).toBe('400 validation.failed');
  }
  await change(made.id, { backchannel_logout_uri: 'https://app.example/other' });
  expect(await routes()).toEqual(both);
  expect((await change(made.id, { backchannel_logout_uri: null })).backchannel_logout_uri).toBeNull();
  expect(await routes()).toEqual([]);
});

test('a client may be granted all scopes, or those that are listed', async () => {
  const all = ['openid', 'profile', 'email', 'org', 'permissions'];
  expect((await create()).scopes).toEqual(all);
  const made = await create({ scopes: ['email', 'openid'] });
  expect(made.scopes).toEqual(['openid', 'email']);
  const renamed = await change(made.id, { name: 'Shop' });
  expect(renamed.scopes).toEqual(['openid', 'email']);
  // A set: sending back what was read, or another order, is no change.
  for (const scopes of [renamed.scopes, ['email', 'openid']])
    expect(await change(made.id, { scopes })).toEqual(renamed);
  expect((await change(made.id, { scopes: ['openid'] })).scopes).toEqual(['openid']);
  expect((await call('GET', `${path}/${made.id}`)).json().data.scopes).toEqual(['openid']);
  for (const scopes of [[], ['openid', 'openid'], ['offline_access'], null])
    expect(outcomeOf(await call('PATCH', `${path}/${made.id}`, { scopes }))).toBe('400 validation.failed');
});

test('the Account’s own client asks for no consent, and a third-party one is marked', async () => {
  expect((await create()).consent_required).toBe(false);
  const partner = await create({ consent_required: true });
  expect(partner.consent_required).toBe(true);
  expect((await change(partner.id, { name: 'Partner' })).consent_required).toBe(true);
  const since = await databaseTime(api);
  expect((await change(partner.id, { consent_required: false })).consent_required).toBe(false);
  const [event] = await eventsSince(api, account.scope.accountId, since);
  expect(event).toMatchObject({ metadata: { changed: ['consent_required'] } });
});

test('an environment that requires PKCE refuses clients without it, and existing ones need it too', async () => {
  const older = await create({ require_pkce: false });
  const asks = async () => {
    api.clock.now = new Date(api.clock.now.getTime() + 2_000); // a process caches a client for at most a second
    const query = new URLSearchParams({
      client_id: older.client_id,
      redirect_uri: settings.redirect_uris[0] as string,
      response_type: 'code',
      scope: 'openid',
    });
    const { statusCode, body } = await api.app.inject({ url: `/oauth/authorize?${query}` });
    return statusCode === 200 ? 'page' : /this client must send a code_challenge/.exec(body)?.[0];
  };
  const require = async (require_pkce: boolean) => {
    const at = path.replace('oauth-clients', 'settings');
    const { version } = (await call('GET', at)).json().data;
    return (await call('PATCH', at, { require_pkce }, { 'if-match': `"${version}"` })).json().data.require_pkce;
  };
  const refused = (answer: { json(): { error?: { details: object[] } } }) => answer.json().error?.details;
  const why = [expect.objectContaining({ field: 'require_pkce', code: 'required_by_environment' })];

  expect(await asks()).toBe('page');
  expect(await require(true)).toBe(true);
  expect(await asks()).toBe('this client must send a code_challenge');
  expect(refused(await call('POST', path, { ...settings, require_pkce: false }))).toEqual(why);
  const other = await create();
  expect(refused(await call('PATCH', `${path}/${other.id}`, { require_pkce: false }))).toEqual(why);
  // It stays what it is, and can still be changed.
  expect(await change(older.id, { name: 'Older', require_pkce: false })).toMatchObject({
    name: 'Older',
    require_pkce: false,
  });

  expect(await require(false)).toBe(false);
  expect(await asks()).toBe('page');
  expect(await change(other.id, { require_pkce: false })).toMatchObject({ require_pkce: false });
});

test('a deleted client is gone, and the others stay', async () => {
  const [web, shop] = [await create(), await create({ name: 'Shop' })];
  const since = await databaseTime(api);
  expect(outcomeOf(await call('DELETE', `${path}/${web.id}`))).toBe('204');
  expect(outcomeOf(await call('DELETE', `${path}/${web.id}`))).toBe('404 oauth_client.not_found');
  const told = await eventsSince(api, account.scope.accountId, since);
  expect(told).toMatchObject([{ action: 'oauth_client.deleted' }]);
  expect(outcomeOf(await call('GET', `${path}/${web.id}`))).toBe('404 oauth_client.not_found');
  expect((await call('GET', path)).json().items.map(({ id }: { id: string }) => id)).toEqual([shop.id]);
});

test('the list has a search and both orders, and finds a client by its client_id', async () => {
  for (const name of ['Beta', 'Alpha', 'Gamma 100%']) await create({ name });
  const names = async (query: string) =>
    (await call('GET', `${path}?${query}`)).json().items.map(({ name }: { name: string }) => name);
  expect(await names('sort_by=name&order=asc')).toEqual(['Alpha', 'Beta', 'Gamma 100%']);
  expect(await names('sort_by=created_at&order=asc')).toEqual(['Beta', 'Alpha', 'Gamma 100%']);
  expect(await names('sort_by=created_at&order=desc')).toEqual(['Gamma 100%', 'Alpha', 'Beta']);
  expect(await names('q=0%25')).toEqual(['Gamma 100%']);
  expect(await names('q=nobody')).toEqual([]);
  const { client_id } = (await call('GET', `${path}?q=Alpha`)).json().items[0];
  expect(await names(`client_id=${client_id}`)).toEqual(['Alpha']);
  expect(await names(`client_id=${client_id}&q=Beta`)).toEqual([]);
  expect(await names(`client_id=${client_id.slice(1)}`)).toEqual([]);
});
