import { createRoles } from '../../../src/domain/access/roles/roles.js';
import type { Db } from '../../../src/platform/database/db.js';
import { codeOf, expectSorted, outcomesOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { rowsOf } from '../../support/rows.js';

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
const heldBy = async (id: string): Promise<string[]> =>
  (await call('GET', `/roles/${id}/permissions`, 200)).json().data.permission_keys;
const namesOf = async (query: string): Promise<string[]> =>
  (await call('GET', `/roles?${query}`, 200)).json().items.map(({ name }: { name: string }) => name);
const eventsOf = (id: string) =>
  rowsOf(
    api,
    `select action, account_id, environment_id, resource_label, metadata from events
     where resource_id = $1 order by created_at, id`,
    [id],
  );
const newIdentity = async (name: string): Promise<string> =>
  (await call('POST', '/identities', 201, { email: `${name}@example.com` })).json().data.id;
const newUnit = async (more: object = {}): Promise<string> =>
  (await call('POST', '/nodes', 201, { node_type: 'unit', name: 'x', ...more })).json().data.id;
const assign = async (identity: string, role_id: string, more: object = {}): Promise<string> =>
  (await call('POST', `/identities/${identity}/role-assignments`, 201, { role_id, ...more })).json().data.assignment_id;

test('every environment has the system roles, which nobody can change', async () => {
  const { items } = (await call('GET', '/roles?source=system&sort_by=name&order=asc', 200)).json();
  expect(items.map((item: { system_key: string }) => item.system_key)).toEqual([
    'administrator',
    'organization_manager',
    'viewer',
  ]);
  const [{ id, permission_count }, manager, viewer] = items;
  expect(permission_count).toBe(15);
  expect(viewer).toEqual({
    id: expect.any(String),
    application_id: account.scope.applicationId,
    name: 'Viewer',
    description: 'Reads everything, changes nothing.',
    is_system_role: true,
    system_key: 'viewer',
    is_active: true,
    version: 1,
    permission_count: 6,
    member_count: 0,
    created_at: api.clock.now.toISOString(),
    updated_at: api.clock.now.toISOString(),
  });
  expect(await heldBy(manager.id)).toEqual([
    ...['hierarchy.view', 'identity.view', 'rbac.assign_roles', 'rbac.view_roles', 'svc:organization.manage'],
  ]);
  expect(await heldBy(viewer.id)).toEqual([
    ...['api_key.view', 'audit.view', 'hierarchy.view', 'identity.view', 'rbac.view_roles', 'webhook.view'],
  ]);
  for (const [method, path, payload] of [
    ['PATCH', `/roles/${id}`, { name: 'x' }],
    ['PUT', `/roles/${id}/permissions`, { permission_keys: [] }],
    ['DELETE', `/roles/${id}`, undefined],
  ] as const) {
    expect(codeOf(await call(method, path, 409, payload, ifMatch(1)))).toBe('role.system');
  }
});

test('a role is created, read, changed, given permissions and deleted', async () => {
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
  expect(codeOf(await call('GET', `${path}/permissions`, 404))).toBe('role.not_found');
});

test('a change of a role is recorded, and a request without a change is not', async () => {
  await newPermission('ticket.close');
  const role = await newRole('Supporter', ['ticket.close', 'hierarchy.view', 'audit.view']);
  expect(await heldBy(role.id)).toEqual(['audit.view', 'hierarchy.view', 'ticket.close']);
  const path = `/roles/${role.id}`;
  api.clock.advance(1000);
  const same = { name: 'Supporter', description: null, is_active: true };
  expect((await call('PATCH', path, 200, same, ifMatch(1))).json().data).toEqual(role);
  const changed = (await call('PATCH', path, 200, { ...same, description: 'Helps' }, ifMatch(1))).json().data;
  expect(changed).toEqual({ ...role, description: 'Helps', version: 2, updated_at: api.clock.now.toISOString() });
  expect((await call('GET', path, 200)).json().data).toEqual(changed);
  api.clock.advance(1000);
  const wanted = { permission_keys: ['identity.view', 'audit.view'] };
  const put = await call('PUT', `${path}/permissions`, 200, wanted, ifMatch(2));
  expect(put.json().data.permission_keys).toEqual(['audit.view', 'identity.view']);
  expect(await heldBy(role.id)).toEqual(['audit.view', 'identity.view']);
  expect((await call('GET', path, 200)).json().data).toEqual({
    ...changed,
    version: 3,
    permission_count: 2,
    updated_at: api.clock.now.toISOString(),
  });
  await call('DELETE', path, 204, undefined, ifMatch(3));
  const { accountId: account_id, environmentId: environment_id } = account.scope;
  const of = (action: string, metadata: object) => ({
    action: `role.${action}`,
    account_id,
    environment_id,
    resource_label: 'Supporter',
    metadata,
  });
  expect(await eventsOf(role.id)).toEqual([
    of('created', { permission_keys: ['audit.view', 'hierarchy.view', 'ticket.close'], is_active: true }),
    of('updated', { changed: ['description'], is_active: true }),
    of('updated', { added: ['identity.view'], removed: ['hierarchy.view', 'ticket.close'] }),
    of('deleted', {}),
  ]);
});

test('roles are found by name, status and source, and sorted by each column in both directions', async () => {
  const made = await newRole('B first');
  api.clock.advance(1000);
  await newRole('C second');
  api.clock.advance(1000);
  await newRole('A third');
  api.clock.advance(1000);
  await call('PATCH', `/roles/${made.id}`, 200, { is_active: false }, ifMatch(1));
  await expectSorted(namesOf, {
    name: ['A third', 'B first', 'C second'],
    created_at: ['B first', 'C second', 'A third'],
    updated_at: ['C second', 'A third', 'B first'],
  });
  expect(await namesOf('status=inactive')).toEqual(['B first']);
  expect(await namesOf('status=active&source=custom')).toEqual(['A third', 'C second']);
  expect(await namesOf('q=second')).toEqual(['C second']);
  expect(await namesOf('name=c%20SECOND')).toEqual(['C second']);
  expect(await namesOf('name=second')).toEqual([]);
  expect(await namesOf('name=C%20second&q=first')).toEqual([]);
  expect(await namesOf('name=C%20second&status=inactive')).toEqual([]);
  expect(await namesOf('q=%25')).toEqual([]);
  expect(await namesOf('')).toHaveLength(6);
});

test('members are counted once each, now or later; they prevent a deletion, and ended assignments are deleted with the role', async () => {
  const [role, other] = [await newRole('Held', ['identity.view', 'audit.view']), await newRole('Free')];
  const [ana, ben] = [await newIdentity('ana'), await newIdentity('ben')];
  const inAMinute = new Date(api.clock.now.getTime() + 60_000);
  const later = await assign(ana, role.id, { effective_from: inAMinute });
  await assign(ana, role.id, { node_id: await newUnit() });
  const short = await assign(ben, role.id, { effective_to: inAMinute });
  const counted = async () => (await call('GET', '/roles?source=custom&sort_by=name&order=asc', 200)).json().items;
  expect(await counted()).toMatchObject([
    { id: other.id, permission_count: 0, member_count: 0 },
    { id: role.id, permission_count: 2, member_count: 2 },
  ]);
  const path = `/roles/${role.id}`;
  expect((await call('GET', path, 200)).json().data).toMatchObject({ permission_count: 2, member_count: 2 });
  api.clock.advance(60_000);
  expect((await call('GET', path, 200)).json().data.member_count).toBe(1);
  expect(codeOf(await call('DELETE', path, 409, undefined, ifMatch(1)))).toBe('role.in_use');
  const { items } = (await call('GET', `/identities/${ana}/role-assignments`, 200)).json();
  expect(items.map((item: { assignment_id: string }) => item.assignment_id)).toContain(later);
  const ids = items.map((item: { assignment_id: string }) => item.assignment_id);
  await call('DELETE', '/role-assignments', 200, { assignment_ids: ids });
  await call('DELETE', path, 204, undefined, ifMatch(1));
  expect(await rowsOf(api, 'select 1 from role_assignments where id = any($1)', [[short, ...ids]])).toEqual([]);
  expect(await namesOf('source=custom')).toEqual(['Free']);
  const window = { effective_from: null, effective_to: inAMinute.toISOString() };
  expect((await eventsOf(short)).slice(1)).toMatchObject([
    { action: 'role_assignment.deleted', metadata: { identity_id: ben, role_id: role.id, ...window } },
  ]);
});

test('a role with many ended assignments is deleted in several transactions, and each assignment has its event once', async () => {
  const role = await newRole('Held for a minute');
  const effective_to = new Date(api.clock.now.getTime() + 60_000);
  const ids: string[] = [];
  for (const name of ['ana', 'ben', 'cleo']) ids.push(await assign(await newIdentity(name), role.id, { effective_to }));
  api.clock.advance(60_000);
  const roles = createRoles({
    db: api.database.db,
    evaluation: api.services.evaluation,
    now: () => api.clock.now,
    removedAtOnce: 2,
  });
  await roles.remove(account.scope, role.id, 1);
  const deleted = await rowsOf<{ id: string; written_in: string }>(
    api,
    `select resource_id as id, written_in from events where environment_id = $1 and action = 'role_assignment.deleted'
     order by created_at, id`,
    [account.scope.environmentId],
  );
  expect(deleted.map(({ id }) => id).sort()).toEqual(ids.sort());
  expect(new Set(deleted.map(({ written_in }) => written_in)).size).toBe(2);
  expect(await namesOf('source=custom')).toEqual([]);
});

test('assignments that were removed before are also deleted in several transactions', async () => {
  const role = await newRole('Taken away');
  for (const name of ['dora', 'emil', 'fritz']) await assign(await newIdentity(name), role.id);
  await rowsOf(api, 'update role_assignments set removed_at = now() where role_id = $1', [role.id]);
  let transactions = 0;
  const db: Db = {
    ...api.database.db,
    transaction: (...of) => {
      transactions += 1;
      return api.database.db.transaction(...of);
    },
  };
  const { evaluation } = api.services;
  const roles = createRoles({ db, evaluation, now: () => api.clock.now, removedAtOnce: 2 });
  await roles.remove(account.scope, role.id, 1);
  expect(transactions).toBe(2);
  expect(await rowsOf(api, 'select 1 from role_assignments where role_id = $1', [role.id])).toEqual([]);
});

test('active roles that are not of the service can be assigned to an organization’s members, sorted by name', async () => {
  const organization = await newUnit({ node_type: 'organization' });
  const [second, first, asleep] = [await newRole('B'), await newRole('A', ['identity.view']), await newRole('C')];
  await call('PATCH', `/roles/${asleep.id}`, 200, { is_active: false }, ifMatch(1));
  await assign(await newIdentity('ana'), first.id);
  const { items } = (await call('GET', `/organizations/${organization}/roles`, 200)).json();
  expect(items).toEqual([{ ...first, member_count: 1 }, second]);
});

test('unknown permissions and taken names, whatever their case, are refused and nothing is created', async () => {
  await newRole('Auditor');
  expect(codeOf(await call('POST', '/roles', 409, { name: 'AUDITOR' }))).toBe('role.name_taken');
  const { id } = await newRole('Reader', ['audit.view']);
  expect(codeOf(await call('PATCH', `/roles/${id}`, 409, { name: 'auditor' }, ifMatch(1)))).toBe('role.name_taken');
  const permission_keys = ['identity.view', 'no.such'];
  const details = [{ field: 'permission_keys[1]', code: 'unknown' }];
  const { error } = (await call('POST', '/roles', 400, { name: 'New', permission_keys })).json();
  expect(error).toMatchObject({ code: 'validation.failed', details });
  expect((await call('GET', '/roles?q=New', 200)).json().items).toEqual([]);
  const put = await call('PUT', `/roles/${id}/permissions`, 400, { permission_keys }, ifMatch(1));
  expect(put.json().error).toMatchObject({ code: 'validation.failed', details });
  expect(await heldBy(id)).toEqual(['audit.view']);
});

test('exactly one of several parallel changes with one version wins', async () => {
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
