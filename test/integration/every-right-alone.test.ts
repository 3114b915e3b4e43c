import type { PermissionRule } from '../../src/http/surfaces/operation.js';
import { newMember } from '../support/administrators.js';
import { startApi, type TestApi } from '../support/api.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, given } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { newPlaces, type Place } from '../support/operations/place.js';

/** The permission that an operation names is enough to use it (contract §6). Granting also requires what is granted. */

let api: TestApi;
let place: Place;
let operations: Declared[];

beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
  operations = await everyOperation(api.app);
});
afterAll(() => api?.stop());

/** An operation for any member is tried by a member with some capability. */
const someCapability = 'account.view';
const givesRoles = { permissions: ['rbac.assign_roles', 'hierarchy.view'], capabilities: ['env_roles.manage'] };
const givesAdministratorRoles = { capabilities: ['members.manage', 'members.view'] };
/** Operations that grant permissions also require these, which the examples grant by a role or a key. */
const givesRights: Record<string, { permissions?: readonly string[]; capabilities?: readonly string[] }> = {
  createIdentity: givesRoles,
  createIdentityInvite: givesRoles,
  addOrganizationMember: givesRoles,
  updateOrganizationMember: givesRoles,
  createOrganizationInvitation: givesRoles,
  createOrganizationSsoConnection: givesRoles,
  updateOrganizationSsoConnection: givesRoles,
  createSsoConnection: givesRoles,
  updateSsoConnection: givesRoles,
  createScimGroupMapping: givesRoles,
  updateScimGroupMapping: givesRoles,
  createRole: { permissions: ['hierarchy.view'] },
  assignRole: { permissions: ['hierarchy.view'] },
  setRolePermissions: { permissions: ['identity.view', 'hierarchy.view'] },
  updateMember: givesAdministratorRoles,
  createAdministratorRole: givesAdministratorRoles,
  createAdministratorInvite: givesAdministratorRoles,
  resendAdministratorInvite: givesAdministratorRoles,
  resendProcess: givesAdministratorRoles,
  extendProcess: givesAdministratorRoles,
};

type Headers = Record<string, string>;

/** Returns what each operation answers a caller with its permission alone, if it does not work. */
async function problemsOf(asked: Declared[], headersFor: (one: Declared) => Promise<Headers>): Promise<string[]> {
  expect(asked.length).toBeGreaterThan(0);
  const problems: string[] = [];
  for (const declared of asked) {
    const sent = await exampleOf(examples, declared)(given(place));
    const { statusCode, body } = await place.call(declared, sent, null, await headersFor(declared));
    if (statusCode >= 300) problems.push(`${declared.name}: ${statusCode} ${body}`);
  }
  return problems;
}

const made = new Map<string, Promise<Headers>>();
function onceFor(rights: string, make: () => Promise<Headers>): Promise<Headers> {
  const headers = made.get(rights) ?? make();
  made.set(rights, headers);
  return headers;
}

/** Returns an administrator with only these capabilities. */
const withCapabilities = (capabilities: string[]) =>
  onceFor(`capabilities ${capabilities}`, async () => {
    const url = `/portal/v1/accounts/${place.account.accountSlug}/administrator-roles`;
    const payload = { name: `Only ${capabilities}`, capabilities };
    const role = await api.app.inject({ method: 'POST', url, headers: place.headers.owner, payload });
    return (await newMember(api, place.account, { roleId: role.json().data.id })).headers;
  });

test('every Portal operation works with its capability alone', async () => {
  const ofPortal = operations.filter(({ surface }) => surface === 'portal');
  const enough = ({ operation, example }: Declared) => {
    const asked = operation?.capability;
    const own = typeof asked === 'string' ? asked : someCapability;
    return withCapabilities([...new Set([own, ...(givesRights[example]?.capabilities ?? [])])]);
  };
  expect(await problemsOf(ofPortal, enough)).toEqual([]);
});

test('a caller who assigns a role with what they create, and may not assign roles, is told the missing capability', async () => {
  const giving = operations.filter(
    ({ surface, example }) => surface === 'portal' && givesRights[example] === givesRoles,
  );
  const told = await Promise.all(
    giving.map(async (declared) => {
      const sent = await exampleOf(examples, declared)(given(place));
      const headers = await withCapabilities([declared.operation?.capability as string]);
      const { statusCode, body } = await place.call(declared, sent, null, headers);
      const { code, details } = JSON.parse(body).error ?? {};
      return `${declared.name}: ${statusCode} ${code}, ${details?.[0]?.message}`;
    }),
  );
  expect(told.length).toBeGreaterThan(8);
  expect(told).toEqual(giving.map(({ name }) => `${name}: 403 account.capability_required, needs env_roles.manage`));
});

test('every operation for servers works with a key whose only scope is its permission', async () => {
  const scopesOf = ({ operation, example }: Declared): string[] => {
    const rule = operation?.permission as PermissionRule;
    const own = typeof rule === 'string' ? rule : (rule.anyOf[0] as string);
    return [...new Set([own, ...(givesRights[example]?.permissions ?? [])])];
  };
  const withOnly = (scopes: string[]) => onceFor(`key ${scopes}`, () => place.account.apiKey(scopes));
  // The examples' keys have every permission, which only another such key can grant.
  const givesEverything = new Set(['createApiKey', 'rotateApiKey']);
  const forServers = operations.filter(
    ({ surface, example }) => (surface === 'public' || surface === 'authzen') && !givesEverything.has(example),
  );
  expect(await problemsOf(forServers, (one) => withOnly(scopesOf(one)))).toEqual([]);
});
