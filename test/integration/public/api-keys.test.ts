import { codeOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi, untilRefused } from '../../support/api.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { eventsSince } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api.stop());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
const call = (method: Method, path: string, status: number, payload?: object, headers = key) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
const newKey = async (more: object = {}) =>
  (await call('POST', '/api-keys', 201, { name: 'One', access_mode: 'full', ...more })).json().data;
const use = async (secret: string) =>
  (await api.app.inject({ url: '/api/v1/api-keys', headers: { 'x-api-key': secret } })).statusCode;
const stopped = (secret: string) =>
  untilRefused(api.app, { url: '/api/v1/api-keys', headers: { 'x-api-key': secret } });

test('a rotated key has a new secret; the old one works for the overlap, and not longer', async () => {
  const { id, client_id, secret } = await newKey();
  expect(await use(secret)).toBe(200);
  const rotated = (await call('POST', `/api-keys/${id}/rotate`, 200, { overlap_seconds: 60 })).json().data;
  expect(rotated).toMatchObject({ id, client_id });
  expect(rotated.secret).not.toBe(secret);
  expect(rotated.secret.endsWith(rotated.key_preview.slice(-4))).toBe(true);
  expect([await use(secret), await use(rotated.secret)]).toEqual([200, 200]);
  expect(JSON.stringify((await call('GET', `/api-keys/${id}`, 200)).json())).not.toContain(rotated.secret);
  api.clock.advance(60_000);
  expect([await use(secret), await use(rotated.secret)]).toEqual([401, 200]);
});

test('a key without effect, or with more than its scopes say, is refused', async () => {
  const refused = async (more: object) =>
    (await call('POST', '/api-keys', 400, { name: 'One', access_mode: 'full', ...more })).json().error.details;
  expect(await refused({ access_mode: 'scoped' })).toMatchObject([{ field: 'scopes', code: 'required' }]);
  expect(await refused({ scopes: ['identity.view'] })).toMatchObject([{ field: 'scopes', code: 'without_effect' }]);
  const over = api.clock.now.toISOString();
  expect(await refused({ expires_at: over })).toMatchObject([{ field: 'expires_at', code: 'past' }]);
});

test('without an overlap the old secret stops at once; a second rotation ends the first overlap', async () => {
  const { id, secret } = await newKey();
  const { secret: second } = (await call('POST', `/api-keys/${id}/rotate`, 200, { overlap_seconds: 604_800 })).json()
    .data;
  const { secret: third } = (await call('POST', `/api-keys/${id}/rotate`, 200)).json().data;
  await stopped(second);
  expect([await use(secret), await use(second), await use(third)]).toEqual([401, 401, 200]);
  await call('POST', `/api-keys/${id}/rotate`, 200, {});
  await call('POST', `/api-keys/${id}/rotate`, 400, { overlap_seconds: 604_801 });
  await call('POST', `/api-keys/${id}/rotate`, 400, { overlap_seconds: -1 });
});

test('an expired key gets no new secret, which would never work', async () => {
  const expiresAt = new Date(api.clock.now.getTime() + 60_000).toISOString();
  const { id, key_preview } = await newKey({ expires_at: expiresAt });
  await call('POST', `/api-keys/${id}/rotate`, 200, {});
  const { key_preview: before } = (await call('GET', `/api-keys/${id}`, 200)).json().data;
  api.clock.advance(60_000);
  expect(codeOf(await call('POST', `/api-keys/${id}/rotate`, 409, { overlap_seconds: 60 }))).toBe('api_key.expired');
  const url = account.portalPath(`/api-keys/${id}/rotate`);
  const headers = await account.as('owner');
  expect(codeOf(await send(api.app, 409, { method: 'POST', url, headers, payload: {} }))).toBe('api_key.expired');
  const kept = (await call('GET', `/api-keys/${id}`, 200)).json().data;
  expect([kept.key_preview, kept.key_preview === key_preview]).toEqual([before, false]);
});

test('a disabled key stops on every process within a second, and works again when it is enabled', async () => {
  const { id, secret } = await newKey();
  expect(await use(secret)).toBe(200);
  await call('PATCH', `/api-keys/${id}`, 200, { is_active: false });
  await stopped(secret);
  await call('PATCH', `/api-keys/${id}`, 200, { is_active: true });
  expect(await use(secret)).toBe(200);
});

test('a deleted key never works again', async () => {
  const since = new Date().toISOString();
  const { id, secret } = await newKey();
  expect(await use(secret)).toBe(200);
  await call('POST', `/api-keys/${id}/rotate`, 200, {});
  await call('DELETE', `/api-keys/${id}`, 204);
  await stopped(secret);
  expect(codeOf(await call('GET', `/api-keys/${id}`, 404))).toBe('api_key.not_found');
  expect(codeOf(await call('DELETE', `/api-keys/${id}`, 404))).toBe('api_key.not_found');
  const actions = (await eventsSince(api, account.scope.accountId, since)).map(({ action }) => action);
  expect(actions).toEqual(['api_key.created', 'api_key.rotated', 'api_key.deleted']);
});

test('a key is found in the list by its client_id', async () => {
  const { id, client_id } = await newKey();
  const found = async (query: string) => (await call('GET', `/api-keys?${query}`, 200)).json();
  const { items, pagination } = await found(`client_id=${client_id}`);
  expect([items.map((one: { id: string }) => one.id), pagination.item_count]).toEqual([[id], 1]);
  expect((await found(`client_id=${client_id}&q=Two`)).items).toEqual([]);
  expect((await found('client_id=nobody')).pagination.item_count).toBe(0);
});

test('an expired key is refused from that moment on, though it was read a moment before', async () => {
  const expires_at = new Date(api.clock.now.getTime() + 500).toISOString();
  const { secret } = await newKey({ expires_at });
  expect(await use(secret)).toBe(200);
  api.clock.advance(500);
  expect(await use(secret)).toBe(401);
});

test('nobody rotates a key with more permissions than their own', async () => {
  const { id } = await newKey();
  const keeper = await account.apiKey(['api_key.manage', 'api_key.view']);
  expect(codeOf(await call('POST', `/api-keys/${id}/rotate`, 403, {}, keeper))).toBe('api_key.cannot_grant');
  const narrow = await newKey({ access_mode: 'scoped', scopes: ['api_key.view'] });
  await call('POST', `/api-keys/${narrow.id}/rotate`, 200, {}, keeper);
});

test('nobody enables a key with more permissions than their own; anybody who manages keys may disable it', async () => {
  const { id, secret } = await newKey();
  const narrow = await account.apiKey(['api_key.manage', 'identity.view']);
  await call('PATCH', `/api-keys/${id}`, 200, { is_active: false }, narrow);
  expect(codeOf(await call('PATCH', `/api-keys/${id}`, 403, { is_active: true }, narrow))).toBe('api_key.cannot_grant');
  expect(await use(secret)).toBe(401);
  await call('PATCH', `/api-keys/${id}`, 200, { is_active: true });
  const alike = await newKey({ access_mode: 'scoped', scopes: ['identity.view'] });
  await call('PATCH', `/api-keys/${alike.id}`, 200, { is_active: false }, narrow);
  await call('PATCH', `/api-keys/${alike.id}`, 200, { is_active: true }, narrow);
});

test('an end user gives keys what their roles allow at the root, and never everything', async () => {
  const admin = await newIdentityCaller(api, account, [{ role: 'Administrator' }]);
  const scoped = { name: 'By a person', access_mode: 'scoped', scopes: ['identity.view'] };
  await call('POST', '/api-keys', 201, scoped, admin.headers);
  const full = { name: 'Everything', access_mode: 'full' };
  expect(codeOf(await call('POST', '/api-keys', 403, full, admin.headers))).toBe('api_key.cannot_grant');
});

test('an end user creates no key for the application’s own permissions, unless they hold all of them', async () => {
  const mine = await newAccount(api);
  const full = await mine.apiKey();
  await call('POST', '/permissions', 201, { key: 'vault.open', name: 'Open the vault' }, full);
  await call('POST', '/roles', 201, { name: 'Keeper', permission_keys: ['vault.open'] }, full);
  const admin = await newIdentityCaller(api, mine, [{ role: 'Administrator' }]);
  const make = (scope: string, headers: Record<string, string>, status: number) =>
    call('POST', '/api-keys', status, { name: scope, access_mode: 'scoped', scopes: [scope, 'api_key.view'] }, headers);
  for (const scope of ['rbac.assign_roles', 'rbac.manage_roles', 'identity.manage']) {
    const { error } = (await make(scope, admin.headers, 403)).json();
    expect([error.code, error.details]).toEqual([
      'api_key.cannot_grant',
      [{ field: 'scopes', code: 'lacking', message: 'You do not hold vault.open yourself' }],
    ]);
    const { id } = (await make(scope, full, 201)).json().data;
    const refused = [
      await call('POST', `/api-keys/${id}/rotate`, 403, {}, admin.headers),
      await call('PATCH', `/api-keys/${id}`, 200, { is_active: false }, admin.headers),
      await call('PATCH', `/api-keys/${id}`, 403, { is_active: true }, admin.headers),
    ];
    expect([refused[0], refused[2]].map((one) => codeOf(one!))).toEqual(Array(2).fill('api_key.cannot_grant'));
  }
  await make('hierarchy.manage', admin.headers, 201);
  const both = await newIdentityCaller(api, mine, [{ role: 'Administrator' }, { role: 'Keeper' }]);
  await make('rbac.assign_roles', both.headers, 201);
});

test("another account's key is 404, a stranger 401 and a key without the scope 403", async () => {
  const { id } = await newKey();
  const theirs = await (await newAccount(api)).apiKey();
  for (const [method, path] of [
    ['POST', `/api-keys/${id}/rotate`],
    ['DELETE', `/api-keys/${id}`],
  ] as const) {
    expect(codeOf(await call(method, path, 404, method === 'POST' ? {} : undefined, theirs))).toBe('api_key.not_found');
    await call(method, path, 401, undefined, {});
    await call(method, path, 403, undefined, await account.apiKey(['api_key.view']));
  }
});
