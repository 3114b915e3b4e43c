import type { FastifyInstance } from 'fastify';
import type { Capability } from '../domain/capabilities/administrator-roles.js';
import { covers } from '../domain/capabilities/role-limits.js';
import { DomainError, type ErrorCode } from '../domain/errors.js';
import { lacksCapability } from '../domain/forbidden.js';
import type { EnvironmentScope } from '../platform/scope.js';
import type { Services } from '../services.js';
import { type AdminPages, letAdminScriptsCall } from './admin-auth/origin.js';
import { getEnvironmentSettings, updateEnvironmentSettings } from './operations/environment-settings.js';
import {
  createOAuthClient,
  deleteOAuthClient,
  getOAuthClient,
  listOAuthClients,
  rotateOAuthClientSecret,
  updateOAuthClient,
} from './operations/oauth-clients.js';
import { portalConnectionOperations } from './operations/sso-connections.js';
import { accountWebhookOperations } from './operations/webhooks.js';
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
  exportAuditLog,
  getAuditRow,
  getIdentityAuditRow,
  listAuditLog,
  listIdentityAuditLog,
} from './portal/audit-log.js';
import {
  deleteDirectoryIdentity,
  getDirectoryIdentity,
  getDirectorySummary,
  listDirectory,
} from './portal/directory.js';
import {
  createEnvironment,
  deleteEnvironment,
  getEnvironment,
  listEnvironments,
  updateEnvironment,
} from './portal/environments.js';
import {
  createAccountIdentityInvite,
  getAccountIdentityInvite,
  getAccountIdentityInvitesSummary,
  listAccountIdentityInvites,
  resendAccountIdentityInvite,
  revokeAccountIdentityInvite,
} from './portal/identity-invites.js';
import { getApplicationState, getMe, putApplicationState } from './portal/me.js';
import { getMember, listMembers, removeMember, resetMemberMfa, updateMember } from './portal/members.js';
import {
  cancelProcess,
  extendProcess,
  getProcess,
  listProcesses,
  resendProcess,
  retryProcess,
} from './portal/processes.js';
import {
  createScimGroupMapping,
  deleteScimGroupMapping,
  getScimGroupMapping,
  listScimGroupMappings,
  updateScimGroupMapping,
} from './portal/scim-group-mappings.js';
import { createScimToken, getScimToken, listScimTokens, revokeScimToken } from './portal/scim-tokens.js';
import { addResourcePermissions } from './portal/setup.js';
import {
  claimSsoDomain,
  deleteSsoDomain,
  getSsoDomain,
  listSsoDomains,
  verifySsoDomain,
} from './portal/sso-domains.js';
import { getSubscription } from './portal/subscription.js';
import type { AdminPrincipals, AuthorizedAdmin } from './principals/admin.js';
import { recordDenial } from './surfaces/denials.js';
import { environmentOperations } from './surfaces/environment-operations.js';
import { mount } from './surfaces/mount.js';
import { anyMember, type Level, type NodePermission, type Operation } from './surfaces/operation.js';
import { pathId } from './surfaces/path-ids.js';
import { Slug } from './surfaces/schemas.js';
import type { Surface } from './surfaces/surface.js';

/** The operations for signed-in administrators, each with its capability: of the Account, and of its Environments. */
export const portalOperations: readonly Operation[] = [
  getAccount,
  updateAccount,
  getSubscription,
  listMembers,
  getMember,
  updateMember,
  removeMember,
  resetMemberMfa,
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
  listDirectory,
  getDirectorySummary,
  getDirectoryIdentity,
  deleteDirectoryIdentity,
  listAccountIdentityInvites,
  createAccountIdentityInvite,
  getAccountIdentityInvitesSummary,
  getAccountIdentityInvite,
  resendAccountIdentityInvite,
  revokeAccountIdentityInvite,
  listProcesses,
  getProcess,
  cancelProcess,
  retryProcess,
  resendProcess,
  extendProcess,
  ...portalConnectionOperations,
  listSsoDomains,
  claimSsoDomain,
  getSsoDomain,
  verifySsoDomain,
  deleteSsoDomain,
  listScimTokens,
  createScimToken,
  getScimToken,
  revokeScimToken,
  listScimGroupMappings,
  createScimGroupMapping,
  getScimGroupMapping,
  updateScimGroupMapping,
  deleteScimGroupMapping,
  listAuditLog,
  exportAuditLog,
  listIdentityAuditLog,
  getIdentityAuditRow,
  getAuditRow,
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
  addResourcePermissions,
  ...accountWebhookOperations,
  ...environmentOperations,
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

/** The codes of the 404 if a part of the path does not exist, or not for this caller. */
const places: Record<Level, readonly ErrorCode[]> = {
  account: ['account.not_found'],
  application: ['account.not_found', 'application.not_found'],
  environment: ['account.not_found', 'application.not_found', 'environment.not_found'],
};

/** Mounts the API for signed-in administrators, whose roles in the Account of the path say what they may do. */
export function mountPortalApi(
  app: FastifyInstance,
  { admins, pages, services }: { admins: AdminPrincipals; pages: AdminPages; services: Services },
): void {
  letAdminScriptsCall(app, pages, '/portal/v1');
  const surface: Surface = {
    name: 'portal',
    pathOf: ({ level, path }) => `${prefixes[level]}${path}`,
    paramsOf: ({ level }) => slugs[level],
    security: [{ bearer: [] }],
    describe: ({ capability }) =>
      capability === anyMember
        ? { text: 'Allowed for every administrator of the account.', 'x-capability': null }
        : { text: `Requires the capability \`${String(capability)}\`.`, 'x-capability': capability },
    refusals: (operation) => [
      'auth.invalid_credentials',
      'principal.wrong_type',
      'account.capability_required',
      'account.other_sign_in_required',
      'account.sso_required',
      'mfa.enrollment_required',
      'mfa.challenge_required',
      ...places[operation.level],
      ...(nodeOf(operation).at ? [nodeOf(operation).missing] : []),
    ],
    async authorize(operation, request, reply) {
      const lacks = () => lacksCapability(operation.capability === anyMember ? undefined : operation.capability);
      const refused = (admin: AuthorizedAdmin, refusal: DomainError) =>
        recordDenial(services.db, admin, operation.id, refusal);
      const outcome = await admins.authorize(request, reply, operation.level, {
        lacking: (admin) => (isCapable(operation, admin) ? null : lacks()),
        denied: refused,
      });
      if ('refusal' in outcome) return outcome;
      const { credential } = outcome;
      const { at, missing } = nodeOf(operation);
      const nodeId = at && (request.params as Record<string, string>)[at];
      if (!nodeId || isCapable({ ...operation, inPart: undefined }, outcome)) return outcome;
      const required = { permissions: [], capability: operation.capability as Capability };
      const scope = outcome.scope as EnvironmentScope;
      const held = await services.rights.holdsAt(scope, outcome.caller, required, pathId(nodeId));
      if (held === 'held') return outcome;
      return {
        credential,
        refusal: async () => (held === 'lacking' ? refused(outcome, lacks()) : new DomainError(missing)),
      };
    },
  };
  mount(app, surface, portalOperations, services);
}

/** Returns the node at which an administrator of a part must hold the capability; `at` is null if there is none. */
function nodeOf({ permission, inPart, onTheWay }: Operation): Pick<NodePermission, 'at' | 'missing'> {
  const isCheckedAtNode = inPart && !onTheWay && typeof permission === 'object';
  return isCheckedAtNode ? permission : { at: null, missing: 'nodes.node_not_found' };
}

type Requirement = Pick<Operation, 'capability' | 'level'> & { inPart?: true | undefined };

function isCapable({ capability, inPart, level }: Requirement, admin: AuthorizedAdmin): boolean {
  const { caller, capabilitiesInPart, scope } = admin;
  // A role in a part of an Environment is not a membership in it. Without an `environmentId` the caller sees no such
  // Environment: that becomes a 404 instead of a 403.
  if (capability === anyMember)
    return level !== 'environment' || !scope.environmentId || caller.roles.some(({ limits }) => covers(limits, scope));
  return capability !== undefined && (inPart ? capabilitiesInPart : caller.capabilities).includes(capability);
}
