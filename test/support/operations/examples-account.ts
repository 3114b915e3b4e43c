import type { Example, Given } from './example.js';
import { environmentExamples } from './examples-environment.js';
import { inviteExamples } from './examples-invites.js';
import { organizationExamples } from './examples-organizations.js';
import { ssoExamples } from './examples-sso.js';
import { webhookExamples } from './examples-webhooks.js';
import type { Kind } from './kinds.js';

const of =
  (kind: Kind, body?: object): Example =>
  async ({ id }) => ({ path: { id: await id(kind) }, ...(body && { body }) });

/** Returns one of everything that a role can be limited to. */
const limits = async ({ id }: Given) => ({
  application_ids: [await id('application')],
  environment_ids: [await id('environment')],
  node_ids: [await id('limitingNode')],
});

const members: Record<string, Example> = {
  listMembers: async ({ id }) => ({ query: { role_id: await id('administratorRole') } }),
  getMember: of('member'),
  updateMember: async (given) => ({
    path: { id: await given.id('member') },
    body: { roles: [{ role_id: await given.id('administratorRole'), limits: await limits(given) }] },
  }),
  removeMember: of('member'),
  resetMemberMfa: of('member'),
  createAdministratorRole: ({ unique }) => ({ body: { name: unique, capabilities: ['members.view'] } }),
  getAdministratorRole: of('administratorRole'),
  updateAdministratorRole: of('administratorRole', { description: 'Changed' }),
  deleteAdministratorRole: of('administratorRole'),
  createAdministratorInvite: async (given) => ({
    body: {
      email: `${given.unique}@example.com`,
      first_name: 'Ivo',
      last_name: 'Kern',
      role_id: await given.id('administratorRole'),
      limits: await limits(given),
    },
  }),
  getAdministratorInvite: of('administratorInvite'),
  resendAdministratorInvite: of('administratorInvite'),
  revokeAdministratorInvite: of('administratorInvite'),
};

const processes: Record<string, Example> = {
  listProcesses: async ({ id }) => ({ query: { subject_id: await id('administratorInvite') } }),
  getProcess: of('administratorInvite'),
  cancelProcess: of('administratorInvite', { reason: 'A test' }),
  retryProcess: of('failedMail'),
  resendProcess: of('administratorInvite'),
  extendProcess: of('administratorInvite', { expires_in: '20d' }),
};

const ofDomain: Example = async ({ id }) => ({ path: { domain: await id('ssoDomain') } });
const domains: Record<string, Example> = {
  claimSsoDomain: ({ unique }) => ({ body: { domain: `${unique}.example` } }),
  getSsoDomain: ofDomain,
  verifySsoDomain: ofDomain,
  deleteSsoDomain: ofDomain,
};

const scim: Record<string, Example> = {
  listScimTokens: async ({ id }) => ({ query: { environment_id: await id('environment') } }),
  createScimToken: async ({ id, unique }) => ({
    body: { name: unique, environment_id: await id('environment'), organization_id: await id('organization') },
  }),
  getScimToken: of('scimToken'),
  revokeScimToken: of('scimToken'),
  listScimGroupMappings: async ({ id }) => ({ query: { environment_id: await id('environment') } }),
  createScimGroupMapping: async ({ id, unique }) => {
    const organization = await id('organization');
    const mapped = { environment_id: await id('environment'), organization_id: organization, scim_group: unique };
    return { body: { ...mapped, role_id: await id('role'), node_id: organization } };
  },
  getScimGroupMapping: of('scimGroupMapping'),
  updateScimGroupMapping: async ({ id }) => ({
    path: { id: await id('scimGroupMapping') },
    body: { role_id: await id('role'), node_id: await id('node') },
  }),
  deleteScimGroupMapping: of('scimGroupMapping'),
};

const ofARequest: Example = async ({ id }) => ({ query: { correlation_id: await id('accountRequest') } });
const auditLog: Record<string, Example> = {
  listAuditLog: ofARequest,
  exportAuditLog: ofARequest,
  listIdentityAuditLog: ofARequest,
  getIdentityAuditRow: of('accountAuditRow'),
  getAuditRow: of('accountAuditRow'),
};

const structure: Record<string, Example> = {
  updateAccount: ({ unique }) => ({ body: { name: unique } }),
  createApplication: ({ unique }) => ({ body: { name: 'New', slug: `n-${unique}` } }),
  updateApplication: ({ unique }) => ({ body: { name: unique } }),
  deleteApplication: async (given) => {
    const appSlug = await given.id('applicationSlug');
    return { slugs: { appSlug }, query: { confirm: appSlug } };
  },
  createEnvironment: async (given) => ({
    slugs: { appSlug: await given.id('applicationSlug') },
    body: { name: 'New', slug: `e-${given.unique}`, type: 'development' },
  }),
  updateEnvironment: ({ unique }) => ({ body: { name: unique } }),
  deleteEnvironment: async (given) => ({
    slugs: { appSlug: await given.id('applicationSlug'), envSlug: 'production' },
    query: { confirm: 'production' },
  }),
  putApplicationState: async ({ id }) => ({
    slugs: { appSlug: await id('applicationSlug') },
    body: { environment_slug: 'production' },
  }),
  updateEnvironmentSettings: async ({ id, place: { scope }, unique }) => ({
    version: { table: 'environment_settings', key: 'environment_id', id: scope.environmentId },
    body: { branding: { name: unique }, default_sso_connection_id: await id('activeSsoConnection') },
  }),
  createOAuthClient: ({ unique }) => ({
    body: { name: unique, client_type: 'confidential', redirect_uris: ['https://app.example.com/callback'] },
  }),
  getOAuthClient: of('oauthClient'),
  updateOAuthClient: of('oauthClient', { name: 'Renamed' }),
  rotateOAuthClientSecret: of('oauthClient', { overlap_seconds: 60 }),
  deleteOAuthClient: of('oauthClient'),
  addResourcePermissions: async ({ id, unique }) => ({
    body: {
      resources: [{ name: `r${unique}`, actions: ['read'] }],
      role_permissions: [{ role_id: await id('role'), permission_keys: [`r${unique}.read`] }],
    },
  }),
};

/** Operations on people's own sign-in; the ids here are the only ones in them. */
const own: Record<string, Example> = {
  revokeSession: of('userSession'),
  leaveAccount: of('sharedAccount'),
  closeAccount: async ({ id, place }) => {
    const accountId = await id('emptyAccount');
    const [account] = await place.rows<{ slug: string }>('select slug from accounts where id = $1', [accountId]);
    return { path: { id: accountId }, query: { confirm: account?.slug ?? '' } };
  },
  adminRenameFactor: of('userFactor', { label: 'Phone' }),
  adminRemoveFactor: of('userFactor'),
  identityRevokeSession: of('ownSession'),
  identityRenameFactor: of('factor', { label: 'Phone' }),
  identityRemoveFactor: of('factor'),
};

/** A valid input for every operation that has one. */
export const examples: Record<string, Example> = {
  ...environmentExamples,
  ...inviteExamples,
  ...organizationExamples,
  ...ssoExamples,
  ...webhookExamples,
  ...members,
  ...auditLog,
  ...domains,
  ...processes,
  ...scim,
  ...structure,
  ...own,
};
