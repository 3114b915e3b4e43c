import { Type } from 'typebox';
import type { AssignedRole } from '../../domain/access/assigned-roles.js';
import type { IdentityInEnvironment } from '../../domain/identities/identities.js';
import { Id, Nullable, Timestamp } from '../schemas.js';

/** A role inside what is answered of an identity (specification, "RoleAssignment"). */
export const AssignedRoleView = Type.Object({
  assignment_id: Id,
  id: Id,
  name: Type.String(),
  node_id: Id,
  node_name: Type.String(),
  effective_from: Nullable(Timestamp),
  effective_to: Nullable(Timestamp),
});

export const IdentityRowWithRoles = Type.Object({
  id: Id,
  email: Type.String(),
  first_name: Nullable(Type.String()),
  last_name: Nullable(Type.String()),
  name: Nullable(Type.String()),
  avatar_url: Nullable(Type.String()),
  is_active: Type.Boolean(),
  roles: Type.Array(AssignedRoleView),
  created_at: Timestamp,
});

export const presentAssignedRole = (role: AssignedRole) => ({
  assignment_id: role.assignmentId,
  id: role.roleId,
  name: role.roleName,
  node_id: role.nodeId,
  node_name: role.nodeName,
  effective_from: role.effectiveFrom,
  effective_to: role.effectiveTo,
});

export const rowWithRoles = ({ identity, membership, roles }: IdentityInEnvironment & { roles: AssignedRole[] }) => ({
  id: identity.id,
  email: identity.email,
  first_name: identity.firstName,
  last_name: identity.lastName,
  name: [identity.firstName, identity.lastName].filter(Boolean).join(' ') || null,
  avatar_url: identity.avatarUrl,
  is_active: membership.isActive,
  roles: roles.map(presentAssignedRole),
  created_at: identity.createdAt,
});
