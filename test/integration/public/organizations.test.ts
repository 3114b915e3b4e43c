import { v7 as uuidv7 } from 'uuid';
import { outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { newOrganization, newRole, type TestOrganization } from '../../support/api-organizations.js';
import { type Calls, callsWith, countersOf, newIdentity, newNode, rootOf } from '../../support/nodes.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
});
afterAll(() => api.stop());

function itemsOf(answer: Awaited<ReturnType<Calls>>): { name: string }[] {
  if (answer.statusCode !== 200) throw new Error(answer.body);
  return answer.json().items;
}
const namesOf = async (call: Calls, query = '') =>
  itemsOf(await call('GET', `/organizations${query}`)).map(({ name }) => name);
const portalOf = async (role: Parameters<TestAccount['as']>[0]) =>
  callsWith(api, await account.as(role), account.portalPath(''));
const actionsSince = async (since: string) =>
  (await eventsSince(api, account.scope.accountId, since)).map(({ action }) => action);

describe('an organization', () => {
  test('is created, returned in its current state, changed and deleted, with its node', async () => {
    const since = await databaseTime(api);
    const made = await key('POST', '/organizations', {
      name: ' Acme GmbH ',
      description: 'Customer',
      metadata: { tier: 'gold' },
    });
    expect([made.statusCode, made.headers.etag]).toEqual([201, '"1"']);
    const { data } = made.json();
    expect(data).toEqual({
      ...shape,
      parent_node_id: expect.any(String),
      name: 'Acme GmbH',
      description: 'Customer',
      slug: 'acme-gmbh',
      status: 'active',
      metadata: { tier: 'gold' },
      member_count: 0,
      pending_invite_count: 0,
      version: 1,
    });
    const read = await key('GET', `/organizations/${data.id}`);
    expect([read.headers.etag, read.json().data]).toEqual(['"1"', data]);
    const node = (await key('GET', `/nodes/${data.id}`)).json().data;
    const { parent_node_id } = data;
    expect(node).toMatchObject({
      node_type: 'organization',
      parent_node_id,
      slug: 'acme-gmbh',
      metadata: { tier: 'gold' },
    });

    const changes = { name: 'Acme AG', description: null, slug: 'acme', metadata: {} };
    const changed = await key('PATCH', `/organizations/${data.id}`, changes, 1);
    expect(changed.headers.etag).toBe('"2"');
    expect(changed.json().data).toEqual({ ...data, ...changes, version: 2, updated_at: shape.updated_at });
    expect(outcomeOf(await key('PATCH', `/nodes/${data.id}`, { status: 'inactive' }, 2))).toBe('200');
    expect((await key('GET', `/organizations/${data.id}`)).json().data).toMatchObject({
      status: 'inactive',
      version: 3,
    });
    expect((await key('GET', '/organizations?slug=acme')).json().items).toMatchObject([{ status: 'inactive' }]);
    expect(outcomeOf(await key('DELETE', `/organizations/${data.id}`, undefined, 3))).toBe('204');
    expect(outcomeOf(await key('GET', `/organizations/${data.id}`))).toBe('404 organization.not_found');
    expect(await countersOf(api, account)).toEqual({ nodes: 1, organizations: 0 });
    expect(await actionsSince(since)).toEqual([
      ...['node.created', 'organization.created', 'node.updated', 'organization.updated'],
      ...['node.updated', 'organization.updated'],
      ...['node.deleted', 'organization.deleted'],
    ]);
  });

  test('may be where the schema allows it', async () => {
    const acme = await newOrganization(key, 'Acme');
    const inside = await newOrganization(key, 'Inside', { parent_node_id: acme.id });
    const { parent_node_id } = (await key('GET', `/nodes/${inside.id}`)).json().data;
    expect(parent_node_id).toBe(acme.id);
    const unit = await newNode(key, 'Unit', acme.id);
    const under = (parent: string) => key('POST', '/organizations', { name: 'Below', parent_node_id: parent });
    expect(outcomeOf(await under(unit.id))).toBe('400 nodes.type_not_allowed');
    expect(outcomeOf(await under(uuidv7()))).toBe('404 nodes.node_not_found');
  });

  test('has a slug that no sibling has: a taken one is refused if requested, and varied if made from the name', async () => {
    await newOrganization(key, 'Acme');
    const taken = await key('POST', '/organizations', { name: 'Other', slug: 'acme' });
    expect(outcomeOf(taken)).toBe('409 organization.slug_taken');
    const other = await newOrganization(key, 'Acme');
    expect(other.slug).toMatch(/^acme-[a-z0-9]{5}$/);
    const renamed = await key('PATCH', `/organizations/${other.id}`, { slug: 'acme' }, 1);
    expect(outcomeOf(renamed)).toBe('409 organization.slug_taken');
  });

  test.each([
    [{}],
    [{ name: ' ' }],
    [{ name: 'a\u0007' }],
    [{ name: 'Acme', slug: 'No' }],
    [{ name: 'Acme', metadata: [] }],
    [{ name: 'Acme', metadata: { text: 'x'.repeat(17 * 1024) } }],
    [{ name: 'Acme', node_type: 'unit' }],
    [{ name: 'Acme', parent_node_id: 'root' }],
  ])('is not created from %j', async (body) => {
    expect(outcomeOf(await key('POST', '/organizations', body))).toBe('400 validation.failed');
  });

  test('is created once by retries with one Idempotency-Key', async () => {
    const headers = { ...(await account.apiKey()), 'idempotency-key': uuidv7() };
    const again = callsWith(api, headers);
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await again('POST', '/organizations', { name: 'Acme' }));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(await namesOf(key)).toEqual(['Acme']);
  });

  test('is no other node, and no organization of another environment', async () => {
    const unit = await newNode(key, 'Unit', null);
    const other = await newAccount(api);
    const foreign = await newOrganization(callsWith(api, await other.apiKey()), 'Foreign');
    for (const id of [unit.id, foreign.id, uuidv7(), (await rootOf(key)).id]) {
      for (const [method, path, body, version] of [
        ['GET', '', undefined],
        ['GET', '/roles', undefined],
        ['PATCH', '', { name: 'Mine' }, 1],
        ['PATCH', '', { nonsense: true }],
        ['DELETE', '?cascade=true', undefined, 1],
      ] as const) {
        const answer = await key(method, `/organizations/${id}${path}`, body, version);
        expect(outcomeOf(answer)).toBe('404 organization.not_found');
      }
    }
    expect(await namesOf(key)).toEqual([]);
  });
});

describe('If-Match', () => {
  let acme: TestOrganization;
  beforeEach(async () => {
    acme = await newOrganization(key, 'Acme');
  });

  test('is required, and a stale version gets the organization’s current state', async () => {
    const path = `/organizations/${acme.id}`;
    expect(outcomeOf(await key('PATCH', path, { name: 'A' }))).toBe('400 if_match.required');
    expect(outcomeOf(await key('DELETE', path))).toBe('400 if_match.required');
    expect(outcomeOf(await key('PATCH', path, { name: 'A' }, '"x"'))).toBe('400 if_match.invalid');
    for (const stale of [await key('PATCH', path, { name: 'A' }, 7), await key('DELETE', path, undefined, 7)]) {
      expect(outcomeOf(stale)).toBe('409 version.conflict');
      expect(stale.json().data).toEqual(acme);
    }
  });

  test('lets one of many changes win', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => key('PATCH', `/organizations/${acme.id}`, { name: `Name ${i}` }, 1)),
    );
    expect(outcomesOf(answers)).toEqual({ 200: 1, '409 version.conflict': 7 });
  });
});

describe('deleting', () => {
  test('deletes what is below it only on request', async () => {
    const acme = await newOrganization(key, 'Acme');
    const inside = await newOrganization(key, 'Inside', { parent_node_id: acme.id });
    await newNode(key, 'Unit', inside.id);
    const deleting = (query: string) => key('DELETE', `/organizations/${acme.id}${query}`, undefined, 1);
    expect(outcomeOf(await deleting(''))).toBe('400 nodes.has_children');
    expect(outcomeOf(await deleting('?cascade=true'))).toBe('204');
    expect(await countersOf(api, account)).toEqual({ nodes: 1, organizations: 0 });
  });

  test('all of them requires the slug of the environment, and leaves nodes that are not below one', async () => {
    for (const name of ['Acme', 'Other']) {
      const { id } = await newOrganization(key, name);
      await newOrganization(key, 'Inside', { parent_node_id: id });
      await newNode(key, 'Team', id);
    }
    await newNode(key, 'Unit', null);
    const since = await databaseTime(api);
    for (const query of ['', '?confirm=', '?confirm=production']) {
      const refused = await key('DELETE', `/organizations${query}`);
      expect(outcomeOf(refused)).toBe('400 organization.confirmation_required');
    }
    expect(outcomeOf(await key('DELETE', '/organizations?confirm=development'))).toBe('204');
    expect(await countersOf(api, account)).toEqual({ nodes: 2, organizations: 0 });
    const nodes = await rowsOf(api, `select name from nodes where environment_id = $1 and node_type = 'unit'`, [
      account.scope.environmentId,
    ]);
    expect(nodes).toEqual([{ name: 'Unit' }]);
    const actions = await actionsSince(since);
    expect(actions.filter((action) => action === 'organization.deleted')).toHaveLength(4);
    expect(actions.filter((action) => action === 'node.deleted')).toHaveLength(6);
    expect(outcomeOf(await key('DELETE', '/organizations?confirm=development'))).toBe('204');
  });

  test('all of them continues until none is left', async () => {
    await Promise.all(Array.from({ length: 103 }, (_, i) => newOrganization(key, `Number ${i}`)));
    expect(outcomeOf(await key('DELETE', '/organizations?confirm=development'))).toBe('204');
    expect(await countersOf(api, account)).toEqual({ nodes: 1, organizations: 0 });
  });

  test('all of them is refused in a production environment', async () => {
    const owner = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
    await newOrganization(owner, 'Acme');
    const refused = await owner('DELETE', '/organizations?confirm=production');
    expect(outcomeOf(refused)).toBe('409 organization.production_environment');
    expect(await namesOf(owner)).toEqual(['Acme']);
  });
});

describe('the list', () => {
  test('finds names and slugs, sorts, and counts its results', async () => {
    for (const [name, slug] of [
      ['Beta 100%', 'two'],
      ['alpha_x', 'one'],
      ['Gamma', 'beta-three'],
    ]) {
      await newOrganization(key, name as string, { slug });
      api.clock.advance(1_000);
    }
    await newNode(key, 'Beta unit', null);
    expect(await namesOf(key)).toEqual(['Gamma', 'alpha_x', 'Beta 100%']);
    expect(await namesOf(key, '?sort_by=slug&order=asc')).toEqual(['Gamma', 'alpha_x', 'Beta 100%']);
    expect(await namesOf(key, '?sort_by=name&order=desc&take=1&page=3')).toHaveLength(1);
    expect(await namesOf(key, '?q=BETA&order=asc')).toEqual(['Beta 100%', 'Gamma']);
    expect(await namesOf(key, `?q=${encodeURIComponent('0%')}`)).toEqual(['Beta 100%']);
    expect(await namesOf(key, '?q=a_x')).toEqual(['alpha_x']);
    expect(await namesOf(key, '?q=o%0An')).toEqual([]);
    expect(await namesOf(key, '?slug=one')).toEqual(['alpha_x']);
    expect(await namesOf(key, '?slug=one&q=gamma')).toEqual([]);
    expect(await namesOf(key, '?slug=beta-unit')).toEqual([]); // a node, but no organization
    const { id: parent } = (await key('GET', '/organizations?slug=two')).json().items[0];
    await newOrganization(key, 'Below', { parent_node_id: parent });
    expect(await namesOf(key, `?parent_node_id=${parent}`)).toEqual(['Below']);
    await key(
      'DELETE',
      `/organizations/${(await key('GET', '/organizations?slug=below')).json().items[0].id}`,
      undefined,
      1,
    );
    const page = (await key('GET', '/organizations?take=2&q=beta')).json();
    expect(page.pagination).toMatchObject({ item_count: 2, page_count: 1 });
    expect((await key('GET', '/organizations?take=2')).json().pagination).toMatchObject({
      item_count: 3,
      page_count: 2,
    });
    for (const query of ['?take=0', '?take=101', '?page=0', '?sort_by=metadata', '?status=active']) {
      expect(outcomeOf(await key('GET', `/organizations${query}`))).toBe('400 validation.failed');
    }
  });

  test('shows an end user what is at and below the nodes where they may see it', async () => {
    const acme = await newOrganization(key, 'Acme');
    await newOrganization(key, 'Inside', { parent_node_id: acme.id });
    const other = await newOrganization(key, 'Other');
    await newNode(key, 'Unit', acme.id);
    const ana = callsWith(api, (await newIdentity(api, account, [['organization_manager', acme.id]])).headers);
    expect((await namesOf(ana)).sort()).toEqual(['Acme', 'Inside']);
    expect(outcomeOf(await ana('GET', `/organizations/${acme.id}`))).toBe('200');
    expect(outcomeOf(await ana('GET', `/organizations/${other.id}`))).toBe('403 permission.required');
    await key('PATCH', `/nodes/${acme.id}`, { status: 'inactive' }, 1);
    expect(await namesOf(ana)).toEqual([]);
    expect(outcomeOf(await ana('GET', `/organizations/${acme.id}`))).toBe('403 permission.required');
    expect(await namesOf(key)).toHaveLength(3);
  });

  test('shows an administrator of a part that part', async () => {
    const acme = await newOrganization(key, 'Acme');
    const other = await newOrganization(key, 'Other');
    const admin = await account.as('admin');
    await rowsOf(
      api,
      `update membership_roles set limits = $2 from administrator_roles r
       where r.id = role_id and membership_roles.account_id = $1 and r.system_key = 'admin'`,
      [account.scope.accountId, { application_ids: [], environment_ids: [], node_ids: [acme.id] }],
    );
    const part = callsWith(api, admin, account.portalPath(''));
    expect(await namesOf(part)).toEqual(['Acme']);
    expect(outcomeOf(await part('GET', `/organizations/${acme.id}`))).toBe('200');
    expect(outcomeOf(await part('GET', `/organizations/${other.id}`))).toBe('404 organization.not_found');
    expect(outcomeOf(await part('PATCH', `/organizations/${acme.id}`, { name: 'A' }, 1))).toBe('200');
    expect(outcomeOf(await part('DELETE', '/organizations?confirm=development'))).toBe(
      '403 account.capability_required',
    );
    expect(outcomeOf(await part('POST', '/organizations', { name: 'New' }))).toMatch(/^40[34] /);
    const inside = await part('POST', '/organizations', { name: 'New', parent_node_id: acme.id });
    expect(outcomeOf(inside)).toBe('201');
  });
});

describe('permissions', () => {
  let acme: TestOrganization;
  beforeEach(async () => {
    acme = await newOrganization(key, 'Acme');
  });
  const attempts = (call: Calls) => ({
    list: () => call('GET', '/organizations'),
    get: () => call('GET', `/organizations/${acme.id}`),
    roles: () => call('GET', `/organizations/${acme.id}/roles`),
    change: () => call('PATCH', `/organizations/${acme.id}`, { name: 'Acme' }, 1),
    create: () => call('POST', '/organizations', { name: 'New' }),
    remove: () => call('DELETE', `/organizations/${acme.id}`, undefined, 7),
    removeAll: () => call('DELETE', '/organizations?confirm=no'),
  });
  const outcomesFor = async (call: Calls) => {
    const outcomes: Record<string, string> = {};
    for (const [name, attempt] of Object.entries(attempts(call))) outcomes[name] = outcomeOf(await attempt());
    return outcomes;
  };
  const allowed = {
    list: '200',
    get: '200',
    roles: '200',
    change: '200',
    create: '201',
    remove: '409 version.conflict',
    removeAll: '400 organization.confirmation_required',
  };
  const refused = (code: string) => Object.fromEntries(Object.keys(allowed).map((name) => [name, code]));

  test('an API key has those of its scopes', async () => {
    const scoped = async (...scopes: string[]) => outcomesFor(callsWith(api, await account.apiKey(scopes)));
    const none = refused('403 api_key.scope_required');
    const seen = { list: '200', get: '200' };
    expect(await scoped('identity.manage')).toEqual(none);
    expect(await scoped('hierarchy.view')).toEqual({ ...none, ...seen, roles: '200' });
    expect(await scoped('svc:organization.manage')).toEqual({ ...allowed, list: none.list, get: none.get });
    const { roles } = none;
    expect(await scoped('hierarchy.view', 'hierarchy.manage')).toEqual({ ...allowed, create: '201' });
    expect(await scoped('hierarchy.manage')).toEqual({ ...allowed, list: none.list, get: none.get, roles });
  });

  test('end users have those of their roles, where they hold them', async () => {
    const who = async (role: string, nodeId: string) =>
      outcomesFor(callsWith(api, (await newIdentity(api, account, [[role, nodeId]])).headers));
    const none = refused('403 permission.required');
    const root = await rootOf(key);
    expect(await who('viewer', root.id)).toEqual({ ...none, list: '200', get: '200', roles: '200' });
    const { create, removeAll } = none;
    expect(await who('organization_manager', acme.id)).toEqual({ ...allowed, create, removeAll });
    expect(await who('organization_manager', root.id)).toEqual(allowed);
  });

  test('administrators have those of their capabilities', async () => {
    expect(await outcomesFor(await portalOf('developer'))).toEqual(allowed);
    expect(await outcomesFor(await portalOf('viewer'))).toEqual({
      ...refused('403 account.capability_required'),
      list: '200',
      get: '200',
      roles: '200',
    });
  });

  test('strangers have none', async () => {
    expect(Object.values(await outcomesFor(callsWith(api, {})))).toEqual(Array(7).fill('401'));
  });
});

test('the roles that its members can be given are active, not of the system, and sorted by name', async () => {
  const { id } = await newOrganization(key, 'Acme');
  await newRole(key, 'Writer', []);
  await newRole(key, 'Reader', ['hierarchy.view']);
  await key('POST', '/roles', { name: 'Asleep', is_active: false });
  const answer = (await key('GET', `/organizations/${id}/roles`)).json();
  expect(Object.keys(answer)).toEqual(['items']);
  expect(answer.items).toEqual([
    expect.objectContaining({ name: 'Reader', is_system_role: false, permission_count: 1, member_count: 0 }),
    expect.objectContaining({ name: 'Writer' }),
  ]);
});
