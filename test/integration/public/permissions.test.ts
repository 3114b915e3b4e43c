import { expectSorted, outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { holdRoles } from '../../support/identity-caller.js';
import { type Calls, callsWith } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let call: Calls;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  call = callsWith(api, await account.apiKey());
});
afterAll(() => api.stop());

const register = async (key: string, more: object = {}) =>
  (await call('POST', '/permissions', { key, name: `May ${key}`, ...more })).json().data;
const newRole = async (name: string, permission_keys: string[]): Promise<string> =>
  (await call('POST', '/roles', { name, permission_keys })).json().data.id;
const keysOf = async (query: string): Promise<string[]> =>
  (await call('GET', `/permissions?${query}`)).json().items.map(({ key }: { key: string }) => key);
const eventsOf = (id: string) =>
  rowsOf(
    api,
    `select action, account_id, environment_id, resource_label, metadata from events
     where resource_id = $1 order by created_at, id`,
    [id],
  );

test('the catalog starts with the permissions of the service, which nobody can change', async () => {
  const { items, pagination } = (await call('GET', '/permissions?take=100&sort_by=key&order=asc')).json();
  expect(pagination.item_count).toBe(15);
  const of = (key: string) => items.find((item: { key: string }) => item.key === key);
  expect(of('svc:organization.manage')).toMatchObject({ category: 'svc:organization', name: 'Manage organizations' });
  const view = of('identity.view');
  expect(view).toEqual({
    id: expect.any(String),
    application_id: account.scope.applicationId,
    key: 'identity.view',
    name: 'View identities',
    description: null,
    category: 'identity',
    source: 'system',
    version: 1,
    created_at: api.clock.now.toISOString(),
  });
  const path = `/permissions/${view.id}`;
  expect(outcomeOf(await call('PATCH', path, { name: 'x' }, 1))).toBe('409 permission.system');
  expect(outcomeOf(await call('DELETE', path, undefined, 1))).toBe('409 permission.system');
  expect((await call('GET', path)).json().data).toEqual(view);
});

test('a permission is registered, changed with the version that was read, used by roles, and removed', async () => {
  const permission = await register('invoice.read');
  expect(permission).toEqual({
    id: expect.any(String),
    application_id: account.scope.applicationId,
    key: 'invoice.read',
    name: 'May invoice.read',
    description: null,
    category: 'invoice',
    source: 'custom',
    version: 1,
    created_at: api.clock.now.toISOString(),
  });
  const path = `/permissions/${permission.id}`;
  const changes = { description: 'All of them', category: 'Money' };
  const changed = await call('PATCH', path, { ...changes, name: permission.name }, 1);
  expect(changed.headers.etag).toBe('"2"');
  expect(changed.json().data).toEqual({ ...permission, ...changes, version: 2 });
  expect((await call('GET', path)).json()).toEqual(changed.json());
  expect((await call('PATCH', path, changes, 2)).json()).toEqual(changed.json()); // no change
  expect((await call('PATCH', path, { name: 'May read invoices' }, 2)).json().data).toMatchObject({
    ...changes,
    version: 3,
  });
  const stale = await call('PATCH', path, { name: 'Late' }, 2);
  expect(outcomeOf(stale)).toBe('409 version.conflict');
  expect(stale.json().data).toEqual({ ...permission, ...changes, name: 'May read invoices', version: 3 });
  expect(outcomeOf(await call('DELETE', path, undefined, 2))).toBe('409 version.conflict');
  expect(outcomeOf(await call('PATCH', path, { name: 'x' }))).toBe('400 if_match.required');
  const role = await newRole('Accountant', ['invoice.read']);
  expect(outcomeOf(await call('DELETE', path, undefined, 3))).toBe('204');
  expect((await call('GET', `/roles/${role}/permissions`)).json().data.permission_keys).toEqual([]);
  expect(outcomeOf(await call('GET', path))).toBe('404 permission.not_found');
  expect(outcomeOf(await call('GET', `${path}/usage`))).toBe('404 permission.not_found');

  const { accountId: account_id, environmentId: environment_id } = account.scope;
  const key = 'invoice.read';
  const of = (action: string, more: object = {}) => ({
    action: `permission.${action}`,
    account_id,
    environment_id,
    resource_label: key,
    metadata: { key, ...more },
  });
  expect(await eventsOf(permission.id)).toEqual([
    of('created'),
    of('updated', { changed: ['description', 'category'] }),
    of('updated', { changed: ['name'] }),
    of('deleted'),
  ]);
});

test('a permission’s removal changes each role that holds it, with the next version and an event', async () => {
  const { id } = await register('invoice.read');
  await register('invoice.write');
  const [reader, other] = [await newRole('Reader', ['invoice.read', 'invoice.write']), await newRole('Other', [])];
  api.clock.advance(1_000);
  expect(outcomeOf(await call('DELETE', `/permissions/${id}`, undefined, 1))).toBe('204');
  const updated_at = api.clock.now.toISOString();
  expect((await call('GET', `/roles/${reader}`)).json().data).toMatchObject({ version: 2, updated_at });
  expect((await call('GET', `/roles/${other}`)).json().data.version).toBe(1);
  const metadata = { added: [], removed: ['invoice.read'] };
  expect((await eventsOf(reader)).slice(1)).toMatchObject([
    { action: 'role.updated', resource_label: 'Reader', metadata },
  ]);
  expect(await eventsOf(other)).toHaveLength(1);
});

test('a category is the one that was sent, or else what precedes the first dot', async () => {
  expect(await register('billing:invoice.line.read')).toMatchObject({ category: 'billing:invoice' });
  const written = await register('invoice.write', { category: ' Money ' });
  expect(written).toMatchObject({ category: 'Money' });
  const path = `/permissions/${written.id}`;
  const categoryAfter = async (category: string | null, version: number) =>
    (await call('PATCH', path, { category }, version)).json().data;
  expect(await categoryAfter(null, 1)).toMatchObject({ category: 'invoice', version: 2 });
  expect(await categoryAfter(null, 2)).toMatchObject({ category: 'invoice', version: 2 });
  expect(await categoryAfter(' Money ', 2)).toMatchObject({ category: 'Money', version: 3 });
  for (const category of [' ', '\u200b', 'a\nb']) {
    const body = { key: 'invoice.void', name: 'Void', category };
    expect(outcomeOf(await call('POST', '/permissions', body))).toBe('400 validation.failed');
  }
});

test('permissions are found by key, name, category and source, and sorted by each column in both directions', async () => {
  await register('b.one', { name: 'Third', category: 'left' });
  api.clock.advance(1000);
  await register('c.two', { name: 'First', category: 'right' });
  api.clock.advance(1000);
  await register('a.three', { name: 'Second', category: 'left' });
  await expectSorted(keysOf, {
    key: ['a.three', 'b.one', 'c.two'],
    name: ['c.two', 'a.three', 'b.one'],
    created_at: ['b.one', 'c.two', 'a.three'],
  });
  expect(await keysOf('q=.TWO')).toEqual(['c.two']);
  expect(await keysOf('q=second')).toEqual(['a.three']);
  expect(await keysOf('q=%25')).toEqual([]);
  expect(await keysOf('key=b.one')).toEqual(['b.one']);
  expect(await keysOf('key=b.on')).toEqual([]);
  expect(await keysOf('key=b.one&category=right')).toEqual([]);
  expect(await keysOf('category=left&sort_by=key&order=asc')).toEqual(['a.three', 'b.one']);
  expect(await keysOf('category=left&source=system')).toEqual([]);
  expect(await keysOf('source=system&take=100')).toHaveLength(15);
});

test('a permission’s usage lists the roles that hold it, by name, with their present and future assignments', async () => {
  const { id } = await register('vault.open');
  const none = await newRole('Spare', ['vault.open']);
  const keeper = await newRole('Keeper', ['vault.open']);
  await newRole('Other', ['identity.view']);
  const nodes = await Promise.all(
    ['Vienna', 'Graz'].map(async (name) => (await call('POST', '/nodes', { node_type: 'unit', name })).json().data.id),
  );
  const identity = (await call('POST', '/identities', { email: 'ana@example.com' })).json().data.id;
  const assign = (more: object) =>
    call('POST', `/identities/${identity}/role-assignments`, { role_id: keeper, ...more });
  await assign({ effective_to: new Date(api.clock.now.getTime() + 60_000) }); // at the root, and soon over
  await assign({ node_id: nodes[0] });
  const taken = (await assign({ node_id: nodes[1] })).json().data.assignment_id;
  const used = async () => (await call('GET', `/permissions/${id}/usage`)).json().items;
  const of = (role: string, name: string, assignment_count: number) => ({
    id: role,
    name,
    is_system_role: false,
    assignment_count,
  });
  expect(await used()).toEqual([of(keeper, 'Keeper', 3), of(none, 'Spare', 0)]);
  await call('DELETE', `/identities/${identity}/role-assignments/${taken}`);
  api.clock.advance(60_000);
  expect(await used()).toEqual([of(keeper, 'Keeper', 1), of(none, 'Spare', 0)]);

  const view = (await call('GET', '/permissions?q=identity.view')).json().items[0].id;
  await holdRoles(api, account.scope, identity, [{ role: 'Viewer' }]);
  const names = (await call('GET', `/permissions/${view}/usage`)).json().items;
  expect(names.map((use: Record<string, unknown>) => [use.name, use.is_system_role, use.assignment_count])).toEqual([
    ['Administrator', true, 0],
    ['Organization manager', true, 0],
    ['Other', false, 0],
    ['Viewer', true, 1],
  ]);
});

test.each([
  ['without a dot', 'invoice', 'pattern'],
  ['in capitals', 'Invoice.Read', 'pattern'],
  ['with a blank', 'in voice.read', 'pattern'],
  ['of the service', 'svc:thing.do', 'reserved'],
])('a key %s is refused', async (_name, wrong, code) => {
  const refused = await call('POST', '/permissions', { key: wrong, name: 'x' });
  expect(outcomeOf(refused)).toBe('400 validation.failed');
  expect(refused.json().error.details).toMatchObject([{ field: 'key', code }]);
  expect(await keysOf('source=custom')).toEqual([]);
});

test.each(['identity.view', 'svc:organization.manage'])('the key of the system permission %s is taken', async (key) => {
  const refused = await call('POST', '/permissions', { key, name: 'x' });
  expect(outcomeOf(refused)).toBe('409 permission.key_taken');
});

test('a taken key is refused, in parallel too', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => call('POST', '/permissions', { key: 'parallel.key', name: 'x' })),
  );
  expect(outcomesOf(answers)).toEqual({ '201': 1, '409 permission.key_taken': 7 });
});

test("another account's permission, and another environment's of the same account, is neither found nor listed", async () => {
  const { id } = await register('secret.plan');
  const stranger = callsWith(api, await (await newAccount(api)).apiKey());
  const owner = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  for (const theirs of [stranger, owner]) {
    const path = `/permissions/${id}`;
    const answers = [
      await theirs('GET', path),
      await theirs('GET', `${path}/usage`),
      await theirs('PATCH', path, { name: 'x' }, 1),
      await theirs('DELETE', path, undefined, 1),
    ];
    expect(outcomesOf(answers)).toEqual({ '404 permission.not_found': 4 });
    expect((await theirs('GET', '/permissions?source=custom')).json().items).toEqual([]);
    expect(outcomeOf(await theirs('POST', '/roles', { name: 'x', permission_keys: ['secret.plan'] }))).toBe(
      '400 validation.failed',
    );
  }
});
