import type { Example } from './example.js';

const ofInvite: Example = async ({ id }) => ({ path: { id: await id('identityInvite') } });
const ofAccountInvite: Example = async ({ id }) => ({ path: { id: await id('accountIdentityInvite') } });
const ofInvitation: Example = async ({ id }) => {
  const organization = await id('organization');
  return { path: { id: organization, invitation_id: await id('organizationInvitation', organization) } };
};

const intoEnvironment: Example = async ({ id }) => ({ query: { environment_id: await id('environment') } });

export const inviteExamples: Record<string, Example> = {
  createIdentityInvite: async ({ id, unique }) => ({
    body: { email: `${unique}@example.com`, role_id: await id('role'), node_id: await id('node') },
  }),
  getIdentityInvite: ofInvite,
  resendIdentityInvite: ofInvite,
  revokeIdentityInvite: ofInvite,
  listIdentityInvites: intoEnvironment,
  listAccountIdentityInvites: intoEnvironment,
  getAccountIdentityInvitesSummary: intoEnvironment,
  listDirectory: intoEnvironment,
  getDirectoryIdentity: async ({ id }) => ({ path: { id: await id('directoryIdentity') } }),
  deleteDirectoryIdentity: async ({ id }) => ({ path: { id: await id('directoryIdentity') } }),
  createAccountIdentityInvite: async ({ id, unique }) => ({
    body: { email: `${unique}@example.com`, environment_id: await id('environment') },
  }),
  getAccountIdentityInvite: ofAccountInvite,
  resendAccountIdentityInvite: ofAccountInvite,
  revokeAccountIdentityInvite: ofAccountInvite,
  listOrganizationInvitations: async ({ id }) => ({ path: { id: await id('organization') } }),
  createOrganizationInvitation: async ({ id, unique }) => ({
    path: { id: await id('organization') },
    body: { email: `${unique}@example.com`, role_ids: [await id('role')] },
  }),
  getOrganizationInvitation: ofInvitation,
  resendOrganizationInvitation: ofInvitation,
  revokeOrganizationInvitation: ofInvitation,
};
