import { v7 as uuidv7 } from 'uuid';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { newIdentityCaller } from '../../support/identity-caller.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api.stop());

const call = (method: 'GET' | 'POST' | 'PATCH', path: string, status: number, payload?: object, headers = key) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
const newNode = async (parent_node_id: string | null = null): Promise<string> =>
  (await call('POST', '/nodes', 201, { parent_node_id, node_type: 'unit', name: 'A unit' })).json().data.id;
const newIdentity = async (): Promise<string> =>
  (await call('POST', '/identities', 201, { email: `${uuidv7()}@example.com` })).json().data.id;
const newRole = async (permission_keys: string[]): Promise<string> =>
  (await call('POST', '/roles', 201, { name: uuidv7(), permission_keys })).json().data.id;
const give = (identity: string, role_id: string, node_id: string | null, window: object = {}) =>
  call('POST', `/identities/${identity}/role-assignments`, 201, { role_id, node_id, ...window });
const permissionsAt = async (identity: string, node?: string) =>
  (await call('GET', `/identities/${identity}/effective-permissions${node ? `?node_id=${node}` : ''}`, 200)).json().data
    .permissions;
const locations = async (identity: string, permission: string) =>
  (await call('GET', `/identities/${identity}/permission-locations?permission=${permission}`, 200))
    .json()
    .data.locations.map(({ node_id }: { node_id: string }) => node_id);

test('permissions at a node come from there and above, and from assignments in force only', async () => {
  const top = await newNode();
  const below = await newNode(top);
  const [viewing, managing] = [
    await newRole(['hierarchy.view']),
    await newRole(['hierarchy.manage', 'hierarchy.view']),
  ];
  const id = await newIdentity();
  await give(id, viewing, top);
  await give(id, managing, below);
  await give(id, await newRole(['identity.view']), below, { effective_from: '2090-01-01T00:00:00Z' });
  expect(await permissionsAt(id)).toEqual([]);
  expect(await permissionsAt(id, top)).toEqual(['hierarchy.view']);
  expect(await permissionsAt(id, below)).toEqual(['hierarchy.manage', 'hierarchy.view']);
  expect(await locations(id, 'hierarchy.view')).toEqual([top]);
  expect(await locations(id, 'hierarchy.manage')).toEqual([below]);
  expect(await locations(id, 'identity.view')).toEqual([]);
  const [found] = (await call('GET', `/identities/${id}/permission-locations?permission=hierarchy.manage`, 200)).json()
    .data.locations;
  expect(found).toEqual({
    node_id: below,
    node_name: 'A unit',
    node_type: 'unit',
    path: [expect.any(String), top, below],
  });
});

test('an inactive person holds nothing', async () => {
  const id = await newIdentity();
  await give(id, await newRole(['hierarchy.view']), null);
  expect(await permissionsAt(id)).toEqual(['hierarchy.view']);
  await call('POST', `/identities/${id}/deactivate`, 200);
  expect(await permissionsAt(id)).toEqual([]);
  expect(await locations(id, 'hierarchy.view')).toEqual([]);
});

test('nothing is held below an inactive node', async () => {
  const node = await newNode();
  const id = await newIdentity();
  await give(id, await newRole(['hierarchy.view']), node);
  const headers = { ...key, 'if-match': '1' };
  await call('PATCH', `/nodes/${node}`, 200, { status: 'inactive' }, headers);
  expect(await permissionsAt(id, node)).toEqual([]);
  expect(await locations(id, 'hierarchy.view')).toEqual([]);
});

test.each(['effective-permissions', 'permission-locations?permission=hierarchy.view'])(
  'only permitted callers may request %s',
  async (what) => {
    const url = `/identities/${await newIdentity()}/${what}`;
    await call('GET', url, 401, undefined, {});
    const narrow = await account.apiKey(['identity.view']);
    expect(outcomeOf(await call('GET', url, 403, undefined, narrow))).toBe('403 api_key.scope_required');
    const nobody = await newIdentityCaller(api, account);
    expect(outcomeOf(await call('GET', url, 403, undefined, nobody.headers))).toBe('403 permission.required');
    const neighbour = await (await newAccount(api)).apiKey();
    expect(outcomeOf(await call('GET', url, 404, undefined, neighbour))).toBe('404 identity.not_found');
    const portal = { url: account.portalPath(url), headers: await account.as('developer') };
    await send(api.app, 200, portal);
    expect(outcomeOf(await send(api.app, 403, { ...portal, headers: await account.as('support') }))).toBe(
      '403 account.capability_required',
    );
  },
);

test('a missing node and a missing permission are 404, and odd input is 400', async () => {
  const path = `/identities/${await newIdentity()}`;
  const node = await call('GET', `${path}/effective-permissions?node_id=${uuidv7()}`, 404);
  expect(outcomeOf(node)).toBe('404 nodes.node_not_found');
  const permission = await call('GET', `${path}/permission-locations?permission=no.such`, 404);
  expect(outcomeOf(permission)).toBe('404 permission.not_found');
  await call('GET', `${path}/effective-permissions?node_id=x`, 400);
  await call('GET', `${path}/permission-locations`, 400);
});
