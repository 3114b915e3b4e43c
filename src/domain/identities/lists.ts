import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { within } from '../../platform/db.js';
import { type AssignedRole, assignedRolesOf } from '../access/assigned-roles.js';
import { readCounter } from '../counters.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import type { EnvironmentScope } from '../scope.js';

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

/** Who is in an Environment, with what each holds and has not lost; the total of all is kept, others are counted. */
export async function listWithRoles(
  tx: EntityManager,
  scope: EnvironmentScope,
  { roleId, ...page }: IdentitiesWithRolesPage,
  at: Date,
): Promise<Page<IdentityWithRoles>> {
  const query = members(tx, scope, page);
  if (roleId !== undefined) {
    query.andWhere(
      `${roleId === null ? 'not' : ''} exists (select from role_assignments a
        where a.identity_id = membership.identity_id and a.environment_id = :environmentId and a.removed_at is null
          and (a.effective_to is null or a.effective_to > :at)${roleId === null ? '' : ' and a.role_id = :roleId'})`,
      { environmentId: scope.environmentId, at, roleId },
    );
  }
  const isWhole = page.isActive === undefined && !page.q && roleId === undefined;
  const found = await read(tx, scope, page, query, isWhole);
  const ids = found.rows.map(({ identity }) => identity.id);
  const roles = await assignedRolesOf(tx, scope, ids, { at });
  return { ...found, rows: found.rows.map((row) => ({ ...row, roles: roles.get(row.identity.id) ?? [] })) };
}

function members(tx: EntityManager, scope: EnvironmentScope, { isActive, q }: IdentitiesPage) {
  const query = membersOf(tx, scope, isActive);
  if (q) {
    // By way of a function, since row-level security keeps PostgreSQL from using the trigrams.
    query.andWhere(
      'membership.identityId in (select gatehouse_matching_identities(:accountId, :environmentId, :pattern))',
      { accountId: scope.accountId, environmentId: scope.environmentId, pattern: containing(q) },
    );
  }
  return query;
}

/** Memberships in an Environment, each with its Identity; `membersIn` tells the two apart. */
export function membersOf(tx: EntityManager, scope: EnvironmentScope, isActive: boolean | undefined) {
  const query = tx
    .createQueryBuilder(EnvironmentMembership, 'membership')
    .innerJoinAndMapOne('membership.identity', Identity, 'identity', 'identity.id = membership.identityId')
    .where(within(scope));
  if (isActive !== undefined) query.andWhere('membership.isActive = :isActive', { isActive });
  return query;
}

async function read(
  tx: EntityManager,
  scope: EnvironmentScope,
  page: IdentitiesPage,
  query: SelectQueryBuilder<EnvironmentMembership>,
  isWhole: boolean,
): Promise<Page<IdentityInEnvironment>> {
  const count = isWhole ? await readCounter(tx, scope, 'identities') : undefined;
  const { rows, ...rest } = await readPage(query, page, columns[page.sortBy], count);
  return { ...rest, rows: membersIn(rows) };
}

export const membersIn = (rows: EnvironmentMembership[]): IdentityInEnvironment[] =>
  (rows as (EnvironmentMembership & { identity: Identity })[]).map(({ identity, ...membership }) => ({
    identity,
    membership,
  }));
