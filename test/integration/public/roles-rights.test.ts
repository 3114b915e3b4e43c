import { codeOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { newIdentityCaller } from '../../support/identity-caller.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api.stop());

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
const as = (headers: object, method: Method, url: string, status: number, payload?: object) =>
  send(api.app, status, { method, url, headers: { ...headers }, ...(payload && { payload }) });
const call = (method: Method, path: string, status: number, payload?: object, headers: object = {}) =>
  as({ ...key, ...headers }, method, `/api/v1${path}`, status, payload);
const ifMatch = (version: number) => ({ 'if-match': `"${version}"` });
const newPermission = (name: string) => call('POST', '/permissions', 201, { key: name, name: `May ${name}` });
const newRole = async (name: string, permission_keys: string[] = []) =>
  (await call('POST', '/roles', 201, { name, permission_keys })).json().data;

test('a stranger is 401, a key without the scope and an identity without the permission are 403', async () => {
  const ida = await newIdentityCaller(api, account, [{ role: 'Viewer' }]);
  await as({}, 'GET', '/api/v1/roles', 401);
  const narrow = await account.apiKey(['identity.view']);
  expect(codeOf(await as(narrow, 'GET', '/api/v1/roles', 403))).toBe('api_key.scope_required');
  await as(ida.headers, 'GET', '/api/v1/roles', 200);
  expect(codeOf(await as(ida.headers, 'POST', '/api/v1/roles', 403, { name: 'Mine' }))).toBe('permission.required');
  const nobody = await newIdentityCaller(api, account);
  const refused = await as(nobody.headers, 'GET', '/api/v1/permissions', 403);
  expect(codeOf(refused)).toBe('permission.required');
  const message = "needs rbac.view_roles at the environment's root"; // whoever holds it at a node only is told why
  expect(refused.json().error.details).toEqual([{ field: '', code: 'lacking', message }]);
});

test('nobody adds a permission to a role that they lack themselves', async () => {
  await newPermission('vault.open');
  const keeper = await account.apiKey(['rbac.manage_roles', 'rbac.view_roles']);
  const permission_keys = ['rbac.view_roles', 'webhook.manage', 'vault.open'];
  const refused = await as(keeper, 'POST', '/api/v1/roles', 403, { name: 'Thief', permission_keys });
  const message = 'You do not hold webhook.manage yourself';
  expect(refused.json().error).toMatchObject({
    code: 'role.cannot_grant',
    details: [{ field: 'permission_keys', code: 'lacking', message }],
  });
  expect((await call('GET', '/roles?source=custom', 200)).json().items).toEqual([]);
  const { data } = (
    await as(keeper, 'POST', '/api/v1/roles', 201, { name: 'Reader', permission_keys: ['rbac.view_roles'] })
  ).json();
  const put = (permission_keys: string[], status: number, version = 1) =>
    send(api.app, status, {
      method: 'PUT',
      url: `/api/v1/roles/${data.id}/permissions`,
      headers: { ...keeper, ...ifMatch(version) },
      payload: { permission_keys },
    });
  expect(codeOf(await put(['rbac.view_roles', 'identity.manage'], 403))).toBe('role.cannot_grant');
  await call('PUT', `/roles/${data.id}/permissions`, 200, { permission_keys: ['webhook.manage'] }, ifMatch(1));
  await put(['rbac.view_roles', 'webhook.manage'], 200, 2); // present permissions may stay
  await put(['rbac.view_roles', 'vault.open'], 200, 3); // the application's own, which no scope can name
  const admin = await newIdentityCaller(api, account, [{ role: 'Administrator' }]);
  const wanted = { name: 'By an identity', permission_keys: ['identity.manage'] };
  await as(admin.headers, 'POST', '/api/v1/roles', 201, wanted);
  const more = { name: 'Too much', permission_keys: ['vault.open'] };
  expect(codeOf(await as(admin.headers, 'POST', '/api/v1/roles', 403, more))).toBe('role.cannot_grant');
});

test('nobody activates a role that holds what they lack themselves; an administrator may', async () => {
  const { id } = await newRole('Asleep', ['identity.manage', 'rbac.view_roles']);
  await call('PATCH', `/roles/${id}`, 200, { is_active: false }, ifMatch(1));
  const keeper = await account.apiKey(['rbac.manage_roles', 'rbac.view_roles']);
  const patch = (headers: object, version: number, status: number, payload: object) =>
    send(api.app, status, {
      method: 'PATCH',
      url: `/api/v1/roles/${id}`,
      payload,
      headers: { ...headers, ...ifMatch(version) },
    });
  const refused = (await patch(keeper, 2, 403, { is_active: true })).json();
  const message = 'You do not hold identity.manage yourself';
  expect(refused.error).toMatchObject({ code: 'role.cannot_grant', details: [{ message }] });
  await patch(keeper, 2, 200, { name: 'Still asleep', is_active: false });
  expect(codeOf(await patch(keeper, 2, 409, { is_active: true }))).toBe('version.conflict');
  await patch(key, 3, 200, { is_active: true });
  await patch(keeper, 4, 200, { name: 'Awake', is_active: true });
});

test('a permission that a role has just lost is not restored by naming the next version', async () => {
  const { id } = await newRole('Shrinking', ['identity.manage', 'rbac.view_roles']);
  const keeper = await account.apiKey(['rbac.manage_roles', 'rbac.view_roles']);
  const put = (headers: object, version: number, permission_keys: string[]) =>
    api.app.inject({
      method: 'PUT',
      url: `/api/v1/roles/${id}/permissions`,
      payload: { permission_keys },
      headers: { ...headers, ...ifMatch(version) },
    });
  for (let version = 1; version < 20; version += 2) {
    const [shrunk, kept] = await Promise.all([
      put(key, version, ['rbac.view_roles']),
      put(keeper, version + 1, ['identity.manage', 'rbac.view_roles']),
    ]);
    expect(shrunk.statusCode).toBe(200);
    expect([403, 409]).toContain(kept.statusCode);
    expect((await put(key, version + 1, ['identity.manage', 'rbac.view_roles'])).statusCode).toBe(200);
  }
});

test("another environment's and another account's are 404, and not in the lists", async () => {
  const role = await newRole('Of this environment');
  const stranger = await newAccount(api);
  const theirs = await stranger.apiKey();
  expect(codeOf(await as(theirs, 'GET', `/api/v1/roles/${role.id}`, 404))).toBe('role.not_found');
  expect(codeOf(await as(theirs, 'PATCH', `/api/v1/roles/${role.id}`, 404, { name: 7 }))).toBe('role.not_found');
  expect((await as(theirs, 'GET', '/api/v1/roles?q=Of this', 200)).json().items).toEqual([]);
  const owner = await account.as('owner');
  const inProduction = account.portalPath(`/roles/${role.id}`, 'production');
  expect(codeOf(await as(owner, 'GET', inProduction, 404))).toBe('role.not_found');
  const wanted = { permission_keys: [] };
  const their = (method: Method, path: string, payload?: object) =>
    as({ ...theirs, ...ifMatch(1) }, method, `/api/v1/roles/${role.id}${path}`, 404, payload);
  expect(codeOf(await their('PUT', '/permissions', wanted))).toBe('role.not_found');
  expect(codeOf(await their('DELETE', ''))).toBe('role.not_found');
  expect((await call('GET', `/roles/${role.id}`, 200)).json().data).toEqual(role);
});

test('the portal offers the same, by capability', async () => {
  const developer = await account.as('developer');
  const { data } = (await as(developer, 'POST', account.portalPath('/roles'), 201, { name: 'By the team' })).json();
  const support = await account.as('support');
  expect(codeOf(await as(support, 'GET', account.portalPath('/roles'), 403))).toBe('account.capability_required');
  const viewer = await account.as('viewer');
  await as(viewer, 'GET', account.portalPath(`/roles/${data.id}/permissions`), 200);
  expect(codeOf(await as(viewer, 'POST', account.portalPath('/permissions'), 403, {}))).toBe(
    'account.capability_required',
  );
});
