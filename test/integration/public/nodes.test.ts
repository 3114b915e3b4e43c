import { v7 as uuidv7 } from 'uuid';
import { outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { asOwner } from '../../support/database.js';
import { lockWaits } from '../../support/lock-waits.js';
import {
  assign,
  type Calls,
  callsWith,
  countersOf,
  newIdentity,
  newNode,
  rootOf,
  type TestNode,
  wrongPaths,
} from '../../support/nodes.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';
import { until } from '../../support/until.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
let root: TestNode;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
  root = await rootOf(key);
});
afterAll(() => api.stop());

const namesIn = (items: { name: string }[]) => items.map(({ name }) => name).sort();

describe('a node', () => {
  test('is created where the schema allows it, and returned in its current state', async () => {
    const made = await key('POST', '/nodes', {
      parent_node_id: root.id,
      node_type: 'organization',
      name: '  Acme GmbH ',
      description: 'Customer',
      metadata: { tier: 'gold' },
    });
    expect([made.statusCode, made.headers.etag]).toEqual([201, '"1"']);
    const { data } = made.json();
    expect(data).toEqual({
      ...shape,
      application_id: account.scope.applicationId,
      parent_node_id: root.id,
      node_type: 'organization',
      name: 'Acme GmbH',
      description: 'Customer',
      slug: 'acme-gmbh',
      status: 'active',
      metadata: { tier: 'gold' },
      version: 1,
    });
    const read = await key('GET', `/nodes/${data.id}`);
    expect(read.headers.etag).toBe('"1"');
    expect(read.json().data).toEqual({ ...data, access_state: 'accessible', can_access: true, can_manage: true });
    // Without a parent it is created below the root, with a slug that no sibling has.
    const second = await newNode(key, 'Acme GmbH', null, { node_type: 'organization' });
    expect(second).toMatchObject({ parent_node_id: root.id, slug: expect.stringMatching(/^acme-gmbh-[a-z0-9]{5}$/) });
    expect(await countersOf(api, account)).toEqual({ nodes: 3, organizations: 2 });
  });

  test('of type organization has its organization row as long as it exists', async () => {
    const made = await newNode(key, 'Acme', null, { node_type: 'organization' });
    const rows = () => rowsOf(api, 'select * from organizations where id = $1', [made.id]);
    expect(await rows()).toEqual([
      {
        id: made.id,
        account_id: account.scope.accountId,
        environment_id: account.scope.environmentId,
        member_count: 0,
        pending_invite_count: 0,
        authentication_policy: {
          allowed_methods: null,
          require_mfa: false,
          require_sso: false,
          session_ttl_seconds: null,
        },
        authentication_policy_version: 1,
      },
    ]);
    expect(outcomeOf(await key('DELETE', `/nodes/${made.id}`, undefined, 1))).toBe('204');
    expect(await rows()).toEqual([]);
    expect(await countersOf(api, account)).toEqual({ nodes: 1, organizations: 0 });
  });

  test('is refused where the schema does not allow it', async () => {
    const unit = await newNode(key, 'Unit', null);
    const create = async (body: object) => outcomeOf(await key('POST', '/nodes', { name: 'x', ...body }));
    expect(await create({ node_type: 'team' })).toBe('400 nodes.type_unknown');
    expect(await create({ node_type: 'root' })).toBe('400 nodes.type_unknown');
    expect(await create({ node_type: 'organization', parent_node_id: unit.id })).toBe('400 nodes.type_not_allowed');
    expect(await create({ node_type: 'unit', parent_node_id: uuidv7() })).toBe('404 nodes.node_not_found');
    expect(await create({ node_type: 'unit', slug: 'unit' })).toBe('409 nodes.slug_taken');
    expect(await create({ node_type: 'unit', slug: 'unit', parent_node_id: unit.id })).toBe('201');
    expect(await create({ node_type: 'unit', metadata: { x: 'y'.repeat(16 * 1024) } })).toBe('400 validation.failed');
    for (const bad of [
      { slug: 'Not A Slug' },
      { name: ' ' },
      { name: 'a\u0000b' },
      { colour: 'red' },
      { metadata: [] },
    ]) {
      expect(await create({ node_type: 'unit', ...bad })).toBe('400 validation.failed');
    }
  });

  test('may be as deep as the schema says, and no deeper', async () => {
    const { data } = (await key('GET', '/node-type-schema')).json();
    const { max_depth: _, version, updated_at: __, ...rest } = data;
    expect(outcomeOf(await key('PUT', '/node-type-schema', { ...rest, max_depth: 2 }, version))).toBe('200');
    const one = await newNode(key, 'One', null);
    const two = await newNode(key, 'Two', one.id);
    const three = await key('POST', '/nodes', { parent_node_id: two.id, node_type: 'unit', name: 'Three' });
    expect(outcomeOf(three)).toBe('400 nodes.too_deep');
    // The whole subtree counts: One has a level below it.
    const other = await newNode(key, 'Other', null);
    expect(outcomeOf(await key('POST', `/nodes/${one.id}/move`, { parent_node_id: other.id }, 1))).toBe(
      '400 nodes.too_deep',
    );
    expect(outcomeOf(await key('POST', `/nodes/${two.id}/move`, { parent_node_id: other.id }, 1))).toBe('200');
    expect(await wrongPaths(api, account)).toEqual([]);
  });

  test('is changed under its current version; a stale change gets the current state', async () => {
    const node = await newNode(key, 'Unit', null);
    const path = `/nodes/${node.id}`;
    expect(outcomeOf(await key('PATCH', path, { name: 'x' }))).toBe('400 if_match.required');
    expect(outcomeOf(await key('PATCH', path, { name: 'x' }, 'W/"x"'))).toBe('400 if_match.invalid');
    const changes = { name: 'Sales', description: null, slug: 'sales', metadata: { a: [1] } };
    const changed = await key('PATCH', path, changes, 'W/"1"'); // the form that compressing proxies pass on
    expect([changed.statusCode, changed.headers.etag]).toEqual([200, '"2"']);
    expect(changed.json().data).toMatchObject({ ...changes, version: 2 });
    const stale = await key('PATCH', path, { name: 'Late' }, 1);
    expect(outcomeOf(stale)).toBe('409 version.conflict');
    expect(stale.json().data).toEqual(changed.json().data);
    // Sending the present values is no change.
    const since = await databaseTime(api);
    expect((await key('PATCH', path, changes, 2)).json().data).toEqual(changed.json().data);
    expect((await key('PATCH', path, {}, 2)).json().data.version).toBe(2);
    expect(await eventsSince(api, account.scope.accountId, since)).toEqual([]);
    const sameParent = { parent_node_id: root.id.toUpperCase() };
    expect(
      (await key('PATCH', path.toUpperCase().replace('/NODES', '/nodes'), sameParent, 2)).json().data.version,
    ).toBe(2);
    await newNode(key, 'Taken', null);
    expect(outcomeOf(await key('PATCH', path, { slug: 'taken' }, 2))).toBe('409 nodes.slug_taken');
    expect(outcomeOf(await key('PATCH', path, { node_type: 'organization' }, 2))).toBe('400 validation.failed');
  });

  test('changed by many at once with the same version is changed once', async () => {
    const node = await newNode(key, 'Unit', null);
    const names = Array.from({ length: 8 }, (_, i) => `Name ${i}`);
    const answers = await Promise.all(names.map((name) => key('PATCH', `/nodes/${node.id}`, { name }, 1)));
    expect(outcomesOf(answers)).toEqual({ '200': 1, '409 version.conflict': 7 });
    const now = (await key('GET', `/nodes/${node.id}`)).json().data;
    for (const answer of answers) expect(answer.json().data).toMatchObject({ name: now.name, version: 2 });
  });

  test('is moved with everything below it, by PATCH or by move', async () => {
    const [a, b] = [await newNode(key, 'A', null), await newNode(key, 'B', null)];
    const below = await newNode(key, 'Below', a.id);
    const lowest = await newNode(key, 'Lowest', below.id);
    const since = await databaseTime(api);
    const moved = await key('POST', `/nodes/${below.id}/move`, { parent_node_id: b.id }, 1);
    expect(moved.json().data).toMatchObject({ parent_node_id: b.id, version: 2 });
    const above = async (id: string) => (await key('GET', `/nodes/${id}/ancestors`)).json().items;
    expect((await above(lowest.id)).map(({ id }: TestNode) => id)).toEqual([root.id, b.id, below.id]);
    // The nodes below are unchanged: no version is stale.
    expect((await key('GET', `/nodes/${lowest.id}`)).json().data.version).toBe(1);
    const back = await key('PATCH', `/nodes/${below.id}`, { parent_node_id: a.id, name: 'Back' }, 2);
    expect(back.json().data).toMatchObject({ parent_node_id: a.id, name: 'Back', version: 3 });
    expect(await wrongPaths(api, account)).toEqual([]);
    const events = await eventsSince(api, account.scope.accountId, since);
    expect(events.map(({ action, metadata }) => [action, metadata])).toEqual([
      [
        'node.moved',
        {
          node_type: 'unit',
          parent_node_id: b.id,
          from_parent_node_id: a.id,
          changed: ['parent_node_id'],
          status: 'active',
          version: 2,
        },
      ],
      [
        'node.moved',
        {
          node_type: 'unit',
          parent_node_id: a.id,
          from_parent_node_id: b.id,
          changed: ['name', 'parent_node_id'],
          status: 'active',
          version: 3,
        },
      ],
    ]);
  });

  test('is not moved below itself, to where its type or slug is not allowed, or to nowhere', async () => {
    const organization = await newNode(key, 'Organization', null, { node_type: 'organization' });
    const [a, taken] = [await newNode(key, 'A', null), await newNode(key, 'Taken', null)];
    const b = await newNode(key, 'B', a.id);
    await newNode(key, 'Taken', b.id);
    const move = async (id: string, parent: string, version = 1) =>
      outcomeOf(await key('POST', `/nodes/${id}/move`, { parent_node_id: parent }, version));
    expect(await move(a.id, a.id)).toBe('400 nodes.would_cycle');
    expect(await move(a.id, b.id)).toBe('400 nodes.would_cycle');
    expect(await move(organization.id, a.id)).toBe('400 nodes.type_not_allowed');
    expect(await move(taken.id, b.id)).toBe('409 nodes.slug_taken');
    expect(await move(a.id, uuidv7())).toBe('404 nodes.node_not_found');
    expect(await move(uuidv7(), a.id)).toBe('404 nodes.node_not_found');
    expect(await move(a.id, organization.id, 9)).toBe('409 version.conflict');
    expect(outcomeOf(await key('POST', `/nodes/${a.id}/move`, { parent_node_id: b.id }))).toBe('400 if_match.required');
    // A missing node is 404 before the rest is validated.
    expect(outcomeOf(await key('POST', `/nodes/${uuidv7()}/move`, {}))).toBe('404 nodes.node_not_found');
    expect(outcomeOf(await key('PATCH', `/nodes/${uuidv7()}`, {}))).toBe('404 nodes.node_not_found');
    expect(outcomeOf(await key('DELETE', `/nodes/${uuidv7()}`))).toBe('404 nodes.node_not_found');
    expect(outcomeOf(await key('GET', '/nodes/not-an-id'))).toBe('404 nodes.node_not_found');
    expect(await wrongPaths(api, account)).toEqual([]);
    expect((await key('GET', `/nodes/${a.id}`)).json().data.version).toBe(1);
  });

  test('is moved below the root by null, as at creation; the root, which has no parent, stays', async () => {
    const a = await newNode(key, 'A', null);
    const b = await newNode(key, 'B', a.id);
    const patch = (id: string, version: number) => key('PATCH', `/nodes/${id}`, { parent_node_id: null }, version);
    expect((await patch(b.id, 1)).json().data).toMatchObject({ parent_node_id: root.id, version: 2 });
    expect((await patch(b.id, 2)).json().data).toMatchObject({ parent_node_id: root.id, version: 2 });
    expect((await patch(root.id, 1)).json().data).toMatchObject({ parent_node_id: null, version: 1 });
    const c = await newNode(key, 'C', a.id);
    const call = callsWith(api, (await newIdentity(api, account, [['administrator', a.id]])).headers);
    expect(outcomeOf(await call('PATCH', `/nodes/${c.id}`, { parent_node_id: null }, 1))).toBe(
      '403 permission.required',
    );
  });

  test('that is the root can be renamed and described, and that is all', async () => {
    const path = `/nodes/${root.id}`;
    const unit = await newNode(key, 'Unit', null);
    for (const changes of [{ status: 'inactive' }, { parent_node_id: unit.id }]) {
      expect(outcomeOf(await key('PATCH', path, changes, 1))).toBe('400 nodes.root_fixed');
    }
    expect(outcomeOf(await key('POST', `${path}/move`, { parent_node_id: unit.id }, 1))).toBe('400 nodes.root_fixed');
    expect(outcomeOf(await key('DELETE', `${path}?cascade=true`, undefined, 1))).toBe('400 nodes.root_fixed');
    const changed = await key('PATCH', path, { name: 'Everything', description: 'All of it', metadata: { a: 1 } }, 1);
    expect(changed.json().data).toMatchObject({
      name: 'Everything',
      node_type: 'root',
      parent_node_id: null,
      version: 2,
    });
  });
});

describe('a deletion', () => {
  test('of a node with others below it is refused, and with cascade deletes all of it, with an event for each', async () => {
    const top = await newNode(key, 'Top', null, { node_type: 'organization' });
    const middle = await newNode(key, 'Middle', top.id, { node_type: 'organization' });
    const low = await newNode(key, 'Low', middle.id);
    const beside = await newNode(key, 'Beside', null);
    const person = await newIdentity(api, account, [['viewer', low.id]]);
    const path = `/nodes/${top.id}`;
    expect(outcomeOf(await key('DELETE', path, undefined, 1))).toBe('400 nodes.has_children');
    expect(outcomeOf(await key('DELETE', `${path}?cascade=false`, undefined, 1))).toBe('400 nodes.has_children');
    expect(outcomeOf(await key('DELETE', `${path}?cascade=true`))).toBe('400 if_match.required');
    const stale = await key('DELETE', `${path}?cascade=true`, undefined, 7);
    expect([outcomeOf(stale), stale.json().data.id]).toEqual(['409 version.conflict', top.id]);
    const since = await databaseTime(api);
    expect(outcomeOf(await key('DELETE', `${path}?cascade=true`, undefined, 1))).toBe('204');
    for (const { id } of [top, middle, low]) {
      expect(outcomeOf(await key('GET', `/nodes/${id}`))).toBe('404 nodes.node_not_found');
    }
    expect(outcomeOf(await key('GET', `/nodes/${beside.id}`))).toBe('200');
    expect(await countersOf(api, account)).toEqual({ nodes: 2, organizations: 0 });
    const of = (node: TestNode, node_type: string) => ({
      node_type,
      parent_node_id: node.parent_node_id,
      top_node_id: top.id,
      status: 'active',
      version: 1,
    });
    const events = await eventsSince(api, account.scope.accountId, since);
    expect(events.map(({ action, metadata }) => [action, metadata])).toEqual([
      [
        'role_assignment.deleted',
        {
          identity_id: person.id,
          node_id: low.id,
          role_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          effective_from: null,
          effective_to: null,
        },
      ],
      ['node.deleted', of(low, 'unit')],
      ['node.deleted', of(middle, 'organization')],
      ['node.deleted', of(top, 'organization')],
      ['organization.deleted', of(middle, 'organization')],
      ['organization.deleted', of(top, 'organization')],
    ]);
  });

  test('gives a retry with the same key the same answer', async () => {
    const node = await newNode(key, 'Unit', null);
    const headers = { ...(await account.apiKey()), 'idempotency-key': 'delete-once', 'if-match': '1' };
    const send = () => api.app.inject({ method: 'DELETE', url: `/api/v1/nodes/${node.id}`, headers });
    expect((await send()).statusCode).toBe(204);
    const again = await send();
    expect([again.statusCode, again.headers['idempotency-replayed']]).toEqual([204, 'true']);
  });
});

describe('reading', () => {
  let a: TestNode;
  let b: TestNode;
  let c: TestNode;
  beforeEach(async () => {
    a = await newNode(key, 'Alpha', null, { node_type: 'organization' });
    b = await newNode(key, 'Beta', a.id);
    c = await newNode(key, 'Gamma', b.id, { status: 'inactive' });
    await newNode(key, 'Delta', null);
  });

  test('lists: everything, a subtree, children, in pages, filtered and sorted', async () => {
    const get = async (path: string) => (await key('GET', path)).json();
    const all = await get('/nodes?sort_by=name&order=asc&take=2&page=2');
    expect(all.items.map(({ name }: { name: string }) => name)).toEqual(['Delta', 'Development']);
    expect(all.pagination).toMatchObject({ item_count: 5, page_count: 3 });
    expect(namesIn((await get('/nodes?q=ETA')).items)).toEqual(['Beta']);
    expect(namesIn((await get('/nodes?status=inactive')).items)).toEqual(['Gamma']);
    expect(namesIn((await get('/nodes?node_type=organization')).items)).toEqual(['Alpha']);
    expect(namesIn((await get('/nodes?slug=beta')).items)).toEqual(['Beta']);
    expect(namesIn((await get(`/nodes?parent_node_id=${root.id}`)).items)).toEqual(['Alpha', 'Delta']);
    expect(namesIn((await get(`/nodes?parent_node_id=${a.id.toUpperCase()}&slug=beta`)).items)).toEqual(['Beta']);
    expect((await get(`/nodes?parent_node_id=${b.id}&slug=beta`)).pagination.item_count).toBe(0);
    expect((await get('/nodes?slug=bet')).items).toEqual([]);
    expect(namesIn((await get(`/nodes/${a.id}/subtree`)).items)).toEqual(['Alpha', 'Beta', 'Gamma']);
    expect((await get(`/nodes/${a.id}/subtree?take=1`)).pagination.item_count).toBe(3);
    expect(namesIn((await get(`/nodes/${root.id}/children`)).items)).toEqual(['Alpha', 'Delta']);
    expect((await get(`/nodes/${c.id}/children`)).items).toEqual([]);
    expect((await get(`/nodes/${root.id}/ancestors`)).items).toEqual([]);
    for (const path of ['/nodes?take=0', '/nodes?sort_by=path', '/nodes?status=x', `/nodes/${a.id}/subtree?page=0`]) {
      expect(outcomeOf(await key('GET', path))).toBe('400 validation.failed');
    }
    for (const part of ['', '/subtree', '/children', '/ancestors', '/identities']) {
      expect(outcomeOf(await key('GET', `/nodes/${uuidv7()}${part}`))).toBe('404 nodes.node_not_found');
    }
  });

  test.each([
    ['the whole list', () => '/nodes?', 5],
    ['a filtered list', () => '/nodes?status=active&', 4],
    ['a subtree', () => `/nodes/${a.id}/subtree?`, 3],
  ])('page by page, in any order: %s', async (_, path, count) => {
    for (const sort of ['sort_by=created_at', 'sort_by=name', 'sort_by=slug']) {
      const idsOf = async (query: string) => {
        const { items, pagination } = (await key('GET', `${path()}${sort}&${query}`)).json();
        expect(pagination.item_count).toBe(count);
        return (items as TestNode[]).map(({ id }) => id);
      };
      const ascending = await idsOf('order=asc');
      expect(new Set(ascending).size).toBe(count);
      expect(await idsOf('order=desc')).toEqual(ascending.toReversed());
      const walked: string[] = [];
      for (let page = 1; page <= count + 1; page++) walked.push(...(await idsOf(`order=asc&take=1&page=${page}`)));
      expect(walked).toEqual(ascending);
    }
  });

  test('the tree, whole or down to a depth', async () => {
    interface Branch {
      name: string;
      children: Branch[];
    }
    const named = ({ name, children }: Branch): unknown => [name, ...children.map(named)];
    const tree = async (query = '') => String(named((await key('GET', `/nodes/tree${query}`)).json().data));
    const { name } = (await key('GET', `/nodes/${root.id}`)).json().data;
    expect(await tree()).toBe([name, ['Alpha', ['Beta', ['Gamma']]], ['Delta']].toString());
    expect(await tree('?depth=0')).toBe(name);
    expect(await tree('?depth=2')).toBe([name, ['Alpha', ['Beta']], ['Delta']].toString());
    expect(outcomeOf(await key('GET', '/nodes/tree?depth=-1'))).toBe('400 validation.failed');
    const { data } = (await key('GET', '/nodes/tree')).json();
    expect(data.children[0]).toMatchObject({ id: a.id, created_at: shape.created_at, access_state: 'accessible' });
  });

  test('the identities that hold a role at a node, with those roles', async () => {
    const here = await newIdentity(api, account, [
      ['viewer', b.id],
      ['administrator', b.id],
      ['viewer', a.id],
    ]);
    const above = await newIdentity(api, account, [['viewer', a.id]]);
    const { items, pagination } = (await key('GET', `/nodes/${b.id}/identities`)).json();
    expect(pagination.item_count).toBe(1);
    const role = (name: string, i: number) => ({
      assignment_id: here.assignments[i],
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name,
      node_id: b.id,
      node_name: 'Beta',
      effective_from: null,
      effective_to: null,
    });
    expect(items).toEqual([
      {
        id: here.id,
        email: here.email,
        first_name: 'Ana',
        last_name: 'Berg',
        name: 'Ana Berg',
        avatar_url: null,
        is_active: true,
        roles: [role('Viewer', 0), role('Administrator', 1)],
        created_at: shape.created_at,
      },
    ]);
    const idsAt = async (path: string) =>
      (await key('GET', path))
        .json()
        .items.map(({ id }: { id: string }) => id)
        .sort();
    expect(await idsAt(`/nodes/${a.id}/identities`)).toEqual([here.id, above.id].sort());
    expect(await idsAt(`/nodes/${a.id}/identities?q=${above.email}`)).toEqual([above.id]);
    expect(await idsAt(`/nodes/${a.id}/identities?q=nobody&sort_by=email`)).toEqual([]);
    const beyond = await key('GET', `/nodes/${a.id}/identities?page=2`);
    expect(beyond.json()).toMatchObject({ items: [], pagination: { item_count: 2 } });
    expect(await idsAt(`/nodes/${a.id}/identities?status=inactive`)).toEqual([]);
    expect(await idsAt(`/nodes/${b.id}/identities?role_id=${items[0].roles[1].id}`)).toEqual([here.id]);
    // Ended and removed assignments do not count.
    const past = new Date(api.clock.now.getTime() - 1000);
    await rowsOf(api, 'update role_assignments set effective_to = $2 where id = $1', [above.assignments[0], past]);
    await rowsOf(api, 'update role_assignments set removed_at = now() where id = $1', [here.assignments[2]]);
    expect(await idsAt(`/nodes/${a.id}/identities`)).toEqual([]);
  });
});

describe('permissions', () => {
  test('nobody without a credential, and no key without the scope, has access', async () => {
    const node = await newNode(key, 'Unit', null);
    const anonymous = callsWith(api, {});
    const viewer = callsWith(api, await account.apiKey(['hierarchy.view']));
    const other = callsWith(api, await account.apiKey(['identity.view']));
    const reads = ['/nodes', '/nodes/tree', `/nodes/${node.id}`, '/node-type-schema'].concat(
      ['subtree', 'children', 'ancestors', 'identities'].map((part) => `/nodes/${node.id}/${part}`),
    );
    for (const path of reads) {
      expect([path, outcomeOf(await anonymous('GET', path))]).toEqual([path, '401']);
      expect([path, outcomeOf(await other('GET', path))]).toEqual([path, '403 api_key.scope_required']);
      expect([path, outcomeOf(await viewer('GET', path))]).toEqual([path, '200']);
    }
    const writes = [
      () => viewer('POST', '/nodes', { node_type: 'unit', name: 'x' }),
      () => viewer('PATCH', `/nodes/${node.id}`, { name: 'x' }, 1),
      () => viewer('POST', `/nodes/${node.id}/move`, { parent_node_id: root.id }, 1),
      () => viewer('DELETE', `/nodes/${node.id}`, undefined, 1),
      () => viewer('PUT', '/node-type-schema', {}, 1),
    ];
    for (const write of writes) expect(outcomeOf(await write())).toBe('403 api_key.scope_required');
    expect((await viewer('GET', `/nodes/${node.id}`)).json().data.can_manage).toBe(false);
  });

  test('a node of another Environment or Account does not exist', async () => {
    const stranger = await newAccount(api);
    const foreign = await newNode(callsWith(api, await stranger.apiKey()), 'Foreign', null);
    const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
    const sibling = await newNode(production, 'Sibling', null);
    const mine = await newNode(key, 'Mine', null);
    for (const { id } of [foreign, sibling]) {
      for (const part of ['', '/subtree', '/children', '/ancestors', '/identities']) {
        expect(outcomeOf(await key('GET', `/nodes/${id}${part}`))).toBe('404 nodes.node_not_found');
      }
      expect(outcomeOf(await key('PATCH', `/nodes/${id}`, { name: 'x' }, 1))).toBe('404 nodes.node_not_found');
      expect(outcomeOf(await key('DELETE', `/nodes/${id}`, undefined, 1))).toBe('404 nodes.node_not_found');
      const move = (of: string, to: string) => key('POST', `/nodes/${of}/move`, { parent_node_id: to }, 1);
      expect(outcomeOf(await move(id, mine.id))).toBe('404 nodes.node_not_found');
      expect(outcomeOf(await move(mine.id, id))).toBe('404 nodes.node_not_found');
      const under = await key('POST', '/nodes', { parent_node_id: id, node_type: 'unit', name: 'x' });
      expect(outcomeOf(under)).toBe('404 nodes.node_not_found');
    }
    expect(namesIn((await key('GET', '/nodes?node_type=unit')).json().items)).toEqual(['Mine']);
  });

  test('moving a node requires the permission at both of its parents', async () => {
    const top = await newNode(key, 'Top', null);
    const mine = await newNode(key, 'Mine', top.id);
    const below = await newNode(key, 'Below', mine.id);
    const other = await newNode(key, 'Other', top.id);
    const person = await newIdentity(api, account, [
      ['administrator', mine.id],
      ['administrator', other.id],
    ]);
    const call = callsWith(api, person.headers);
    const move = async (id: string, to: string) =>
      outcomeOf(await call('POST', `/nodes/${id}/move`, { parent_node_id: to }, 1));
    expect(await move(mine.id, other.id)).toBe('403 permission.required');
    const path = `/nodes/${mine.id}`;
    expect(outcomeOf(await call('PATCH', path, { parent_node_id: other.id }, 1))).toBe('403 permission.required');
    expect(outcomeOf(await call('PATCH', path, { parent_node_id: other.id }, 7))).toBe('409 version.conflict');
    expect(await move(below.id, other.id)).toBe('200');
  });

  test('nobody gains a permission at a node by moving it', async () => {
    const [before, after] = [await newNode(key, 'Before', null), await newNode(key, 'After', null)];
    const mine = await newNode(key, 'Mine', before.id);
    await key('POST', '/permissions', { key: 'invoice.approve', name: 'Approve invoices' });
    const roleWith = async (name: string, permission_keys: string[]): Promise<string> =>
      (await key('POST', '/roles', { name, permission_keys })).json().data.id;
    const person = await newIdentity(api, account);
    const give = async (role_id: string, node_id: string) =>
      outcomeOf(await key('POST', `/identities/${person.id}/role-assignments`, { role_id, node_id }));
    const manager = await roleWith('Manager', ['hierarchy.manage']);
    const approver = await roleWith('Approver', ['hierarchy.manage', 'invoice.approve']);
    await give(manager, before.id);
    await give(approver, after.id);
    const call = callsWith(api, person.headers);
    const body = { parent_node_id: after.id };
    const moving = [
      () => call('POST', `/nodes/${mine.id}/move`, body, 1),
      () => call('PATCH', `/nodes/${mine.id}`, body, 1),
    ];
    const refused = async () => {
      const answers = await Promise.all(moving.map((move) => move()));
      expect(answers.map(outcomeOf)).toEqual(['403 role.cannot_grant', '403 role.cannot_grant']);
      return answers[0]?.json().error.details;
    };
    const lacking = { field: 'parent_node_id', code: 'lacking', message: 'You do not hold invoice.approve yourself' };
    expect(await refused()).toEqual([lacking]);
    // A disabled role can be enabled again.
    await key('PATCH', `/roles/${approver}`, { is_active: false }, 1);
    await give(manager, after.id);
    expect(await refused()).toEqual([lacking]);
    await key('PATCH', `/roles/${approver}`, { is_active: true }, 2);
    await give(approver, mine.id);
    expect(outcomeOf(await call('POST', `/nodes/${mine.id}/move`, body, 1))).toBe('200');
    // A permission held above both places is no gain.
    await give(approver, root.id);
    expect(outcomeOf(await call('POST', `/nodes/${mine.id}/move`, { parent_node_id: before.id }, 2))).toBe('200');
  });

  describe('what a person would gain by a move', () => {
    const minute = 60_000;
    const at = (ms: number) => new Date(api.clock.now.getTime() + ms).toISOString();

    /** A person who may move `mine` from one place to another, and nothing more. */
    async function aMover() {
      const top = await newNode(key, 'Top', null);
      const [before, after] = [await newNode(key, 'Before', null), await newNode(key, 'After', top.id)];
      const mine = await newNode(key, 'Mine', before.id);
      await key('POST', '/permissions', { key: 'invoice.approve', name: 'Approve invoices' });
      const roleWith = async (name: string, permission_keys: string[]): Promise<string> =>
        (await key('POST', '/roles', { name, permission_keys })).json().data.id;
      const [manager, approver, deputy] = [
        await roleWith('Manager', ['hierarchy.manage']),
        await roleWith('Approver', ['invoice.approve']),
        await roleWith('Deputy', ['invoice.approve']),
      ];
      const person = await newIdentity(api, account);
      const held = `/identities/${person.id}/role-assignments`;
      const give = async (role_id: string, node: TestNode, window: object = {}): Promise<string> =>
        (await key('POST', held, { role_id, node_id: node.id, ...window })).json().data.assignment_id;
      await give(manager, root);
      const call = callsWith(api, person.headers);
      let version = 1;
      const moved = async () => {
        const outcome = outcomeOf(await call('POST', `/nodes/${mine.id}/move`, { parent_node_id: after.id }, version));
        if (outcome === '200') await key('POST', `/nodes/${mine.id}/move`, { parent_node_id: before.id }, version + 1);
        version += outcome === '200' ? 2 : 0;
        return outcome;
      };
      const remove = (id: string) => key('DELETE', `${held}/${id}`);
      return { top, mine, approver, deputy, give, moved, remove };
    }

    test('is what they hold above the new parent, also later, but not what has ended', async () => {
      const { top, approver, give, moved, remove } = await aMover();
      const now = await give(approver, top);
      expect(await moved()).toBe('403 role.cannot_grant');
      await remove(now);
      expect(await moved()).toBe('200');
      const later = await give(approver, top, { effective_from: at(minute) });
      expect(await moved()).toBe('403 role.cannot_grant');
      await remove(later);
      await give(approver, top, { effective_to: at(minute) });
      api.clock.advance(minute);
      expect(await moved()).toBe('200');
      // What they will hold above both places, they will hold without the move.
      await give(approver, root, { effective_from: at(minute) });
      expect(await moved()).toBe('200');
    });

    test('is also a longer time, even if they hold it for a shorter time too', async () => {
      const { top, mine, approver, deputy, give, moved, remove } = await aMover();
      await give(approver, mine, { effective_to: at(2 * minute) });
      await give(approver, top, { effective_to: at(2 * minute) });
      expect(await moved()).toBe('200');
      const longer = await give(deputy, top, { effective_to: at(3 * minute) });
      expect(await moved()).toBe('403 role.cannot_grant');
      await remove(longer);
      await give(deputy, top);
      expect(await moved()).toBe('403 role.cannot_grant');
    });
  });

  test('a caller who names a node’s present parent moves nothing, and needs no permission there', async () => {
    const top = await newNode(key, 'Top', null);
    const mine = await newNode(key, 'Mine', top.id);
    const person = await newIdentity(api, account, [['administrator', mine.id]]);
    const call = callsWith(api, person.headers);
    const path = `/nodes/${mine.id}`;
    const same = { parent_node_id: top.id };
    expect((await call('PATCH', path, same, 1)).json().data).toMatchObject({ ...same, version: 1 });
    const renamed = await call('PATCH', path, { ...same, name: 'Ours' }, 1);
    expect(renamed.json().data).toMatchObject({ ...same, name: 'Ours', version: 2 });
    expect(outcomeOf(await call('POST', `${path}/move`, same, 2))).toBe('200');
    expect(outcomeOf(await call('PATCH', path, same, 1))).toBe('409 version.conflict');
    // Once it was moved away, that parent is the old one.
    const other = await newNode(key, 'Other', null);
    expect(outcomeOf(await key('POST', `${path}/move`, { parent_node_id: other.id }, 2))).toBe('200');
    expect(outcomeOf(await call('PATCH', path, same, 2))).toBe('409 version.conflict');
    expect(outcomeOf(await call('PATCH', path, same, 3))).toBe('403 permission.required');
  });

  test('but cannot get around that by the version that another change is about to create', async () => {
    const top = await newNode(key, 'Top', null);
    const mine = await newNode(key, 'Mine', top.id);
    const other = await newNode(key, 'Other', top.id);
    const person = await newIdentity(api, account, [
      ['administrator', mine.id],
      ['administrator', other.id],
    ]);
    const call = callsWith(api, person.headers);
    await asOwner(async (change) => {
      await change.query('begin');
      await change.query('update nodes set version = 2 where id = $1', [mine.id]);
      const moving = call('POST', `/nodes/${mine.id}/move`, { parent_node_id: other.id }, 2);
      let isAnswered = false;
      void moving.finally(() => {
        isAnswered = true;
      });
      await until('it is answered, or waits', async () => isAnswered || (await lockWaits(api.database.ownerUrl)) > 0);
      await change.query('commit');
      expect(outcomeOf(await moving)).toBe('409 version.conflict');
    }, api.database.ownerUrl);
    expect((await key('GET', `/nodes/${mine.id}`)).json().data.parent_node_id).toBe(top.id);
  });

  test('an end user has access at and below the nodes where they hold it', async () => {
    const top = await newNode(key, 'Top', null);
    const mine = await newNode(key, 'Mine', top.id);
    const below = await newNode(key, 'Below', mine.id);
    const beside = await newNode(key, 'Beside', top.id);
    const person = await newIdentity(api, account, [
      ['administrator', mine.id],
      ['viewer', beside.id],
    ]);
    const call = callsWith(api, person.headers);
    const outcome = async (...args: Parameters<Calls>) => outcomeOf(await call(...args));
    expect(namesIn((await call('GET', '/nodes')).json().items)).toEqual(['Below', 'Beside', 'Mine']);
    expect((await call('GET', '/nodes')).json().pagination.item_count).toBe(3);
    expect(await outcome('GET', `/nodes/${top.id}`)).toBe('403 permission.required');
    expect((await call('GET', `/nodes/${below.id}`)).json().data.can_manage).toBe(true);
    expect((await call('GET', `/nodes/${beside.id}`)).json().data.can_manage).toBe(false);
    const { data } = (await call('GET', '/nodes/tree')).json();
    expect(data).toMatchObject({ access_state: 'path_only', can_access: false, can_manage: false });
    const [shownTop] = data.children;
    expect(shownTop).toMatchObject({ name: 'Top', access_state: 'path_only' });
    expect(namesIn(shownTop.children)).toEqual(['Beside', 'Mine']);
    const ancestors = (await call('GET', `/nodes/${below.id}/ancestors`)).json().items;
    expect(ancestors.map((node: Record<string, unknown>) => [node.name, node.access_state]).slice(1)).toEqual([
      ['Top', 'path_only'],
      ['Mine', 'accessible'],
    ]);
    // To create and to move, they need it at the parent too.
    const create = (parent: string | null) =>
      outcome('POST', '/nodes', { parent_node_id: parent, node_type: 'unit', name: 'New' });
    expect(await create(below.id)).toBe('201');
    expect(await create(beside.id)).toBe('403 permission.required');
    expect(await create(null)).toBe('403 permission.required');
    expect(await outcome('POST', `/nodes/${below.id}/move`, { parent_node_id: beside.id }, 1)).toBe(
      '403 permission.required',
    );
    expect(await outcome('PATCH', `/nodes/${below.id}`, { parent_node_id: top.id }, 1)).toBe('403 permission.required');
    expect(await outcome('PATCH', `/nodes/${beside.id}`, { name: 'x' }, 1)).toBe('403 permission.required');
    expect(await outcome('PUT', '/node-type-schema', { max_depth: 3, node_types: [] }, 1)).toBe(
      '403 permission.required',
    );
    expect(await outcome('GET', '/node-type-schema')).toBe('200');
    // Permissions do not apply at or below an inactive node, and only others can activate it again.
    expect(await outcome('PATCH', `/nodes/${below.id}`, { status: 'inactive' }, 1)).toBe('200');
    expect(namesIn((await call('GET', '/nodes')).json().items)).toEqual(['Beside', 'Mine']);
    expect(await outcome('PATCH', `/nodes/${below.id}`, { status: 'active' }, 2)).toBe('403 permission.required');
    expect(outcomeOf(await key('PATCH', `/nodes/${below.id}`, { status: 'active' }, 2))).toBe('200');
    // Without any role: nothing at all.
    const nobody = callsWith(api, (await newIdentity(api, account)).headers);
    expect(outcomeOf(await nobody('GET', '/nodes'))).toBe('403 permission.required');
    await assign(api, account, person.id, 'viewer', root.id);
    expect(namesIn((await call('GET', '/nodes')).json().items)).toContain('Top');
  });

  test('an end user is not shown what only leads to an inactive node, where nothing of theirs counts', async () => {
    const top = await newNode(key, 'Top', null);
    const closed = await newNode(key, 'Closed', top.id, { status: 'inactive' });
    const below = await newNode(key, 'Below', closed.id);
    const person = await newIdentity(api, account, [['viewer', below.id]]);
    const call = callsWith(api, person.headers);
    const tree = async () => (await call('GET', '/nodes/tree')).json().data;
    expect(await tree()).toMatchObject({ id: root.id, access_state: 'path_only', children: [] });
    const open = await newNode(key, 'Open', top.id);
    await assign(api, account, person.id, 'viewer', open.id);
    const [shownTop, ...others] = (await tree()).children;
    expect(others).toEqual([]);
    expect(shownTop).toMatchObject({ name: 'Top', access_state: 'path_only' });
    expect(namesIn(shownTop.children)).toEqual(['Open']);
  });
});
