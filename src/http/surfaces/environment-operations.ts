import {
  createApiKey,
  deleteApiKey,
  getApiKey,
  listApiKeys,
  rotateApiKey,
  updateApiKey,
} from '../operations/api-keys.js';
import { exportAuditLogs, getAuditLog, listAuditLogs } from '../operations/audit-logs.js';
import { evaluate, evaluateBulk, explain } from '../operations/authorization.js';
import { listChanges } from '../operations/changes.js';
import {
  createIdentity,
  deleteIdentity,
  getIdentity,
  getIdentityDetail,
  listIdentities,
  listIdentitiesWithRoles,
  updateIdentity,
} from '../operations/identities.js';
import {
  activateIdentity,
  deactivateIdentity,
  endIdentitySession,
  endIdentitySessions,
  listIdentitySessions,
  resetIdentityPassword,
  setIdentityPassword,
  unlockIdentity,
  verifyIdentityEmail,
} from '../operations/identities-access.js';
import { endIdentityApplication, listIdentityApplications } from '../operations/identities-applications.js';
import { createIdentities } from '../operations/identities-bulk.js';
import {
  getIdentitiesSummary,
  getIdentityAuthState,
  getIdentityMfa,
  resetIdentityMfa,
} from '../operations/identities-mfa.js';
import { listIdentityOrganizations } from '../operations/identities-organizations.js';
import { getEffectivePermissions, getPermissionLocations } from '../operations/identities-permissions.js';
import {
  createIdentityInvite,
  getIdentityInvite,
  getIdentityInvitesSummary,
  listIdentityInvites,
  resendIdentityInvite,
  revokeIdentityInvite,
} from '../operations/identity-invites.js';
import { getNodeTypeSchema, replaceNodeTypeSchema } from '../operations/node-type-schema.js';
import { createNode, deleteNode, getNode, listNodes, moveNode, updateNode } from '../operations/nodes.js';
import {
  getNodeSubtree,
  getNodeTree,
  listNodeAncestors,
  listNodeChildren,
  listNodeIdentities,
} from '../operations/nodes-tree.js';
import {
  createOrganization,
  deleteOrganization,
  deleteOrganizations,
  getOrganization,
  listOrganizationRoles,
  listOrganizations,
  updateOrganization,
} from '../operations/organizations.js';
import {
  getAuthenticationPolicy,
  replaceAuthenticationPolicy,
} from '../operations/organizations-authentication-policy.js';
import {
  claimOrganizationDomain,
  deleteOrganizationDomain,
  getOrganizationDomain,
  listOrganizationDomains,
  verifyOrganizationDomain,
} from '../operations/organizations-domains.js';
import {
  createOrganizationInvitation,
  getOrganizationInvitation,
  listOrganizationInvitations,
  resendOrganizationInvitation,
  revokeOrganizationInvitation,
} from '../operations/organizations-invitations.js';
import {
  addOrganizationMember,
  getOrganizationMember,
  listOrganizationMembers,
  removeOrganizationMember,
  updateOrganizationMember,
} from '../operations/organizations-members.js';
import {
  getOrganizationSsoRecoveryCodes,
  renewOrganizationSsoRecoveryCodes,
} from '../operations/organizations-sso-recovery-codes.js';
import {
  getPermission,
  getPermissionUsage,
  listPermissions,
  registerPermission,
  removePermission,
  updatePermission,
} from '../operations/permissions.js';
import {
  assignRole,
  assignRoles,
  listIdentityRoleAssignments,
  unassignRole,
  unassignRoles,
} from '../operations/role-assignments.js';
import { getRolePermissions, setRolePermissions } from '../operations/role-permissions.js';
import { createRole, deleteRole, getRole, listRoles, updateRole } from '../operations/roles.js';
import { organizationConnectionOperations } from '../operations/sso-connections.js';
import { webhookOperations } from '../operations/webhooks.js';
import type { Operation } from './operation.js';

/** An Environment's operations: servers and end users need a permission, administrators a capability (contract §6). */
export const environmentOperations: readonly Operation[] = [
  listIdentities,
  listIdentitiesWithRoles,
  createIdentity,
  createIdentities,
  getIdentity,
  getIdentityDetail,
  updateIdentity,
  deleteIdentity,
  activateIdentity,
  deactivateIdentity,
  endIdentitySession,
  endIdentitySessions,
  listIdentitySessions,
  endIdentityApplication,
  listIdentityApplications,
  listIdentityOrganizations,
  resetIdentityPassword,
  setIdentityPassword,
  unlockIdentity,
  verifyIdentityEmail,
  getIdentitiesSummary,
  getIdentityAuthState,
  getIdentityMfa,
  resetIdentityMfa,
  getEffectivePermissions,
  getPermissionLocations,
  listIdentityInvites,
  createIdentityInvite,
  getIdentityInvitesSummary,
  getIdentityInvite,
  resendIdentityInvite,
  revokeIdentityInvite,
  listNodes,
  createNode,
  getNodeTree,
  getNode,
  updateNode,
  deleteNode,
  moveNode,
  getNodeSubtree,
  listNodeChildren,
  listNodeAncestors,
  listNodeIdentities,
  getNodeTypeSchema,
  replaceNodeTypeSchema,
  listOrganizations,
  createOrganization,
  deleteOrganizations,
  getOrganization,
  updateOrganization,
  deleteOrganization,
  listOrganizationRoles,
  getAuthenticationPolicy,
  replaceAuthenticationPolicy,
  listOrganizationMembers,
  addOrganizationMember,
  getOrganizationMember,
  updateOrganizationMember,
  removeOrganizationMember,
  listOrganizationDomains,
  claimOrganizationDomain,
  getOrganizationDomain,
  verifyOrganizationDomain,
  deleteOrganizationDomain,
  ...organizationConnectionOperations,
  getOrganizationSsoRecoveryCodes,
  renewOrganizationSsoRecoveryCodes,
  listApiKeys,
  createApiKey,
  getApiKey,
  updateApiKey,
  rotateApiKey,
  deleteApiKey,
  listPermissions,
  registerPermission,
  getPermission,
  updatePermission,
  removePermission,
  getPermissionUsage,
  listRoles,
  createRole,
  getRole,
  updateRole,
  deleteRole,
  getRolePermissions,
  setRolePermissions,
  listIdentityRoleAssignments,
  assignRole,
  unassignRole,
  assignRoles,
  unassignRoles,
  listOrganizationInvitations,
  createOrganizationInvitation,
  getOrganizationInvitation,
  resendOrganizationInvitation,
  revokeOrganizationInvitation,
  evaluate,
  evaluateBulk,
  explain,
  listAuditLogs,
  exportAuditLogs,
  getAuditLog,
  listChanges,
  ...webhookOperations,
];
