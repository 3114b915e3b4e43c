import { type EntityManager, In } from 'typeorm';
import { AdministratorRole, type AdministratorRoleKey } from '../../../entities/administrator-role.js';
import type { AccountScope } from '../../platform/scope.js';
import { builtInRoles } from '../capabilities/administrator-roles.js';
import { checkedLimits, type RoleLimits, sameLimits, type WantedLimits } from '../capabilities/role-limits.js';
import { DomainError, type ErrorDetail, invalidField } from '../errors.js';

export interface MemberRole {
  roleId: string;
  name: string;
  systemKey: AdministratorRoleKey | null;
  limits: RoleLimits | null;
}
export interface RoleOfMember extends MemberRole {
  membershipId: string;
}

/** A role that a request asks for. */
export interface WantedRole {
  roleId: string;
  limits: WantedLimits;
}

export const roleName = ({ name, systemKey }: Pick<AdministratorRole, 'name' | 'systemKey'>): string =>
  systemKey ? builtInRoles[systemKey].name : name;

/** Returns the roles of these members, ordered by name. */
export async function rolesOf(
  tx: EntityManager,
  { accountId }: AccountScope,
  membershipIds: string[],
): Promise<RoleOfMember[]> {
  const rows = await tx.query<RoleOfMember[]>(
    `select mr.membership_id as "membershipId", r.id as "roleId", r.name, r.system_key as "systemKey", mr.limits
     from membership_roles mr join administrator_roles r on r.id = mr.role_id
     where mr.account_id = $1 and mr.membership_id = any($2::uuid[]) order by r.name, r.id`,
    [accountId, membershipIds],
  );
  return rows.map((row) => ({ ...row, name: roleName(row) }));
}

/**
 * Returns the roles that a request asks for, all of them roles of the Account.
 * @param held roles that stay as they are if the request repeats them, even if everything in their limits was deleted
 * @throws DomainError validation.failed
 */
export async function wantedRoles(
  tx: EntityManager,
  scope: AccountScope,
  wanted: WantedRole[],
  held: readonly MemberRole[] = [],
): Promise<(MemberRole & { role: AdministratorRole })[]> {
  const ids = wanted.map(({ roleId }) => roleId);
  const twice = ids.findIndex((id, i) => ids.indexOf(id) < i);
  if (twice >= 0) {
    const message = 'is named twice; list all its places in one set of limits';
    throw invalidField(`roles[${twice}].role_id`, 'duplicate', message);
  }
  const found = await findRoles(tx, scope, ids, (i) => `roles[${i}].role_id`);
  const roles = [];
  for (const [i, role] of found.entries()) {
    const asked = wanted[i]?.limits;
    const kept = held.find(({ roleId, limits }) => roleId === role.id && sameLimits(limits, asked));
    const limits = kept ? kept.limits : await checkedLimits(tx, scope, asked, `roles[${i}].limits`);
    roles.push({ role, roleId: role.id, name: roleName(role), systemKey: role.systemKey, limits });
  }
  return roles;
}

/** @throws DomainError validation.failed naming every role that is not one of the Account's */
export async function findRoles(
  tx: EntityManager,
  { accountId }: AccountScope,
  ids: string[],
  fieldOf: (index: number) => string,
): Promise<AdministratorRole[]> {
  const rows = await tx.findBy(AdministratorRole, { accountId, id: In(ids) });
  const byId = new Map(rows.map((role) => [role.id, role]));
  const found = ids.map((id) => byId.get(id));
  const details = found.flatMap((role, i): ErrorDetail[] =>
    role ? [] : [{ field: fieldOf(i), code: 'unknown', message: 'is not a role of the account' }],
  );
  if (details.length > 0) throw new DomainError('validation.failed', { details });
  return found as AdministratorRole[];
}
