import { Type } from 'typebox';
import type { Identity } from '../../../entities/identity.js';
import type { AssignedRole } from '../../domain/access/assignments/assigned-roles.js';
import { fullNameOf } from '../../domain/full-name.js';
import type { ListedWithRoles } from '../../domain/identities/identities.js';
import { Id, Nullable, Resource, Timestamp } from '../surfaces/schemas.js';
import { ListedProfileFields } from './identity-profile.js';

/** A role in the answers about an identity (specification, "RoleAssignment"). */
export const AssignedRoleView = Resource('AssignedRole', {
  assignment_id: Id,
  id: Id,
  name: Type.String(),
  node_id: Id,
  node_name: Type.String(),
  effective_from: Nullable(Timestamp),
  effective_to: Nullable(Timestamp),
});

/** The fields by which a list of people can be sorted. */
export const personSorts = ['created_at', 'email', 'first_name', 'last_name'] as const;

const { first_name, last_name, avatar_url } = ListedProfileFields;
/** A person's address, names and picture, in lists of something else that belongs to them. */
export const PersonFields = { email: Type.String(), first_name, last_name, name: Nullable(Type.String()), avatar_url };

export const presentPerson = (identity: Pick<Identity, 'email' | 'firstName' | 'lastName' | 'avatarUrl'>) => ({
  email: identity.email,
  first_name: identity.firstName,
  last_name: identity.lastName,
  name: fullNameOf(identity),
  avatar_url: identity.avatarUrl,
});

export const IdentityRowWithRoles = Resource('ListedIdentityWithRoles', {
  id: Id,
  ...PersonFields,
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

export const rowWithRoles = ({ identity, membership, roles }: ListedWithRoles) => ({
  id: identity.id,
  ...presentPerson(identity),
  is_active: membership.isActive,
  roles: roles.map(presentAssignedRole),
  created_at: identity.createdAt,
});
