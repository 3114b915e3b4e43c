import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type IdentityCaller, newIdentityCaller } from '../support/identity-caller.js';
import { eventsSince, outcomesOf } from './portal-setup.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api.stop());

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
const call = (method: Method, path: string, status: number, payload?: object, headers: object = {}) =>
  send(api.app, status, {
    method,
    url: `/api/v1${path}`,
    headers: { ...key, ...headers },
    ...(payload && { payload }),
  });
const ifMatch = (version: number) => ({ 'if-match': `"${version}"` });
const newPermission = async (name: string) =>
  (await call('POST', '/permissions', 201, { key: name, name: `May ${name}` })).json().data;
const newRole = async (name: string, permission_keys: string[] = []) =>
  (await call('POST', '/roles', 201, { name, permission_keys })).json().data;
const codeOf = (response: { json(): { error: { code: string } } }) => response.json().error.code;

describe('permissions', () => {
  test('the catalog begins with the permissions of the service, which nobody can change', async () => {
    const { items, pagination } = (await call('GET', '/permissions?take=100&sort_by=key&order=asc', 200)).json();
    expect(pagination.item_count).toBeGreaterThanOrEqual(15);
    const view = items.find((item: { key: string }) => item.key === 'identity.view');
    expect(view).toMatchObject({ source: 'system', category: 'identity', version: 1 });
    expect(codeOf(await call('PATCH', `/permissions/${view.id}`, 409, { name: 'x' }, ifMatch(1)))).toBe(
      'permission.system',
    );
    expect(codeOf(await call('DELETE', `/permissions/${view.id}`, 409, undefined, ifMatch(1)))).toBe(
      'permission.system',
    );
  });

  test('one is registered, changed with the version that was read, used by roles, and removed', async () => {
    const since = new Date().toISOString();
    const permission = await newPermission('invoice.read');
    expect(permission).toMatchObject({ key: 'invoice.read', source: 'custom', category: 'invoice', version: 1 });
    const path = `/permissions/${permission.id}`;
    const changed = await call('PATCH', path, 200, { description: 'All of them' }, ifMatch(1));
    expect(changed.headers.etag).toBe('"2"');
    const stale = (await call('PATCH', path, 409, { name: 'Late' }, ifMatch(1))).json();
    expect(stale).toMatchObject({ error: { code: 'version.conflict' }, data: { version: 2 } });
    expect(codeOf(await call('PATCH', path, 400, { name: 'x' }))).toBe('if_match.required');
    const role = await newRole('Accountant', ['invoice.read']);
    expect((await call('GET', `${path}/usage`, 200)).json().items).toEqual([
      { id: role.id, name: 'Accountant', is_system_role: false, assignment_count: 0 },
    ]);
    await call('DELETE', path, 204, undefined, ifMatch(2));
    expect((await call('GET', `/roles/${role.id}/permissions`, 200)).json().data.permission_keys).toEqual([]);
    expect(codeOf(await call('GET', path, 404))).toBe('permission.not_found');
    const actions = (await eventsSince(api, account.scope.accountId, since)).map(({ action }) => action);
    expect(actions).toEqual(
      expect.arrayContaining(['permission.created', 'permission.updated', 'role.created', 'permission.deleted']),
    );
  });

  test.each([
    ['without a dot', 'invoice'],
    ['in capitals', 'Invoice.Read'],
    ['with a blank', 'in voice.read'],
    ['of the service', 'svc:thing.do'],
  ])('a key %s is refused', async (_name, wrong) => {
    expect(codeOf(await call('POST', '/permissions', 400, { key: wrong, name: 'x' }))).toBe('validation.failed');
  });

  test('a key that is taken is refused, in parallel too', async () => {
    const payload = { key: 'parallel.key', name: 'x' };
    const post = { method: 'POST' as const, url: '/api/v1/permissions', headers: key, payload };
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.app.inject(post)));
    expect(outcomesOf(answers)).toEqual({ '201': 1, '409 permission.key_taken': 7 });
  });
});

describe('roles', () => {
  test('every environment has the system roles, which nobody can change', async () => {
    const { items } = (await call('GET', '/roles?source=system&sort_by=name&order=asc', 200)).json();
    expect(items.map((item: { system_key: string }) => item.system_key)).toEqual([
      'administrator',
      'organization_manager',
      'viewer',
    ]);
    const [{ id, permission_count }] = items;
    expect(permission_count).toBe(15);
    for (const [method, path, payload] of [
      ['PATCH', `/roles/${id}`, { name: 'x' }],
      ['PUT', `/roles/${id}/permissions`, { permission_keys: [] }],
      ['DELETE', `/roles/${id}`, undefined],
    ] as const) {
      expect(codeOf(await call(method, path, 409, payload, ifMatch(1)))).toBe('role.system');
    }
  });

  test('one is created, read, changed, given permissions and deleted', async () => {
    await newPermission('ticket.close');
    const role = await newRole(' Supporter ', ['ticket.close']);
    expect(role).toMatchObject({
      name: 'Supporter',
      permission_count: 1,
      member_count: 0,
      version: 1,
      system_key: null,
    });
    const path = `/roles/${role.id}`;
    expect((await call('PATCH', path, 200, { is_active: false }, ifMatch(1))).json().data).toMatchObject({
      is_active: false,
      version: 2,
    });
    expect((await call('GET', '/roles?status=inactive', 200)).json().items).toMatchObject([{ id: role.id }]);
    const held = await call('PUT', `${path}/permissions`, 200, { permission_keys: ['identity.view'] }, ifMatch(2));
    expect(held.json().data).toMatchObject({ version: 3, permission_keys: ['identity.view'] });
    const stale = await call('PUT', `${path}/permissions`, 409, { permission_keys: [] }, ifMatch(2));
    expect(stale.json()).toMatchObject({
      error: { code: 'version.conflict' },
      data: { role_id: role.id, version: 3, permission_keys: ['identity.view'] },
    });
    expect(codeOf(await call('DELETE', path, 409, undefined, ifMatch(2)))).toBe('version.conflict');
    await call('DELETE', path, 204, undefined, ifMatch(3));
    expect(codeOf(await call('GET', path, 404))).toBe('role.not_found');
  });

  test('unknown permissions and taken names, whatever their case, are refused and nothing is made', async () => {
    await newRole('Auditor');
    expect(codeOf(await call('POST', '/roles', 409, { name: 'AUDITOR' }))).toBe('role.name_taken');
    const { error } = (await call('POST', '/roles', 400, { name: 'New', permission_keys: ['no.such'] })).json();
    expect(error.details).toMatchObject([{ field: 'permission_keys[0]', code: 'unknown' }]);
    expect((await call('GET', '/roles?q=New', 200)).json().items).toEqual([]);
  });

  test('of parallel changes with one version exactly one wins', async () => {
    const { id } = await newRole('Contended');
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        api.app.inject({
          method: 'PATCH',
          url: `/api/v1/roles/${id}`,
          headers: { ...key, ...ifMatch(1) },
          payload: { description: `${i}` },
        }),
      ),
    );
    expect(outcomesOf(answers)).toEqual({ '200': 1, '409 version.conflict': 7 });
  });
});

describe('who may', () => {
  let ida: IdentityCaller;
  beforeAll(async () => {
    ida = await newIdentityCaller(api, account, [{ role: 'Viewer' }]);
  });
  const as = (headers: object, method: Method, url: string, status: number, payload?: object) =>
    send(api.app, status, { method, url, headers: { ...headers }, ...(payload && { payload }) });

  test('a stranger is 401, a key without the scope and an identity without the permission are 403', async () => {
    await as({}, 'GET', '/api/v1/roles', 401);
    const narrow = await account.apiKey(['identity.view']);
    expect(codeOf(await as(narrow, 'GET', '/api/v1/roles', 403))).toBe('api_key.scope_required');
    await as(ida.headers, 'GET', '/api/v1/roles', 200);
    expect(codeOf(await as(ida.headers, 'POST', '/api/v1/roles', 403, { name: 'Mine' }))).toBe('permission.required');
    const nobody = await newIdentityCaller(api, account);
    expect(codeOf(await as(nobody.headers, 'GET', '/api/v1/permissions', 403))).toBe('permission.required');
  });

  test('nobody puts a permission into a role that they lack themselves', async () => {
    await newPermission('vault.open');
    const keeper = await account.apiKey(['rbac.manage_roles', 'rbac.view_roles']);
    const refused = await as(keeper, 'POST', '/api/v1/roles', 403, { name: 'Thief', permission_keys: ['vault.open'] });
    expect(refused.json().error).toMatchObject({ code: 'role.cannot_grant', details: [{ code: 'lacking' }] });
    const { data } = (
      await as(keeper, 'POST', '/api/v1/roles', 201, { name: 'Reader', permission_keys: ['rbac.view_roles'] })
    ).json();
    const put = (permission_keys: string[], status: number) =>
      send(api.app, status, {
        method: 'PUT',
        url: `/api/v1/roles/${data.id}/permissions`,
        headers: { ...keeper, ...ifMatch(1) },
        payload: { permission_keys },
      });
    expect(codeOf(await put(['rbac.view_roles', 'identity.manage'], 403))).toBe('role.cannot_grant');
    const admin = await newIdentityCaller(api, account, [{ role: 'Administrator' }]);
    const wanted = { name: 'By an identity', permission_keys: ['identity.manage'] };
    await as(admin.headers, 'POST', '/api/v1/roles', 201, wanted);
    const more = { name: 'Too much', permission_keys: ['vault.open'] };
    expect(codeOf(await as(admin.headers, 'POST', '/api/v1/roles', 403, more))).toBe('role.cannot_grant');
  });

  test('nobody activates a role that holds what they lack themselves; an administrator may', async () => {
    const { id } = await newRole('Asleep', ['identity.manage']);
    await call('PATCH', `/roles/${id}`, 200, { is_active: false }, ifMatch(1));
    const keeper = await account.apiKey(['rbac.manage_roles', 'rbac.view_roles']);
    const patch = (headers: object, version: number, status: number, payload: object) =>
      send(api.app, status, {
        ...{ method: 'PATCH', url: `/api/v1/roles/${id}`, payload },
        headers: { ...headers, ...ifMatch(version) },
      });
    expect(codeOf(await patch(keeper, 2, 403, { is_active: true }))).toBe('role.cannot_grant');
    await patch(keeper, 2, 200, { name: 'Still asleep', is_active: false });
    expect(codeOf(await patch(keeper, 2, 409, { is_active: true }))).toBe('version.conflict');
    await patch(key, 3, 200, { is_active: true });
    await patch(keeper, 4, 200, { name: 'Awake', is_active: true });
  });

  test('what a role has just lost is not put back by naming the version that comes next', async () => {
    const { id } = await newRole('Shrinking', ['identity.manage', 'rbac.view_roles']);
    const keeper = await account.apiKey(['rbac.manage_roles', 'rbac.view_roles']);
    const put = (headers: object, version: number, permission_keys: string[]) =>
      api.app.inject({
        ...{ method: 'PUT', url: `/api/v1/roles/${id}/permissions`, payload: { permission_keys } },
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
  });

  test('the portal serves the same, by capability', async () => {
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
});
