import { v7 as uuidv7 } from 'uuid';
import { reachableOf } from '../../../src/domain/users/reachable.js';
import { invite, newMember, rolesByKey } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { type Calls, callsWith, newIdentity, newNode, type TestNode } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let owner: Calls;
let members: Call;
let app: string;
let nodes: Record<'top' | 'mine' | 'below' | 'beside' | 'away', TestNode>;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  const headers = await account.as('owner');
  owner = callsWith(api, headers, account.portalPath(''));
  members = callsOf(api, account.accountSlug, headers);
  app = `/applications/${account.applicationSlug}`;
  const top = await newNode(owner, 'Top', null);
  const mine = await newNode(owner, 'Mine', top.id, { description: 'Ours', metadata: { a: 1 } });
  const below = await newNode(owner, 'Below', mine.id);
  const beside = await newNode(owner, 'Beside', top.id, { description: 'Theirs', metadata: { b: 1 } });
  nodes = { top, mine, below, beside, away: await newNode(owner, 'Away', null) };
});
afterAll(() => api.stop());

const limitedTo = (role: 'developer' | 'viewer' | 'admin' | 'support', ...ids: string[]) =>
  newMember(api, account, role, undefined, { node_ids: ids });
const below = async (role: 'developer' | 'viewer' | 'admin' | 'support', ...ids: string[]) => {
  const { headers } = await limitedTo(role, ...ids);
  const call = callsWith(api, headers, account.portalPath(''));
  return { call, outcome: async (...args: Parameters<Calls>) => outcomeOf(await call(...args)), headers };
};
const namesIn = (items: { name: string }[]) => items.map(({ name }) => name).sort();

test('an administrator reads a node with their permissions there, and needs the capabilities', async () => {
  const path = `/nodes/${nodes.mine.id}`;
  const read = await owner('GET', path);
  expect([read.statusCode, read.headers.etag]).toEqual([200, '"1"']);
  expect(read.json().data).toMatchObject({
    ...nodes.mine,
    access_state: 'accessible',
    can_access: true,
    can_manage: true,
  });
  const viewer = callsWith(api, await account.as('viewer'), account.portalPath(''));
  expect((await viewer('GET', path)).json().data).toMatchObject({ can_access: true, can_manage: false });
  const lacking = '403 account.capability_required';
  expect(outcomeOf(await viewer('POST', '/nodes', { node_type: 'unit', name: 'x' }))).toBe(lacking);
  expect(outcomeOf(await viewer('PATCH', path, { name: 'x' }, 1))).toBe(lacking);
  expect(outcomeOf(await viewer('DELETE', path, undefined, 1))).toBe(lacking);
  expect(outcomeOf(await viewer('POST', `${path}/move`, { parent_node_id: nodes.away.id }, 1))).toBe(lacking);
  const roles = (
    await members('POST', '/administrator-roles', { name: 'None', description: null, capabilities: [] })
  ).json();
  const nobody = await newMember(api, account, { roleId: roles.data.id });
  const call = callsWith(api, nobody.headers, account.portalPath(''));
  for (const each of ['/nodes', '/nodes/tree', path, `${path}/children`, `${path}/identities`]) {
    expect([each, outcomeOf(await call('GET', each))]).toEqual([each, lacking]);
  }
  const stranger = await newMember(api, await newAccount(api), 'owner');
  const foreign = callsWith(api, stranger.headers, account.portalPath(''));
  expect(outcomeOf(await foreign('GET', path))).toBe('404 account.not_found');
  expect(outcomeOf(await callsWith(api, {}, account.portalPath(''))('GET', path))).toBe('401');
});

test('a stale move is 409 with the node’s current state, and a move is an audit row', async () => {
  const path = `/nodes/${nodes.mine.id}/move`;
  const moved = await owner('POST', path, { parent_node_id: nodes.away.id }, '"1"');
  expect(moved.json().data).toMatchObject({ parent_node_id: nodes.away.id, version: 2 });
  expect(moved.json().data).not.toHaveProperty('access_state');
  const stale = await owner('POST', path, { parent_node_id: nodes.top.id }, '"1"');
  expect([outcomeOf(stale), stale.json().data]).toEqual(['409 version.conflict', moved.json().data]);
  const rows = await rowsOf(
    api,
    `select actor_type, actor_id, category, customer_visible from events where resource_id = $1 and action = 'node.moved'`,
    [nodes.mine.id],
  );
  expect(rows).toEqual([
    { actor_type: 'platform_admin', actor_id: account.userId, category: 'structure', customer_visible: true },
  ]);
});

describe('an administrator of some nodes', () => {
  test('sees these and what is below them, and the nodes above as the way to them', async () => {
    const { call, outcome } = await below('developer', nodes.mine.id);
    const read = async (node: TestNode) => (await call('GET', `/nodes/${node.id}`)).json().data;
    expect(await read(nodes.mine)).toMatchObject({ access_state: 'accessible', can_access: true, can_manage: true });
    expect(await read(nodes.below)).toMatchObject({ access_state: 'accessible', can_manage: true });
    expect(await read(nodes.top)).toMatchObject({
      name: 'Top',
      description: null,
      metadata: {},
      access_state: 'path_only',
      can_access: false,
      can_manage: false,
    });
    expect(await outcome('GET', `/nodes/${nodes.top.id.toUpperCase()}`)).toBe('200');
    for (const { id } of [nodes.beside, nodes.away, { id: uuidv7() }]) {
      for (const part of ['', '/subtree', '/children', '/ancestors', '/identities']) {
        expect([part, await outcome('GET', `/nodes/${id}${part}`)]).toEqual([part, '404 nodes.node_not_found']);
      }
      expect(await outcome('PATCH', `/nodes/${id}`, { name: 'x' }, 1)).toBe('404 nodes.node_not_found');
      expect(await outcome('PATCH', `/nodes/${id}`, { nmae: 'x' })).toBe('404 nodes.node_not_found');
      expect(await outcome('DELETE', `/nodes/${id}`, undefined, 1)).toBe('404 nodes.node_not_found');
    }
    expect(namesIn((await call('GET', '/nodes')).json().items)).toEqual(['Below', 'Mine']);
    expect((await call('GET', '/nodes')).json().pagination.item_count).toBe(2);
    const { data } = (await call('GET', '/nodes/tree')).json();
    expect(data).toMatchObject({ access_state: 'path_only', children: [{ name: 'Top', access_state: 'path_only' }] });
    expect(data.children[0].children).toMatchObject([
      { name: 'Mine', children: [{ name: 'Below', can_access: true }] },
    ]);
    expect(data.children[0].children).toHaveLength(1);
    // Level by level, too.
    const children = async (id: string) => (await call('GET', `/nodes/${id}/children`)).json().items;
    expect(namesIn(await children(data.id))).toEqual(['Top']);
    expect(namesIn(await children(nodes.top.id))).toEqual(['Mine']);
    expect(namesIn(await children(nodes.mine.id))).toEqual(['Below']);
    const { items } = (await call('GET', `/nodes/${nodes.below.id}/ancestors`)).json();
    expect(items.map((node: Record<string, unknown>) => node.access_state)).toEqual([
      'path_only',
      'path_only',
      'accessible',
    ]);
    expect(await outcome('GET', `/nodes/${nodes.top.id}/subtree`)).toBe('403 account.capability_required');
  });

  test('changes these and what is below them, and nothing above or elsewhere', async () => {
    const { outcome } = await below('developer', nodes.mine.id);
    const create = (parent_node_id: string | null) =>
      outcome('POST', '/nodes', { parent_node_id, node_type: 'unit', name: 'New' });
    expect(await create(nodes.below.id)).toBe('201');
    expect(await create(nodes.top.id)).toBe('403 account.capability_required');
    expect(await create(null)).toBe('403 account.capability_required');
    expect(await create(nodes.beside.id)).toBe('404 nodes.node_not_found');
    expect(await outcome('PATCH', `/nodes/${nodes.below.id}`, { name: 'x' }, 1)).toBe('200');
    expect(await outcome('PATCH', `/nodes/${nodes.top.id}`, { name: 'x' }, 1)).toBe('403 account.capability_required');
    const move = (node: TestNode, to: TestNode, version = 1) =>
      outcome('POST', `/nodes/${node.id}/move`, { parent_node_id: to.id }, version);
    const same = { parent_node_id: nodes.top.id, name: 'Ours' };
    expect(await outcome('PATCH', `/nodes/${nodes.mine.id}`, same, 1)).toBe('200');
    expect(await move(nodes.below, nodes.top, 2)).toBe('403 account.capability_required');
    expect(await move(nodes.below, nodes.away, 2)).toBe('404 nodes.node_not_found');
    expect(await outcome('PATCH', `/nodes/${nodes.below.id}`, { parent_node_id: nodes.away.id }, 2)).toBe(
      '404 nodes.node_not_found',
    );
    expect(await move(nodes.beside, nodes.mine)).toBe('404 nodes.node_not_found');
    expect(await outcome('PUT', '/node-type-schema', { max_depth: 3, node_types: [] }, 1)).toBe(
      '403 account.capability_required',
    );
    expect(await outcome('GET', '/node-type-schema')).toBe('200');
    const denied = await rowsOf(
      api,
      `select resource_id from events where environment_id = $1 and action = 'auth.access_denied' order by created_at`,
      [account.scope.environmentId],
    );
    expect(denied.map(({ resource_id }) => resource_id)).toEqual([
      'createNode',
      'createNode',
      'updateNode',
      'moveNode',
      'replaceNodeTypeSchema',
    ]);
  });

  test('has the Environment and the Application on the way, and nothing else of them', async () => {
    const { call, outcome, headers } = await below('admin', nodes.mine.id);
    const portal = callsOf(api, account.accountSlug, headers);
    const onTheWay = { access_state: 'path_only', can_access: false };
    expect((await portal('GET', app)).json().data).toMatchObject(onTheWay);
    expect((await portal('GET', '/applications')).json().items).toMatchObject([onTheWay]);
    expect((await portal('GET', `${app}/environments`)).json().items).toMatchObject([
      { slug: 'development', ...onTheWay },
    ]);
    expect((await call('GET', '')).json().data).toMatchObject({ slug: 'development', ...onTheWay });
    for (const path of ['/settings', '/api-keys', '/identities', '/oauth-clients']) {
      expect([path, await outcome('GET', path)]).toEqual([path, '403 account.capability_required']);
    }
    expect(await outcome('PATCH', '', { name: 'x' })).toBe('403 account.capability_required');
    const production = callsWith(api, headers, account.portalPath('', 'production'));
    expect(outcomeOf(await production('GET', '/nodes'))).toBe('404 environment.not_found');
    const state = (slug: string) => portal('PUT', `${app}/me/state`, { environment_slug: slug });
    expect(outcomeOf(await state('production'))).toBe('400 environment.unknown_slug');
    expect(outcomeOf(await state('development'))).toBe('200');
    expect((await portal('GET', `${app}/me/state`)).json().data).toEqual({ environment_slug: 'development' });
  });

  test('sees who holds roles at these nodes if a role allows it', async () => {
    const person = await newIdentity(api, account, [['viewer', nodes.below.id]]);
    const { call } = await below('support', nodes.mine.id);
    const { items } = (await call('GET', `/nodes/${nodes.below.id}/identities`)).json();
    expect(items).toMatchObject([{ id: person.id, roles: [{ node_id: nodes.below.id }] }]);
    expect(outcomeOf(await call('GET', `/nodes/${nodes.beside.id}/identities`))).toBe('404 nodes.node_not_found');
    expect(outcomeOf(await call('GET', `/nodes/${nodes.top.id}/identities`))).toBe('403 account.capability_required');
  });

  test('with another role elsewhere may do there what that one allows, and no more', async () => {
    const roles = await rolesByKey(members);
    const member = await limitedTo('developer', nodes.mine.id);
    const given = [
      { role_id: roles.developer, limits: { node_ids: [nodes.mine.id.toUpperCase()] } },
      { role_id: roles.viewer, limits: { environment_ids: [account.scope.environmentId] } },
    ];
    expect(outcomeOf(await members('PATCH', `/members/${member.membershipId}`, { roles: given }))).toBe('200');
    const call = callsWith(api, member.headers, account.portalPath(''));
    const manages = async (node: TestNode) => (await call('GET', `/nodes/${node.id}`)).json().data.can_manage;
    expect([await manages(nodes.mine), await manages(nodes.beside)]).toEqual([true, false]);
    expect(outcomeOf(await call('PATCH', `/nodes/${nodes.mine.id}`, { name: 'x' }, 1))).toBe('200');
    expect(outcomeOf(await call('PATCH', `/nodes/${nodes.beside.id}`, { name: 'x' }, 1))).toBe(
      '403 account.capability_required',
    );
    expect(namesIn((await call('GET', '/nodes?node_type=unit')).json().items)).toEqual(
      ['Away', 'Below', 'Beside', 'Top', 'x'].sort(),
    );
  });
});

describe('limits to nodes', () => {
  const limitsOf = async (membershipId: string) =>
    (await members('GET', `/members/${membershipId}`)).json().data.roles[0].limits;

  test('name nodes of the account, and lose those that are deleted', async () => {
    const roles = await rolesByKey(members);
    const member = await newMember(api, account, 'viewer');
    const limit = (node_ids: string[]) =>
      members('PATCH', `/members/${member.membershipId}`, { roles: [{ role_id: roles.viewer, limits: { node_ids } }] });
    const other = await newAccount(api);
    const foreign = await newNode(callsWith(api, await other.apiKey()), 'Foreign', null);
    for (const unknown of [foreign.id, uuidv7()]) {
      const refused = await limit([nodes.mine.id, unknown]);
      expect(refused.json().error.details).toEqual([
        { field: 'roles[0].limits.node_ids[1]', code: 'unknown', message: 'is not in the account' },
      ]);
    }
    expect(outcomeOf(await limit([nodes.below.id, nodes.mine.id, nodes.away.id]))).toBe('200');
    const invited = await invite(members, { role_id: roles.viewer, limits: { node_ids: [nodes.mine.id] } });
    expect(outcomeOf(await owner('DELETE', `/nodes/${nodes.mine.id}?cascade=true`, undefined, 1))).toBe('204');
    const left = { application_ids: [], environment_ids: [], node_ids: [nodes.away.id] };
    expect(await limitsOf(member.membershipId)).toEqual(left);
    expect((await members('GET', `/administrator-invites/${invited.id}`)).json().data.limits).toEqual({
      ...left,
      node_ids: [],
    });
    expect(outcomeOf(await members('DELETE', `${app}/environments/development?confirm=development`))).toBe('204');
    expect(await limitsOf(member.membershipId)).toEqual({ ...left, node_ids: [] });
  });

  test('follow a node that is moved', async () => {
    const { outcome } = await below('viewer', nodes.away.id);
    expect(await outcome('GET', `/nodes/${nodes.below.id}`)).toBe('404 nodes.node_not_found');
    await owner('POST', `/nodes/${nodes.mine.id}/move`, { parent_node_id: nodes.away.id }, 1);
    expect(await outcome('GET', `/nodes/${nodes.below.id}`)).toBe('200');
  });

  test('give a caller who moves a node nothing at it that they do not have there', async () => {
    const capabilities = ['env_structure.view', 'env_structure.manage'];
    const { data } = (await members('POST', '/administrator-roles', { name: 'Structure', capabilities })).json();
    const { developer } = await rolesByKey(members);
    const member = await newMember(api, account, { roleId: data.id }, undefined, { node_ids: [nodes.top.id] });
    const structure = { role_id: data.id, limits: { node_ids: [nodes.top.id] } };
    const developing = async (...ids: string[]) => {
      const roles = [structure, { role_id: developer, limits: { node_ids: ids } }];
      expect(outcomeOf(await members('PATCH', `/members/${member.membershipId}`, { roles }))).toBe('200');
    };
    const call = callsWith(api, member.headers, account.portalPath(''));
    const move = () => call('POST', `/nodes/${nodes.mine.id}/move`, { parent_node_id: nodes.away.id }, 1);
    await developing(nodes.away.id);
    const refused = await move();
    expect(outcomeOf(refused)).toBe('403 role.cannot_grant');
    expect(refused.json().error.details).toContainEqual({
      field: 'parent_node_id',
      code: 'lacking',
      message: 'You do not hold env_roles.manage yourself',
    });
    await developing(nodes.away.id, nodes.mine.id);
    expect(outcomeOf(await move())).toBe('200');
  });

  test('lead to the application that a session can be bound to', async () => {
    const { userId } = await limitedTo('viewer', nodes.mine.id);
    const reachable = () => reachableOf(api.database.db, userId);
    expect(await reachable()).toMatchObject([{ application: { slug: account.applicationSlug } }]);
    await owner('DELETE', `/nodes/${nodes.mine.id}?cascade=true`, undefined, 1);
    expect(await reachable()).toMatchObject([{ application: null }]);
  });
});
