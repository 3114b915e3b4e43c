import { newMember } from '../../support/administrators.js';
import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let owner: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = await account.as('owner');
});
afterAll(() => api.stop());

const call = (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object, headers: object = owner) =>
  api.app.inject({ method, url: account.portalPath(path), headers: { ...headers }, ...(payload && { payload }) });
const add = (resources: object[], role_permissions: object[] = [], headers?: object) =>
  call('POST', '/setup/resource-permissions', { resources, role_permissions }, headers);
const newRole = async (name: string, permission_keys: string[] = []) =>
  (await call('POST', '/roles', { name, permission_keys })).json().data as { id: string; version: number };
const heldBy = async (id: string) => (await call('GET', `/roles/${id}/permissions`)).json().data;
const registered = async () =>
  (
    await rowsOf<{ key: string }>(
      api,
      "select key from permissions where environment_id = $1 and source = 'custom' order by key",
      [account.scope.environmentId],
    )
  ).map(({ key }) => key);
const invoice = { name: 'billing:invoice', actions: ['read', 'write'] };
const counts = (permissions_created: number, skipped_permissions: number, roles_updated: number) => ({
  data: { permissions_created, skipped_permissions, roles_updated },
});

test('permissions are registered and added to roles, with an event for each and one for all', async () => {
  const role = await newRole('Accountant', ['identity.view']);
  const other = await newRole('Reader', ['identity.view']);
  const since = await databaseTime(api);
  api.clock.advance(1000);
  const made = await add(
    [invoice],
    [
      { role_id: other.id, permission_keys: ['identity.view'] },
      { role_id: role.id, permission_keys: ['billing:invoice.read', 'identity.view'] },
    ],
  );
  expect([made.statusCode, made.json()]).toEqual([201, counts(2, 0, 1)]);
  const updated_at = api.clock.now.toISOString();
  expect((await call('GET', `/roles/${role.id}`)).json().data).toMatchObject({ updated_at, permission_count: 2 });
  expect((await call('GET', `/roles/${other.id}`)).json().data).toEqual(other);
  expect(await heldBy(role.id)).toMatchObject({
    version: 2,
    permission_keys: ['billing:invoice.read', 'identity.view'],
  });
  const { items } = (await call('GET', '/permissions?source=custom&sort_by=key&order=asc')).json();
  expect(items).toMatchObject([
    {
      key: 'billing:invoice.read',
      name: 'billing:invoice.read',
      description: null,
      category: 'billing:invoice',
      source: 'custom',
      version: 1,
      created_at: updated_at,
    },
    { key: 'billing:invoice.write' },
  ]);
  expect(await eventsSince(api, account.scope.accountId, since)).toMatchObject([
    { action: 'permission.created', metadata: { key: 'billing:invoice.read' } },
    { action: 'permission.created', metadata: { key: 'billing:invoice.write' } },
    { action: 'role.updated', metadata: { added: ['billing:invoice.read'], removed: [] } },
    {
      action: 'resource_permissions.added',
      metadata: { resources: ['billing:invoice'], permissions_created: 2, roles_updated: 1 },
      environment_id: account.scope.environmentId,
      actor_id: account.userId,
    },
  ]);
});

test('existing ones are skipped and unchanged; a repetition adds nothing and records nothing', async () => {
  const role = await newRole('Accountant');
  await call('POST', '/permissions', { key: 'billing:invoice.read', name: 'Read invoices', category: 'Money' });
  const grants = [{ role_id: role.id.toUpperCase(), permission_keys: ['billing:invoice.read'] }];
  expect((await add([invoice, invoice, { name: 'identity', actions: ['view'] }], grants)).json()).toEqual(
    counts(1, 2, 1),
  );
  const since = await databaseTime(api);
  expect((await add([invoice], [...grants, ...grants])).json()).toEqual(counts(0, 2, 0));
  expect(await eventsSince(api, account.scope.accountId, since)).toEqual([]);
  expect(await heldBy(role.id)).toMatchObject({ version: 2, permission_keys: ['billing:invoice.read'] });
  const { items } = (await call('GET', '/permissions?q=invoice.read')).json();
  expect(items).toMatchObject([{ name: 'Read invoices', category: 'Money', version: 1 }]);
});

test('without roles permissions are created and added to none; an empty request does nothing', async () => {
  expect((await add([invoice])).json()).toEqual(counts(2, 0, 0));
  expect(
    await rowsOf(
      api,
      "select 1 from role_permissions rp join permissions p on p.id = rp.permission_id where p.environment_id = $1 and p.source = 'custom'",
      [account.scope.environmentId],
    ),
  ).toEqual([]);
  expect((await add([])).json()).toEqual(counts(0, 0, 0));
});

test("what is only registered, or only added to roles, has events too, and each role's lists what it got", async () => {
  const [reader, writer] = [await newRole('Reader'), await newRole('Writer')];
  const since = await databaseTime(api);
  await add([invoice]);
  const grant = ({ id }: { id: string }, key: string) => ({ role_id: id, permission_keys: [key] });
  await add([], [grant(reader, 'billing:invoice.read'), grant(writer, 'billing:invoice.write')]);
  const events = (await eventsSince(api, account.scope.accountId, since)).filter(
    ({ action }) => action !== 'permission.created',
  );
  const told = events.map(({ action, metadata }) => ({ action, metadata }));
  const setUp = (resources: string[], permissions_created: number, roles_updated: number) => ({
    action: 'resource_permissions.added',
    metadata: { resources, permissions_created, roles_updated },
  });
  const got = (key: string) => ({ action: 'role.updated', metadata: { added: [key], removed: [] } });
  expect(told).toHaveLength(4);
  expect(told[0]).toEqual(setUp(['billing:invoice'], 2, 0));
  expect(told.slice(1)).toEqual(
    expect.arrayContaining([got('billing:invoice.read'), got('billing:invoice.write'), setUp([], 0, 2)]),
  );
});

test('a thousand are possible at once; an existing permission of the service is skipped like any other', async () => {
  const many = { name: 'many', actions: Array.from({ length: 999 }, (_, i) => `a${i}`) };
  expect((await add([many, { name: 'svc:organization', actions: ['manage'] }])).json()).toEqual(counts(999, 1, 0));
});

test('a role outside the environment is 404, a system role 409, an unknown permission 400, and nothing is created', async () => {
  const role = await newRole('Accountant');
  const neighbour = await newAccount(api);
  const headers = await neighbour.as('owner');
  const foreign = (
    await api.app.inject({
      method: 'POST',
      url: neighbour.portalPath('/roles'),
      headers,
      payload: { name: 'x', permission_keys: [] },
    })
  ).json().data.id;
  const elsewhere = (
    await api.app.inject({
      method: 'POST',
      url: account.portalPath('/roles', 'production'),
      headers: owner,
      payload: { name: 'x', permission_keys: [] },
    })
  ).json().data.id;
  const { items } = (await call('GET', '/roles?source=system')).json();
  const bound = (role_id: string, ...permission_keys: string[]) => [{ role_id, permission_keys }];
  for (const id of [foreign, elsewhere, '00000000-0000-4000-8000-000000000000']) {
    expect(outcomeOf(await add([invoice], bound(id, 'no.such')))).toBe('404 role.not_found');
  }
  expect(outcomeOf(await add([invoice], bound(items[0].id, 'no.such')))).toBe('409 role.system');
  const unknown = await add([invoice], bound(role.id, 'billing:invoice.read', 'no.such'));
  expect(outcomeOf(unknown)).toBe('400 validation.failed');
  expect(unknown.json().error.details).toMatchObject([
    { field: 'role_permissions[0].permission_keys[1]', code: 'unknown' },
  ]);
  const later = await add([invoice], [...bound(role.id, 'identity.view'), ...bound(role.id, 'no.such')]);
  expect(later.json().error.details).toMatchObject([{ field: 'role_permissions[1].permission_keys[0]' }]);
  expect(await registered()).toEqual([]);
  expect((await heldBy(role.id)).version).toBe(1);
});

test.each([
  ['no resources', { role_permissions: [] }],
  ['no roles', { resources: [] }],
  ['a name in capitals', { resources: [{ name: 'Invoice', actions: ['read'] }], role_permissions: [] }],
  ['an action with a dot', { resources: [{ name: 'invoice', actions: ['read.all'] }], role_permissions: [] }],
  ['a resource of the service', { resources: [{ name: 'svc:thing', actions: ['do'] }], role_permissions: [] }],
  ['a role without an id', { resources: [], role_permissions: [{ permission_keys: [] }] }],
  ['a malformed id', { resources: [], role_permissions: [{ role_id: 'x', permission_keys: [] }] }],
  ['an unknown field', { resources: [], role_permissions: [], more: 1 }],
  [
    'too many actions',
    {
      resources: [1, 2].map((n) => ({ name: `r${n}`, actions: Array.from({ length: 501 }, (_, i) => `a${i}`) })),
      role_permissions: [],
    },
  ],
])('%s is refused', async (_name, body) => {
  expect(outcomeOf(await call('POST', '/setup/resource-permissions', body))).toBe('400 validation.failed');
  expect(await registered()).toEqual([]);
});

test('only callers who manage permissions may do it, in an environment of theirs', async () => {
  expect(outcomeOf(await add([invoice], [], { authorization: '' }))).toMatch(/^401/);
  expect(outcomeOf(await add([invoice], [], await account.as('viewer')))).toBe('403 account.capability_required');
  const { headers } = await newMember(api, await newAccount(api), 'owner');
  expect(outcomeOf(await add([invoice], [], headers))).toMatch(/^(403|404)/);
  expect(outcomeOf(await add([invoice], [], await account.apiKey()))).toMatch(/^401|403/);
  expect(await registered()).toEqual([]);
});

test('a retry with its Idempotency-Key gets the first answer', async () => {
  const headers = { ...owner, 'idempotency-key': 'setup-1' };
  const first = await add([invoice], [], headers);
  const again = await add([invoice], [], headers);
  expect([again.statusCode, again.json()]).toEqual([201, first.json()]);
});

test('in parallel, each permission and each mapping is created once, in whatever order they are named', async () => {
  const roles = [await newRole('A'), await newRole('B')];
  const since = await databaseTime(api);
  const names = ['a', 'b', 'c', 'd'];
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => {
      const turned = <T>(items: T[]) => (i % 2 ? [...items].reverse() : items);
      return add(
        turned(names).map((name) => ({ name, actions: turned(['read', 'write']) })),
        turned(roles).map(({ id }) => ({ role_id: id, permission_keys: turned(names).map((name) => `${name}.read`) })),
      );
    }),
  );
  expect(outcomesOf(answers)).toEqual({ 201: 12 });
  const sum = (key: string) => answers.reduce((total, answer) => total + answer.json().data[key], 0);
  expect([sum('permissions_created'), sum('skipped_permissions'), sum('roles_updated')]).toEqual([8, 88, 2]);
  for (const { id } of roles)
    expect(await heldBy(id)).toMatchObject({ version: 2, permission_keys: names.map((name) => `${name}.read`) });
  const actions = (await eventsSince(api, account.scope.accountId, since)).map(({ action }) => action);
  expect(actions.filter((action) => action === 'resource_permissions.added')).toHaveLength(1);
});

test('while permissions are removed and roles deleted, a setup succeeds or is refused, and nothing breaks', async () => {
  for (let round = 0; round < 4; round++) {
    const role = await newRole(`Role ${round}`);
    await add([invoice]);
    const { items } = (await call('GET', '/permissions?q=billing')).json();
    const remove = (path: string, version: number) =>
      api.app.inject({
        method: 'DELETE',
        url: account.portalPath(path),
        headers: { ...owner, 'if-match': `"${version}"` },
      });
    const grants = [{ role_id: role.id, permission_keys: ['billing:invoice.read', 'billing:invoice.write'] }];
    const answers = await Promise.all([
      add([], grants),
      ...items.map(({ id }: { id: string }) => remove(`/permissions/${id}`, 1)),
      add([invoice], grants),
      remove(`/roles/${role.id}`, 1),
    ]);
    for (const outcome of Object.keys(outcomesOf(answers))) {
      expect(['201', '204', '400 validation.failed', '404 role.not_found', '409 version.conflict']).toContain(outcome);
    }
  }
});

test('a permission that is deleted at any moment of its registration existed before, or is created anew', async () => {
  const setUp = async (name: string) => {
    await add([{ name, actions: ['open'] }]);
    const role = await newRole(`Porter of ${name}`);
    const [open] = await rowsOf<{ id: string }>(
      api,
      'select id from permissions where environment_id = $1 and key = $2',
      [account.scope.environmentId, `${name}.open`],
    );
    const keys = [`${name}.open`, `${name}.shut`];
    return {
      role,
      register: () => add([{ name, actions: ['open', 'shut'] }], [{ role_id: role.id, permission_keys: keys }]),
      remove: () => call('DELETE', `/permissions/${open!.id}`, undefined, { ...owner, 'if-match': '1' }),
    };
  };
  const alone = await setUp('gate');
  const { statements } = await counted(alone.register);
  const held = new Set<string>();
  for (let at = 1; at <= statements; at++) {
    const { role, register, remove } = await setUp(`door-${at}`);
    const [made, removed] = await interleaved(api.database.ownerUrl, at, register, remove);
    expect([at, outcomeOf(made), outcomeOf(removed)]).toEqual([at, '201', '204']);
    held.add((await heldBy(role.id)).permission_keys.map((key: string) => key.split('.')[1]).join());
  }
  expect([...held].sort()).toEqual(['open,shut', 'shut']);
});
