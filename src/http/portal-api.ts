import type { FastifyInstance } from 'fastify';
import { DomainError } from '../domain/errors.js';
import type { Services } from '../services.js';
import { denied } from './denials.js';
import { anyMember, type Level, type Operation } from './operation.js';
import { createApiKey, getApiKey, listApiKeys, updateApiKey } from './operations/api-keys.js';
import { getEnvironmentSettings, updateEnvironmentSettings } from './operations/environment-settings.js';
import { createIdentity, getIdentityDetail, listIdentities } from './operations/identities.js';
import {
  createOAuthClient,
  deleteOAuthClient,
  getOAuthClient,
  listOAuthClients,
  rotateOAuthClientSecret,
  updateOAuthClient,
} from './operations/oauth-clients.js';
import { getAccount, updateAccount } from './portal/account.js';
import {
  createAdministratorInvite,
  getAdministratorInvite,
  listAdministratorInvites,
  resendAdministratorInvite,
  revokeAdministratorInvite,
} from './portal/administrator-invites.js';
import {
  createAdministratorRole,
  deleteAdministratorRole,
  getAdministratorRole,
  listAdministratorRoles,
  updateAdministratorRole,
} from './portal/administrator-roles.js';
import {
  createApplication,
  deleteApplication,
  getApplication,
  listApplications,
  updateApplication,
} from './portal/applications.js';
import {
  createEnvironment,
  deleteEnvironment,
  getEnvironment,
  listEnvironments,
  updateEnvironment,
} from './portal/environments.js';
import { getApplicationState, getMe, putApplicationState } from './portal/me.js';
import { getMember, listMembers, removeMember, updateMember } from './portal/members.js';
import {
  cancelProcess,
  extendProcess,
  getProcess,
  listProcesses,
  resendProcess,
  retryProcess,
} from './portal/processes.js';
import { getSubscription } from './portal/subscription.js';
import type { AdminPrincipals } from './principals/admin.js';
import { Slug } from './schemas.js';
import { mount, type Surface } from './surface.js';

/** What signed-in administrators may do, each with its capability. */
const operations = [
  getAccount,
  updateAccount,
  getSubscription,
  listMembers,
  getMember,
  updateMember,
  removeMember,
  listAdministratorRoles,
  createAdministratorRole,
  getAdministratorRole,
  updateAdministratorRole,
  deleteAdministratorRole,
  listAdministratorInvites,
  createAdministratorInvite,
  getAdministratorInvite,
  resendAdministratorInvite,
  revokeAdministratorInvite,
  listProcesses,
  getProcess,
  cancelProcess,
  retryProcess,
  resendProcess,
  extendProcess,
  listApplications,
  createApplication,
  getApplication,
  updateApplication,
  deleteApplication,
  listEnvironments,
  createEnvironment,
  getEnvironment,
  updateEnvironment,
  deleteEnvironment,
  getMe,
  getApplicationState,
  putApplicationState,
  getEnvironmentSettings,
  updateEnvironmentSettings,
  listOAuthClients,
  createOAuthClient,
  getOAuthClient,
  updateOAuthClient,
  rotateOAuthClientSecret,
  deleteOAuthClient,
  listIdentities,
  createIdentity,
  getIdentityDetail,
  listApiKeys,
  createApiKey,
  getApiKey,
  updateApiKey,
];

const prefixes: Record<Level, string> = {
  account: '/portal/v1/accounts/:accountSlug',
  application: '/portal/v1/accounts/:accountSlug/applications/:appSlug',
  environment: '/portal/v1/accounts/:accountSlug/applications/:appSlug/environments/:envSlug',
};
const slugs = {
  account: { accountSlug: Slug },
  application: { accountSlug: Slug, appSlug: Slug },
  environment: { accountSlug: Slug, appSlug: Slug, envSlug: Slug },
};

export function mountPortalApi(app: FastifyInstance, admins: AdminPrincipals, services: Services): void {
  const surface: Surface = {
    name: 'portal',
    pathOf: ({ level, path }) => `${prefixes[level]}${path}`,
    paramsOf: ({ level }) => slugs[level],
    security: [{ bearer: [] }],
    describe: ({ capability }) =>
      capability === anyMember
        ? 'Any administrator of the account may.'
        : `Requires the capability \`${String(capability)}\`.`,
    authorize: (operation, request, reply) =>
      admins.authorize(request, reply, operation.level, async (admin) => {
        if (isCapable(operation, admin.caller.capabilities)) return;
        throw await denied(services.db, admin, operation.id, new DomainError('account.capability_required'));
      }),
  };
  mount(app, surface, operations, services);
}

const isCapable = ({ capability }: Operation, held: readonly string[]): boolean =>
  capability === anyMember || (capability !== undefined && held.includes(capability));
