import type { Example, Given } from './example.js';

const ofOrganization: Example = async ({ id }) => ({ path: { id: await id('organization') } });

/** Changes an organization, whose version is that of its node. */
const changing =
  (body?: (unique: string) => object): Example =>
  async ({ id: idOf, unique }) => {
    const id = await idOf('organization');
    return { path: { id }, version: { table: 'nodes', id }, ...(body && { body: body(unique) }) };
  };

async function ofMember({ id }: Given) {
  const organizationId = await id('organization');
  return { path: { id: organizationId, identity_id: await id('organizationMember', organizationId) } };
}

async function ofDomain({ id }: Given) {
  const organizationId = await id('organization');
  return { path: { id: organizationId, domain: await id('organizationDomain', organizationId) } };
}

export const organizationExamples: Record<string, Example> = {
  listOrganizations: async ({ id }) => ({ query: { parent_node_id: await id('rootNode') } }),
  createOrganization: async ({ id, unique }) => ({
    body: { name: `Organization ${unique}`, parent_node_id: await id('organization') },
  }),
  deleteOrganizations: async ({ id, place }) => {
    await id('organization');
    return { query: { confirm: place.environmentSlug } };
  },
  getOrganization: ofOrganization,
  updateOrganization: changing((unique) => ({ name: unique })),
  deleteOrganization: changing(),
  listOrganizationRoles: ofOrganization,
  getAuthenticationPolicy: ofOrganization,
  replaceAuthenticationPolicy: async ({ id: idOf }) => {
    const id = await idOf('organization');
    const table = '(select id, authentication_policy_version as version from organizations) as policies';
    const body = { allowed_methods: ['password'], require_mfa: true, require_sso: false, session_ttl_seconds: 3600 };
    return { path: { id }, version: { table, id }, body };
  },
  listOrganizationMembers: ofOrganization,
  addOrganizationMember: async ({ id }) => ({
    path: { id: await id('organization') },
    body: { identity_id: await id('identity'), role_ids: [await id('role')] },
  }),
  getOrganizationMember: async (given) => ofMember(given),
  updateOrganizationMember: async (given) => ({
    ...(await ofMember(given)),
    body: { role_ids: [await given.id('role')] },
  }),
  removeOrganizationMember: async (given) => ofMember(given),
  getOrganizationSsoRecoveryCodes: ofOrganization,
  renewOrganizationSsoRecoveryCodes: ofOrganization,
  listOrganizationDomains: ofOrganization,
  claimOrganizationDomain: async ({ id, unique }) => ({
    path: { id: await id('organization') },
    body: { domain: `${unique}.example` },
  }),
  getOrganizationDomain: ofDomain,
  verifyOrganizationDomain: ofDomain,
  deleteOrganizationDomain: ofDomain,
};
