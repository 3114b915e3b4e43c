import type { EntityManager } from 'typeorm';
import type { Role } from '../../../../entities/role.js';
import type { Db } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { DomainError } from '../../errors.js';
import { containing, type Page, type PageRequest } from '../../lists/paging.js';
import { columnsOf, type RowList, readCountedPage, readPageByTotal, readRows } from '../../lists/row-pages.js';
import type { Bind } from '../../lists/sql-parameters.js';
import { notEnded } from '../decisions/in-force.js';
import type { ReachedNodes } from '../rights.js';

/** The columns of a role that are shown. */
const shownOfRole = [
  'id',
  'applicationId',
  'name',
  'description',
  'systemKey',
  'isActive',
  'version',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof Role)[];
export type ShownRole = Pick<Role, (typeof shownOfRole)[number]>;

/** A role with its counts. `memberCount`: Identities that hold it in the caller's part of the tree, or are going to. */
export interface CountedRole extends ShownRole {
  permissionCount: number;
  memberCount: number;
}

/** Which holders `memberCount` counts. `part`: where the caller may look; null is everywhere. */
export interface Holders {
  at: Date;
  part: ReachedNodes;
}

export type RoleSort = 'name' | 'created_at' | 'updated_at';
export type RolesPage = PageRequest<RoleSort> & {
  name?: string | undefined;
  isActive?: boolean | undefined;
  isSystemRole?: boolean | undefined;
};

const columns: Record<RoleSort, string[]> = {
  name: ['role.name', 'role.id'],
  created_at: ['role.created_at', 'role.id'],
  updated_at: ['role.updated_at', 'role.id'],
};

const ofTenant = 'role.account_id = $1 and role.environment_id = $2';

const inPart = (part: ReachedNodes, put: Bind) =>
  part === null ? '' : `and exists (select from nodes n where n.id = a.node_id and n.path && ${put(part)}::uuid[])`;

const rolesWhere = ({ at, part }: Holders, where: (put: Bind) => string): RowList => ({
  from: 'roles role',
  where,
  key: 'role.id',
  shownBy: 'roles role on role.id = found.key',
  select: (put) => `${columnsOf('role', shownOfRole)},
    (select count(*)::int from role_permissions held where held.role_id = role.id) as "permissionCount",
    (select count(distinct a.identity_id)::int from role_assignments a where a.role_id = role.id
      and ${notEnded(put(at))} ${inPart(part, put)}) as "memberCount"`,
});

/** The roles of an Environment. There are few, so that one plan is right for all but a search. */
export function listRoles(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: EnvironmentScope,
  { q, name, isActive, isSystemRole, ...page }: RolesPage,
  holders: Holders,
): Promise<Page<CountedRole>> {
  const conditions = [ofTenant];
  if (isActive !== undefined) conditions.push(isActive ? 'role.is_active' : 'not role.is_active');
  if (isSystemRole !== undefined) conditions.push(`role.system_key is ${isSystemRole ? 'not null' : 'null'}`);
  const meant = conditions.join(' and ');
  const sorted = columns[page.sortBy];
  if (q || name !== undefined) {
    const named = (put: Bind) => [
      ...(q ? [`role.name::text ilike ${put(containing(q))}`] : []),
      ...(name !== undefined ? [`role.name = ${put(name)}::citext`] : []),
    ];
    const found = rolesWhere(holders, (put) => [meant, ...named(put)].join(' and '));
    return db.transaction(scope, (tx) => readCountedPage(tx, scope, found, page, sorted));
  }
  const total = () => `(select count(*) from roles role where ${meant})`;
  return readPageByTotal(db, scope, { ...rolesWhere(holders, () => meant), total }, page, sorted);
}

/** The roles that can be offered for assignment: active ones that are not the system's, by name. */
export const assignableRoles = (
  tx: EntityManager,
  scope: EnvironmentScope,
  holders: Holders,
): Promise<CountedRole[]> => {
  const roles = rolesWhere(holders, () => `${ofTenant} and role.is_active and role.system_key is null`);
  return readRows(tx, scope, roles, 'order by role.name');
};

/** @throws DomainError role.not_found */
export async function countedRole(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
  holders: Holders,
): Promise<CountedRole> {
  const one = rolesWhere(holders, (put) => `${ofTenant} and role.id = ${put(id)}`);
  const [role] = await readRows<CountedRole>(tx, scope, one, '');
  if (!role) throw new DomainError('role.not_found');
  return role;
}
