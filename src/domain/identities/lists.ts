import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { within } from '../../platform/db.js';
import { type AssignedRole, assignedRolesOf } from '../access/assigned-roles.js';
import { notEnded } from '../access/in-force.js';
import type { Page, PageRequest } from '../paging.js';
import type { EnvironmentScope } from '../scope.js';
import { type ListedMember, type Meant, readPageOfMembers } from './read-members.js';

/** An Identity as a member of one Environment. */
export interface IdentityInEnvironment {
  identity: Identity;
  membership: EnvironmentMembership;
}
export interface IdentityWithRoles extends IdentityInEnvironment {
  roles: AssignedRole[];
}

export type IdentitySort = 'created_at' | 'email' | 'first_name' | 'last_name';
export type IdentitiesPage = PageRequest<IdentitySort> & { isActive: boolean | undefined };
export type IdentitiesWithRolesPage = IdentitiesPage & {
  /** Who holds this role, now or at a time to come; null: who holds none. */
  roleId: string | null | undefined;
};

/** By what a list of members is sorted, which no two of them share. */
export const columns: Record<IdentitySort, string[]> = {
  created_at: ['membership.createdAt', 'membership.identityId'],
  email: ['identity.email', 'membership.identityId'],
  first_name: ['identity.firstName', 'membership.identityId'],
  last_name: ['identity.lastName', 'membership.identityId'],
};

/** A member as a list shows it, with what they hold and have not lost. */
export type ListedWithRoles = ListedMember & { roles: AssignedRole[] };

/**
 * Who is in an Environment, with what each holds and has not lost; the total of all is kept, others are counted.
 * @throws DomainError validation.failed for a search that means too many
 */
export async function listWithRoles(
  tx: EntityManager,
  scope: EnvironmentScope,
  { roleId, ...page }: IdentitiesWithRolesPage,
  at: Date,
): Promise<Page<ListedWithRoles>> {
  const { isActive } = page;
  const meant: Meant = roleId === undefined ? { isActive } : { isActive, and: (put) => holding(put, roleId, at) };
  const found = await readPageOfMembers((text, values) => tx.query(text, values), scope, page, meant);
  const ids = found.rows.map(({ identity }) => identity.id);
  const roles = await assignedRolesOf(tx, scope, ids, { at });
  return { ...found, rows: found.rows.map((row) => ({ ...row, roles: roles.get(row.identity.id) ?? [] })) };
}

const holding = (put: (value: unknown) => string, roleId: string | null, at: Date) => `
${roleId === null ? 'not ' : ''}exists (select from role_assignments a
  where a.identity_id = m.identity_id and a.environment_id = $2
    and ${notEnded(put(at))}${roleId === null ? '' : ` and a.role_id = ${put(roleId)}`})`;

/** Memberships in an Environment, each with its Identity; `membersIn` tells the two apart. */
export function membersOf(tx: EntityManager, scope: EnvironmentScope, isActive: boolean | undefined) {
  const query = tx
    .createQueryBuilder(EnvironmentMembership, 'membership')
    .innerJoinAndMapOne('membership.identity', Identity, 'identity', 'identity.id = membership.identityId')
    .where(within(scope));
  if (isActive !== undefined) query.andWhere('membership.isActive = :isActive', { isActive });
  return query;
}

export const membersIn = (rows: EnvironmentMembership[]): IdentityInEnvironment[] =>
  (rows as (EnvironmentMembership & { identity: Identity })[]).map(({ identity, ...membership }) => ({
    identity,
    membership,
  }));
