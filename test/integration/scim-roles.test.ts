import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { callsWith } from './nodes-setup.js';
import { callsOf, outcomeOf } from './portal-setup.js';
import { heldBy, make, newDirectory, newGroup, newUser, operations, type ScimCall } from './scim-setup.js';

let api: TestApi;
let account: TestAccount;
let key: ReturnType<typeof callsWith>;
let portal: ReturnType<typeof callsOf>;
let organization: string;
let own: ScimCall;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
  portal = callsOf(api, account.accountSlug, await account.as('owner'));
});
beforeEach(async () => {
  organization = (await make(api, account, '/organizations', { name: 'Customer' })).id;
  own = await newDirectory(api, account, organization);
});
afterAll(() => api.stop());

let roles = 0;
/** A role at a node that a group of the organization's directory gives, as `heldBy` has it. */
async function map(scimGroup: string, nodeId: string) {
  const payload = { name: `R ${++roles}`, permission_keys: ['hierarchy.view'] };
  const { id: roleId } = await make(api, account, '/roles', payload);
  const { environmentId: environment_id } = account.scope;
  const mapping = { environment_id, organization_id: organization, scim_group: scimGroup, role_id: roleId };
  const made = await portal('POST', '/scim/group-mappings', { ...mapping, node_id: nodeId });
  expect(outcomeOf(made)).toBe('201');
  return { id: made.json().data.id as string, held: `${roleId} ${nodeId}` };
}

test('who comes back into the organization holds what their groups give', async () => {
  const { held } = await map('Engineers', organization);
  const { id, userName } = await newUser(own);
  await newGroup(own, 'Engineers', id);
  const leave = async () => {
    expect(outcomeOf(await key('DELETE', `/organizations/${organization}/members/${id}`))).toBe('204');
    expect(await heldBy(api, id)).toEqual([]);
  };
  await leave();
  expect(outcomeOf(await key('POST', `/organizations/${organization}/members`, { identity_id: id }))).toBe('201');
  expect(await heldBy(api, id)).toEqual([held]);
  // A role that is given by hand at the same time stays when the groups go.
  await leave();
  const by = { identity_id: id, role_ids: [held.split(' ')[0]] };
  expect(outcomeOf(await key('POST', `/organizations/${organization}/members`, by))).toBe('201');
  expect(await heldBy(api, id)).toEqual([held]);
  expect((await own('PATCH', `/Users/${id}`, operations({ op: 'add', path: 'title', value: 'T' }))).statusCode).toBe(
    200,
  );
  expect(userName).toBeDefined();
});
