import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import { type AssignedRole, assignedRolesOf } from '../access/assignments/assigned-roles.js';
import { notEnded } from '../access/decisions/in-force.js';
import type { Page } from '../lists/paging.js';
import { askIn } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import { type IdentitiesPage, type ListedMember, type Meant, readPageOfMembers } from './read-members.js';

export type IdentitiesWithRolesPage = IdentitiesPage & {
  /** People with this role, now or later; null: people without any. */
  roleId: string | null | undefined;
};

/** A member as shown in a list, with the roles that they hold or are going to hold. */
export type ListedWithRoles = ListedMember & { roles: AssignedRole[] };

/**
 * The members of an Environment, with the roles that each holds or is going to hold. The total of all is kept; with
 * filters, members are counted.
 * @throws DomainError validation.failed for a search that finds too many
 */
export async function listWithRoles(
  tx: EntityManager,
  scope: EnvironmentScope,
  { roleId, ...page }: IdentitiesWithRolesPage,
  at: Date,
): Promise<Page<ListedWithRoles>> {
  const { isActive } = page;
  const meant: Meant = roleId === undefined ? { isActive } : { isActive, and: (put) => holding(put, roleId, at) };
  return pageWithRoles(tx, scope, page, meant, { at });
}

/**
 * A page of members, with the roles that each holds or is going to hold.
 * @param held as of which moment, and at which single node
 * @throws DomainError validation.failed for a search that finds too many
 */
export async function pageWithRoles(
  tx: EntityManager,
  scope: EnvironmentScope,
  page: IdentitiesPage,
  meant: Meant,
  held: { nodeId?: string; at: Date },
): Promise<Page<ListedWithRoles>> {
  const found = await readPageOfMembers(askIn(tx), scope, page, meant);
  const ids = found.rows.map(({ identity }) => identity.id);
  const roles = await assignedRolesOf(tx, scope, ids, held);
  return { ...found, rows: found.rows.map((row) => ({ ...row, roles: roles.get(row.identity.id) ?? [] })) };
}

const holding = (put: Bind, roleId: string | null, at: Date) => `
${roleId === null ? 'not ' : ''}exists (select from role_assignments a
  where a.identity_id = m.identity_id and a.environment_id = $2
    and ${notEnded(put(at))}${roleId === null ? '' : ` and a.role_id = ${put(roleId)}`})`;
