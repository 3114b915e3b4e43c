import { builtInRoles, capabilities, capabilitiesOf } from '../../src/domain/capabilities/administrator-roles.js';
import { expectGenerated } from '../support/generated.js';
import { rolesTable } from '../support/roles-table.js';

const of = (key: keyof typeof builtInRoles) => [...builtInRoles[key].capabilities].sort();
const views = capabilities.filter((capability) => capability.endsWith('.view'));

test('every capability of the specification exists', () => {
  expect(capabilities).toEqual(
    expect.arrayContaining([
      'env_structure.view',
      'env_structure.manage',
      'env_permissions.manage',
      'audit.view',
      'sso.manage',
      'account_webhooks.view',
      'identities.view',
      'applications.view',
    ]),
  );
  expect(new Set(capabilities).size).toBe(capabilities.length);
});

test('an Owner may do everything, an Admin all but account.manage, a Viewer reads', () => {
  expect(of('owner')).toEqual([...capabilities].sort());
  expect(of('admin')).toEqual(capabilities.filter((capability) => capability !== 'account.manage').sort());
  expect(of('viewer')).toEqual([...views].sort());
});

test('a Developer runs applications, environments and OAuth clients and reads what surrounds them', () => {
  expect(of('developer')).toEqual(
    [
      'applications.view',
      'applications.manage',
      ...capabilities.filter((capability) => capability.startsWith('env_')),
      'oauth_clients.view',
      'oauth_clients.manage',
      'identities.view',
      'audit.view',
      'sso.view',
      'scim.view',
      'account_webhooks.view',
      'processes.view',
    ].sort(),
  );
});

test('Support helps identities and processes and reads what that takes', () => {
  expect(of('support')).toEqual(
    [
      'identities.view',
      'identities.manage',
      'processes.view',
      'processes.manage',
      'applications.view',
      'env_structure.view',
      'env_organizations.view',
      'env_webhooks.view',
      'account_webhooks.view',
      'audit.view',
      'sso.view',
    ].sort(),
  );
});

test('roles add up, built-in ones by their key and custom ones by their list', () => {
  const held = capabilitiesOf([
    { systemKey: null, capabilities: ['sso.manage', 'audit.view'] },
    { systemKey: null, capabilities: ['audit.view', 'was.removed'] },
  ]);
  expect(held).toEqual(['audit.view', 'sso.manage']);
  expect(capabilitiesOf([{ systemKey: 'viewer', capabilities: ['sso.manage'] }])).toEqual(views);
  expect(capabilitiesOf([])).toEqual([]);
});

/**
 * Contract §10, "Built-in roles": each role's pattern; `*` is any action, and a word alone any area with that prefix.
 */
const contract = {
  Owner: /./,
  Admin: /^(?!account\.manage$)/,
  Developer: /^(applications|env_\w+|oauth_clients)\.|^(identities|audit|sso|scim|account_webhooks|processes)\.view$/,
  Support:
    /^(identities|processes)\.|^(applications|env_structure|env_organizations|env_webhooks|account_webhooks|audit|sso)\.view$/,
  Viewer: /\.view$/,
};

test('the whole matrix is the contract’s', () => {
  const matrix = Object.values(builtInRoles).flatMap(({ name, capabilities: held }) =>
    capabilities.map((capability) => `${name} ${capability} ${held.includes(capability)}`),
  );
  const wanted = Object.entries(contract).flatMap(([name, pattern]) =>
    capabilities.map((capability) => `${name} ${capability} ${pattern.test(capability)}`),
  );
  expect(matrix).toEqual(wanted);
});

test('docs/administrator-roles.md shows the matrix', async () => {
  await expectGenerated('docs/administrator-roles.md', 'roles', rolesTable());
});
