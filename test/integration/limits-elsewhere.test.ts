import { capabilities } from '../../src/domain/capabilities/administrator-roles.js';
import { newMember } from '../support/administrators.js';
import { startApi, type TestApi } from '../support/api.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, type Given, newUnique } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { type Kind, kinds } from '../support/operations/kinds.js';
import { newPlaces, type Place } from '../support/operations/place.js';

/**
 * Every Portal operation by administrators with all capabilities limited to another place: nothing outside exists for
 * them (contract §6).
 */

let api: TestApi;
let place: Place;
let operations: Declared[];
const ids = new Map<Kind, string>();

beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
  operations = (await everyOperation(api.app)).filter(({ surface }) => surface === 'portal');
});
afterAll(() => api?.stop());

/** Creates the objects of an input once, since no operation gets as far as changing them. */
const given = (): Given => ({
  place,
  unique: newUnique(),
  async id(kind) {
    const id = ids.get(kind) ?? (await kinds[kind].make(place));
    ids.set(kind, id);
    return id;
  },
});

const levelOf = ({ url }: Declared) =>
  url.includes('{envSlug}') ? 'environment' : url.includes('{appSlug}') ? 'application' : 'account';

/** Returns each operation's outcome: its status, or that of a bulk request's first refusal. */
async function outcomes(which: readonly Declared[], limits: object): Promise<Map<string, string>> {
  const url = `/portal/v1/accounts/${place.account.accountSlug}/administrator-roles`;
  const payload = { name: newUnique(), capabilities };
  const role = await api.app.inject({ method: 'POST', url, headers: place.headers.owner, payload });
  const { headers } = await newMember(api, place.account, { roleId: role.json().data.id }, undefined, limits);
  const found = new Map<string, string>();
  for (const declared of which) {
    const sent = await exampleOf(examples, declared)(given());
    const answer = await place.call(declared, sent, null, headers);
    const [refused] = declared.method === 'GET' || !answer.body ? [] : (answer.json().items ?? []);
    found.set(declared.example, refused?.error?.code ?? String(answer.statusCode));
  }
  return found;
}

const named = (found: Map<string, string>, ...expected: string[]) =>
  [...found].filter(([, outcome]) => !expected.includes(outcome)).map(([name, outcome]) => `${name}: ${outcome}`);

/** Operations that show the caller's own part, or nothing, or who the caller is. */
const ofOwnPart = ['listApplications', 'listAuditLog', 'exportAuditLog', 'listIdentityAuditLog', 'getMe'];

test('in another application: the account is forbidden, and the application and everything in it do not exist', async () => {
  const limits = { application_ids: [await kinds.application.make(place)] };
  const within = operations.filter((one) => levelOf(one) !== 'account');
  expect(named(await outcomes(within, limits), '404')).toEqual([]);
  const found = await outcomes(
    operations.filter((one) => levelOf(one) === 'account'),
    limits,
  );
  for (const name of ofOwnPart) expect([name, found.get(name)]).toEqual([name, '200']);
  for (const name of ['getAuditRow', 'getIdentityAuditRow']) expect([name, found.get(name)]).toEqual([name, '404']);
  const others = [...found].filter(([name]) => !ofOwnPart.includes(name) && !/AuditRow$/.test(name));
  expect(named(new Map(others), '403')).toEqual([]);
});

/** The visible part of the tree, the roles that can be assigned there, and its Environment. */
const ofNodes = [
  ...['getEnvironment', 'listNodes', 'getNodeTree', 'getNodeTypeSchema', 'listOrganizations'],
  ...['listRoles', 'getRole', 'getRolePermissions', 'listAuditLogs', 'exportAuditLogs'],
];
/** Operations at nodes, on people there, or that read those. */
const isAtNodes = ({ example, url }: Declared) =>
  /\/nodes\/|\/organizations\/\{id\}|role-assignments/.test(url) ||
  ['createNode', 'createOrganization', 'getAuditLog'].includes(example);

test('at another node: the rest of the tree does not exist, and the environment itself is forbidden', async () => {
  const limits = { node_ids: [await kinds.organization.make(place)] };
  const within = operations.filter((one) => levelOf(one) === 'environment' && one.example !== 'deleteEnvironment');
  const found = await outcomes(within, limits);
  for (const name of ofNodes) expect([name, found.get(name)]).toEqual([name, '200']);
  const others = within.filter(({ example }) => !ofNodes.includes(example));
  const outcomesOf = (which: Declared[]) => new Map(which.map(({ example }) => [example, found.get(example) ?? '']));
  const notThere = ['404', 'identity.not_found', 'role_assignments.not_found'];
  expect(named(outcomesOf(others.filter(isAtNodes)), ...notThere)).toEqual([]);
  expect(named(outcomesOf(others.filter((one) => !isAtNodes(one))), '403')).toEqual([]);
  expect(others.filter(isAtNodes).length).toBeGreaterThan(40);
});
