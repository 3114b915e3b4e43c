import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Call, callsOf } from '../support/calls.js';
import { newInterleavedSso } from '../support/interleaved/sso.js';
import { callsWith } from '../support/nodes.js';
import { databaseTime, eventsSince, rowsOf } from '../support/rows.js';
import { newDirectory, newGroup, scimOutcome } from '../support/scim.js';

/** What happens to an organization's connection, domains and directory when it is deleted (docs/decisions/0037). */

let api: TestApi;
let account: TestAccount;
let owner: Call;
let key: ReturnType<typeof callsWith>;
let people: Awaited<ReturnType<typeof newInterleavedSso>>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  key = callsWith(api, await account.apiKey());
  people = await newInterleavedSso(api, account);
});
afterAll(() => api?.stop());

const inEnvironment = '/applications/portal/environments/development';
const make = async (path: string, body: object): Promise<string> => (await key('POST', path, body)).json().data.id;
const newRole = (name: string) => make('/roles', { name, permission_keys: [] });
const map = async (body: object): Promise<string> => {
  const made = await owner('POST', '/scim/group-mappings', { environment_id: account.scope.environmentId, ...body });
  return made.json().data.id;
};

/** Creates an organization with all of these, and a person who signed in by its provider. */
async function furnished() {
  const person = await people.make({ by: 'organization', isKnown: true });
  expect(await people.happenings.complete(person)).toBe('goes on');
  const { organizationId } = person;
  const inside = await make('/nodes', { name: 'Team', node_type: 'unit', parent_node_id: organizationId });
  const roleId = await newRole(`Of ${organizationId}`);
  const directory = await newDirectory(api, account, organizationId);
  await newGroup(directory, 'Staff');
  const mappings = [
    await map({ scim_group: 'Staff', role_id: roleId, organization_id: organizationId }),
    await map({ scim_group: 'Guests', role_id: roleId, node_id: inside }), // of the Environment's own directory
  ];
  return { person, directory, mappings };
}

const deletions: [string, (organizationId: string) => Promise<string>][] = [
  [
    'an organization',
    async (id) => outcomeOf(await key('DELETE', `/organizations/${id}?cascade=true`, undefined, await versionOf(id))),
  ],
  [
    'its node',
    async (id) => outcomeOf(await key('DELETE', `/nodes/${id}?cascade=true`, undefined, await versionOf(id))),
  ],
  ['all organizations', async () => outcomeOf(await key('DELETE', '/organizations?confirm=development'))],
];
const versionOf = async (id: string): Promise<number> => (await key('GET', `/nodes/${id}`)).json().data.version;

test.each(deletions)('%s deletes sessions by its provider, and each thing with its event', async (_, remove) => {
  const { person, directory, mappings } = await furnished();
  const bystander = await people.make({ by: 'environment', isKnown: true });
  expect(await people.happenings.complete(bystander)).toBe('goes on');
  const since = await databaseTime(api);
  expect(await remove(person.organizationId)).toBe('204');
  expect(await people.left(person)).toMatchObject({ given: 0, in: [false, false], active: [true] });
  expect(scimOutcome(await directory('GET', '/Users'))).toBe('401');
  for (const id of mappings)
    expect(outcomeOf(await owner('GET', `/scim/group-mappings/${id}`))).toBe('404 scim_group_mapping.not_found');
  const told = await eventsSince(api, account.scope.accountId, since);
  const count = (action: string) => told.filter((event) => event.action === action).length;
  expect(count('sso_connection.deleted')).toBe(1);
  expect(count('sso.domain.deleted')).toBe(1);
  expect(count('scim_token.revoked')).toBe(1);
  expect(count('scim_group.deleted')).toBe(1);
  expect(count('scim_group_mapping.deleted')).toBe(2);
  expect(count('identity.sessions_revoked')).toBe(1);
  const released = await rowsOf(api, `select from outbox where input ->> 'news' = 'released' and created_at > $1`, [
    since,
  ]);
  expect(released).toHaveLength(1);
  expect(await people.left(bystander)).toMatchObject({ given: 1, in: [true, false] });
});

test('a role that a connection or a mapping assigns cannot be deleted', async () => {
  const [given, mapped] = [await newRole('Given to newcomers'), await newRole('Mapped')];
  const connection = await owner('POST', `${inEnvironment}/sso-connections`, {
    type: 'oidc',
    name: 'Acme',
    default_role_id: given,
  });
  const { id } = connection.json().data.connection;
  const mapping = await map({ scim_group: 'Everybody', role_id: mapped });
  const remove = async (role: string) => outcomeOf(await key('DELETE', `/roles/${role}`, undefined, 1));
  expect([await remove(given), await remove(mapped)]).toEqual(['409 role.in_use', '409 role.in_use']);
  await owner('PATCH', `${inEnvironment}/sso-connections/${id}`, { default_role_id: null });
  await owner('DELETE', `/scim/group-mappings/${mapping}`);
  expect([await remove(given), await remove(mapped)]).toEqual(['204', '204']);
});
