import { v7 as uuidv7 } from 'uuid';
import { newMember, rolesByKey } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { callsOf } from '../../support/calls.js';
import { type Calls, callsWith, newIdentity, newNode, rootOf } from '../../support/nodes.js';

/** What administrators may do whose own role is limited to nodes: roles that they assign, and people (contract §6). */

let api: TestApi;
let account: TestAccount;
let owner: Calls;
let roleId: string;
let nodes: Record<'top' | 'mine' | 'below' | 'beside', string>;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsWith(api, await account.as('owner'), account.portalPath(''));
  const top = (await newNode(owner, 'Top', null)).id;
  const mine = (await newNode(owner, 'Mine', top)).id;
  nodes = {
    top,
    mine,
    below: (await newNode(owner, 'Below', mine)).id,
    beside: (await newNode(owner, 'Beside', top)).id,
  };
  const role = { name: 'Clerk', permission_keys: ['hierarchy.view'] };
  roleId = (await owner('POST', '/roles', role)).json().data.id;
});
afterAll(() => api.stop());

const limited = async (role: 'developer' | 'viewer' | 'support' = 'developer', ...ids: string[]) => {
  const { headers } = await newMember(api, account, role, undefined, { node_ids: [nodes.mine, ...ids] });
  return callsWith(api, headers, account.portalPath(''));
};
const holder = async (...at: string[]): Promise<string> => {
  const { id } = await newIdentity(api, account);
  for (const nodeId of at) await give(owner, id, nodeId);
  return id;
};
const give = (calls: Calls, identityId: string, nodeId?: string, role = roleId) =>
  calls('POST', `/identities/${identityId}/role-assignments`, { role_id: role, ...(nodeId && { node_id: nodeId }) });
const heldBy = async (calls: Calls, identityId: string) => {
  const { items, pagination } = (await calls('GET', `/identities/${identityId}/role-assignments`)).json();
  expect(pagination.item_count).toBe(items.length);
  return items.map(({ node_name }: { node_name: string }) => node_name).sort();
};

test('roles are assigned and removed at the caller’s nodes and below, one by one and in bulk, and nowhere else', async () => {
  const calls = await limited();
  const ben = await holder(nodes.mine, nodes.beside);
  expect(outcomeOf(await give(calls, ben, nodes.below))).toBe('201');
  const nothing = uuidv7();
  for (const nodeId of [undefined, nodes.beside, nothing]) {
    const outcome = nodeId === undefined ? '403 account.capability_required' : '404 nodes.node_not_found';
    expect(outcomeOf(await give(calls, ben, nodeId))).toBe(outcome);
  }
  const wanted = [nodes.below, nodes.beside, nodes.mine].map((node_id) => ({
    identity_id: ben,
    role_id: roleId,
    node_id,
    effective_from: '2099-01-01T00:00:00.000Z',
  }));
  const { items } = (await calls('POST', '/role-assignments', { role_assignments: wanted })).json();
  expect(items.map(({ status, error }: { status: string; error: { code: string } }) => error?.code ?? status)).toEqual([
    'role_assignments.overlapping',
    'nodes.node_not_found',
    'role_assignments.overlapping',
  ]);

  expect(await heldBy(owner, ben)).toEqual(['Below', 'Beside', 'Mine']);
  expect(await heldBy(calls, ben)).toEqual(['Below', 'Mine']);
  const all = (await owner('GET', `/identities/${ben}/role-assignments`)).json().items;
  const idAt = (name: string) => all.find((one: { node_name: string }) => one.node_name === name).assignment_id;
  const take = async (name: string) =>
    outcomeOf(await calls('DELETE', `/identities/${ben}/role-assignments/${idAt(name)}`));
  expect(await take('Beside')).toBe('404 role_assignments.not_found');
  expect(await take('Below')).toBe('204');
  const taken = await calls('DELETE', '/role-assignments', { assignment_ids: [idAt('Mine'), idAt('Beside')] });
  expect(
    taken.json().items.map((one: { status: string; error: { code: string } | null }) => one.error?.code ?? one.status),
  ).toEqual(['removed', 'role_assignments.not_found']);
  expect(await heldBy(owner, ben)).toEqual(['Beside']);
});

test('roles are assigned to people who belong to the caller’s nodes; all others look unknown', async () => {
  const acme = (await owner('POST', '/organizations', { name: 'Acme' })).json().data.id;
  const calls = await limited('developer', acme);
  const [lena, ben, up] = [await holder(), await holder(nodes.beside), await holder(nodes.top)];
  await owner('POST', `/organizations/${acme}/members`, { identity_id: lena });
  expect(outcomeOf(await give(calls, lena, acme))).toBe('201');
  for (const stranger of [ben, up, uuidv7()]) {
    expect(outcomeOf(await give(calls, stranger, nodes.mine))).toBe('404 identity.not_found');
    expect(outcomeOf(await give(calls, stranger, nodes.mine, uuidv7()))).toBe('404 identity.not_found');
    expect(outcomeOf(await calls('POST', `/identities/${stranger}/role-assignments`, {}))).toBe(
      '404 identity.not_found',
    );
    const path = `/identities/${stranger}/role-assignments`;
    expect(outcomeOf(await calls('GET', path))).toBe('404 identity.not_found');
    expect(outcomeOf(await calls('DELETE', `${path}/${uuidv7()}`))).toBe('404 identity.not_found');
    const wanted = [{ identity_id: stranger, role_id: roleId, node_id: nodes.mine }];
    const { items } = (await calls('POST', '/role-assignments', { role_assignments: wanted })).json();
    expect(items[0].error.code).toBe('identity.not_found');
  }
});

test('a caller who reads all people of the environment anyway assigns roles to anybody', async () => {
  const inAccount = callsOf(api, account.accountSlug, await account.as('owner'));
  const roles = await rolesByKey(inAccount);
  const member = await newMember(api, account, 'support');
  const given = [
    { role_id: roles.support, limits: null },
    { role_id: roles.developer, limits: { node_ids: [nodes.mine] } },
  ];
  const path = `/members/${member.membershipId}`;
  expect(outcomeOf(await inAccount('PATCH', path, { roles: given }))).toBe('200');
  const calls = callsWith(api, member.headers, account.portalPath(''));
  const ben = await holder(nodes.beside);
  expect(outcomeOf(await give(calls, ben, nodes.mine))).toBe('201');
  expect(outcomeOf(await give(calls, ben, nodes.top))).toBe('403 account.capability_required');
  expect(outcomeOf(await give(calls, uuidv7(), nodes.mine))).toBe('404 identity.not_found');
  expect(await heldBy(calls, ben)).toEqual(['Mine']);
});

test('a role at the root node is none for the people of the environment', async () => {
  const inAccount = callsOf(api, account.accountSlug, await account.as('owner'));
  const roles = await rolesByKey(inAccount);
  const root = (await rootOf(owner)).id;
  const acme = (await owner('POST', '/organizations', { name: 'Acme' })).json().data.id;
  const helper = await newMember(api, account, 'support');
  const callsAs = async (...held: [role: string, limits: object][]) => {
    const given = { roles: held.map(([role, limits]) => ({ role_id: roles[role], limits })) };
    expect(outcomeOf(await inAccount('PATCH', `/members/${helper.membershipId}`, given))).toBe('200');
    return callsWith(api, helper.headers, account.portalPath(''));
  };
  const [ben, here] = [await holder(), { environment_ids: [account.scope.environmentId] }];
  const [path, members] = [`/identities/${ben}`, `/organizations/${acme}/members`];

  const reading = await callsAs(['viewer', here], ['support', { node_ids: [root] }]);
  expect((await reading('GET', `${path}/detail`)).json().data.can_manage).toBe(false);
  expect(outcomeOf(await reading('PATCH', path, { first_name: 'Ben' }))).toBe('403 account.capability_required');

  const managing = await callsAs(['developer', { node_ids: [acme] }], ['support', { node_ids: [root] }]);
  expect(outcomeOf(await managing('GET', path))).toBe('403 account.capability_required');
  expect(outcomeOf(await managing('POST', members, { identity_id: ben }))).toBe('404 identity.not_found');

  const helping = await callsAs(['developer', { node_ids: [acme] }], ['support', here]);
  expect((await helping('GET', `${path}/detail`)).json().data.can_manage).toBe(true);
  expect(outcomeOf(await helping('POST', members, { identity_id: ben }))).toBe('201');
});

test('roles are shown with their permissions, and with the holders in the caller’s part alone', async () => {
  await holder(nodes.below);
  await holder(nodes.beside);
  await holder((await rootOf(owner)).id);
  for (const role of ['developer', 'viewer'] as const) {
    const calls = await limited(role);
    const clerk = (list: { id: string; member_count: number }[]) => list.find(({ id }) => id === roleId)?.member_count;
    expect(clerk((await calls('GET', '/roles?take=50')).json().items)).toBe(1);
    expect((await calls('GET', `/roles/${roleId}`)).json().data.member_count).toBe(1);
    expect((await calls('GET', `/roles/${roleId}/permissions`)).json().data.permission_keys).toEqual([
      'hierarchy.view',
    ]);
    // A role applies in the whole environment: an administrator of a part cannot change it.
    expect(outcomeOf(await calls('POST', '/roles', { name: 'Mine' }))).toBe('403 account.capability_required');
  }
  expect((await owner('GET', `/roles/${roleId}`)).json().data.member_count).toBe(3);
  const viewer = await limited('viewer');
  expect(outcomeOf(await give(viewer, await holder(nodes.mine), nodes.mine))).toBe('403 account.capability_required');
  const support = await limited('support');
  expect(outcomeOf(await support('GET', '/roles'))).toBe('403 account.capability_required');
});

test('an organization’s manager sees holders in what they manage, and no others', async () => {
  const acme = (await owner('POST', '/organizations', { name: 'Acme' })).json().data.id;
  await holder(acme);
  await holder(nodes.beside);
  const manager = await newIdentity(api, account, [['organization_manager', acme]]);
  const { items } = (await callsWith(api, manager.headers)('GET', `/organizations/${acme}/roles`)).json();
  expect(items.find(({ id }: { id: string }) => id === roleId)).toMatchObject({ member_count: 1 });
});
