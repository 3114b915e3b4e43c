import type { Example, Given } from './example.js';
import type { Kind } from './kinds.js';

const of =
  (kind: Kind, more: object = {}): Example =>
  async ({ id }) => ({ path: { id: await id(kind) }, ...more });
const ofIdentity = of('identity');
const ofNode = of('node');

/** Changes a row under its current version. */
const changing =
  (kind: Kind, table: string, body?: (given: Given) => Promise<object> | object): Example =>
  async (given) => {
    const id = await given.id(kind);
    return { path: { id }, version: { table, id }, ...(body && { body: await body(given) }) };
  };

const ofARequest: Example = async ({ id }) => ({ query: { correlation_id: await id('request') } });
const auditLog: Record<string, Example> = {
  listAuditLogs: ofARequest,
  exportAuditLogs: ofARequest,
  getAuditLog: of('auditRow'),
};

const identities: Record<string, Example> = {
  listIdentitiesWithRoles: async ({ id }) => ({ query: { role_id: await id('role') } }),
  createIdentity: async ({ id, unique }) => ({
    body: { email: `${unique}@example.com`, role_id: await id('role'), node_id: await id('node') },
  }),
  createIdentities: async ({ id, unique }) => ({
    body: {
      identities: [{ email: `${unique}@example.com`, role_id: await id('role'), node_id: await id('node') }],
    },
  }),
  getIdentity: ofIdentity,
  getIdentityDetail: ofIdentity,
  updateIdentity: of('identity', { body: { first_name: 'Eve' } }),
  deleteIdentity: ofIdentity,
  activateIdentity: ofIdentity,
  deactivateIdentity: ofIdentity,
  listIdentitySessions: ofIdentity,
  endIdentitySessions: async ({ id }) => {
    const identityId = await id('identity');
    await id('session', identityId);
    return { path: { id: identityId } };
  },
  endIdentitySession: async ({ id }) => {
    const identityId = await id('identity');
    return { path: { id: identityId, session_id: await id('session', identityId) } };
  },
  listIdentityApplications: ofIdentity,
  listIdentityOrganizations: ofIdentity,
  endIdentityApplication: async ({ id }) => {
    const identityId = await id('identity');
    return { path: { id: identityId, oauth_client_id: await id('allowedClient', identityId) } };
  },
  resetIdentityPassword: async ({ id }) => ({
    path: { id: await id('identity') },
    body: { client_id: await id('clientId') },
  }),
  setIdentityPassword: of('identity', { body: { password: 'correct horse battery staple' } }),
  unlockIdentity: ofIdentity,
  verifyIdentityEmail: ofIdentity,
  getIdentityAuthState: ofIdentity,
  getIdentityMfa: ofIdentity,
  resetIdentityMfa: ofIdentity,
  getEffectivePermissions: async ({ id }) => ({
    path: { id: await id('identity') },
    query: { node_id: await id('node') },
  }),
  getPermissionLocations: of('identity', { query: { permission: 'hierarchy.view' } }),
};

const hierarchy: Record<string, Example> = {
  listNodes: async ({ id }) => ({ query: { parent_node_id: await id('rootNode') } }),
  createNode: async ({ id, unique }) => ({
    body: { node_type: 'unit', name: `Node ${unique}`, parent_node_id: await id('node') },
  }),
  getNode: ofNode,
  updateNode: changing('node', 'nodes', async ({ id }) => ({ name: 'Renamed', parent_node_id: await id('node') })),
  deleteNode: changing('node', 'nodes'),
  moveNode: changing('node', 'nodes', async ({ id }) => ({ parent_node_id: await id('node') })),
  getNodeSubtree: ofNode,
  listNodeChildren: ofNode,
  listNodeAncestors: ofNode,
  listNodeIdentities: async ({ id }) => ({ path: { id: await id('node') }, query: { role_id: await id('role') } }),
  replaceNodeTypeSchema: ({ place: { scope }, unique }) => ({
    version: { table: 'node_type_schemas', key: 'environment_id', id: scope.environmentId },
    body: {
      max_depth: 9,
      node_types: ['unit', 'organization'].map((key) => ({
        key,
        name: unique,
        can_be_root: true,
        allowed_parents: ['organization', 'unit'],
      })),
    },
  }),
};

const ofPermission = of('permission');
const ofRole = of('role');
const access: Record<string, Example> = {
  createApiKey: ({ unique }) => ({ body: { name: unique, access_mode: 'full' } }),
  getApiKey: of('apiKey'),
  updateApiKey: of('apiKey', { body: { is_active: false } }),
  rotateApiKey: of('apiKey', { body: { overlap_seconds: 60 } }),
  deleteApiKey: of('apiKey'),
  registerPermission: ({ unique }) => ({ body: { key: `thing.r${unique}`, name: 'Thing' } }),
  getPermission: ofPermission,
  updatePermission: changing('permission', 'permissions', () => ({ name: 'Renamed' })),
  removePermission: changing('permission', 'permissions'),
  getPermissionUsage: ofPermission,
  createRole: ({ unique }) => ({ body: { name: unique, permission_keys: ['hierarchy.view'] } }),
  getRole: ofRole,
  updateRole: changing('role', 'roles', ({ unique }) => ({ name: unique })),
  deleteRole: changing('role', 'roles'),
  getRolePermissions: ofRole,
  setRolePermissions: changing('role', 'roles', () => ({ permission_keys: ['identity.view'] })),
  listIdentityRoleAssignments: ofIdentity,
  assignRole: async ({ id }) => ({
    path: { id: await id('identity') },
    body: { role_id: await id('role'), node_id: await id('node') },
  }),
  unassignRole: async ({ id }) => {
    const identityId = await id('identity');
    return { path: { id: identityId, assignment_id: await id('assignment', identityId) } };
  },
  assignRoles: async ({ id }) => ({
    body: {
      role_assignments: [{ identity_id: await id('identity'), role_id: await id('role'), node_id: await id('node') }],
    },
  }),
  unassignRoles: async ({ id }) => ({ body: { assignment_ids: [await id('assignment')] } }),
};

const check = async ({ id }: Given) => ({
  identity_id: await id('identity'),
  permission: 'hierarchy.view',
  node_id: await id('node'),
});
const subject = async ({ id }: Given) => ({ type: 'identity', id: await id('identity') });
const resource = async ({ id }: Given) => ({ type: 'node', id: await id('node') });
const action = { name: 'hierarchy.view' };
const question = async (given: Given) => ({ subject: await subject(given), action, resource: await resource(given) });

const decisions: Record<string, Example> = {
  evaluate: async (given) => ({ body: await check(given) }),
  evaluateBulk: async (given) => ({ body: { checks: [await check(given), await check(given)] } }),
  explain: async (given) => ({ body: await check(given) }),
  accessEvaluation: async (given) => ({ body: await question(given) }),
  accessEvaluations: async (given) => ({
    body: {
      ...(await question(given)),
      evaluations: [{ resource: await resource(given) }, { subject: await subject(given) }],
    },
  }),
  accessSearchSubject: async (given) => ({
    body: { subject: { type: 'identity' }, action, resource: await resource(given) },
  }),
  accessSearchResource: async (given) => ({
    body: { subject: await subject(given), action, resource: { type: 'node' } },
  }),
  accessSearchAction: async (given) => ({ body: { subject: await subject(given), resource: await resource(given) } }),
};

/** The operations of the Public API, the Portal and AuthZEN in an Environment. */
export const environmentExamples: Record<string, Example> = {
  ...auditLog,
  ...identities,
  ...hierarchy,
  ...access,
  ...decisions,
};
