import type { EntityManager } from 'typeorm';
import type { AdministratorRole, AdministratorRoleKey } from '../../../entities/administrator-role.js';
import type { AccountScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { cannotGrant, lacksCapability } from '../forbidden.js';
import { type Capability, capabilitiesOf } from './administrator-roles.js';
import { covers, type Place, placesOf, type RoleLimits } from './role-limits.js';

/** A role as somebody holds it. */
export interface HeldRole {
  systemKey: AdministratorRoleKey | null;
  capabilities: readonly string[];
  limits: RoleLimits | null;
}

/** What an administrator may grant to others. */
export interface Authority {
  isOwner: boolean;
  at(place: Place): Capability[];
}

/** Only the Owner role without limits makes an Owner. */
export const makesOwner = ({ systemKey, limits }: Pick<HeldRole, 'systemKey' | 'limits'>): boolean =>
  systemKey === 'owner' && limits === null;

/** Returns what roles together allow at a place. */
export const capabilitiesAt = (roles: readonly HeldRole[], place: Place): Capability[] =>
  capabilitiesOf(roles.filter(({ limits }) => covers(limits, place)));

/**
 * Locks the Account until the end of the transaction: nobody else changes who administers it. So a check for the last
 * Owner holds, and nobody grants a right that is being taken from them. Rows that only refer to the Account do not
 * wait.
 */
export async function lockAdministration(tx: EntityManager, { accountId }: AccountScope): Promise<void> {
  const [account] = await tx.query<{ id: string }[]>('select id from accounts where id = $1 for no key update', [
    accountId,
  ]);
  if (!account) throw new DomainError('account.not_found');
}

/**
 * Returns what a user holds in the Account at this moment, which may be less than when the request was admitted.
 * @throws DomainError account.not_found if they are no member any more, account.capability_required if they may not
 *   manage members any more
 */
export async function authorityOf(tx: EntityManager, { accountId }: AccountScope, userId: string): Promise<Authority> {
  const roles = await tx.query<HeldRole[]>(
    `select r.system_key as "systemKey", r.capabilities, mr.limits
     from memberships m
     join membership_roles mr on mr.membership_id = m.id
     join administrator_roles r on r.id = mr.role_id
     where m.account_id = $1 and m.user_id = $2`,
    [accountId, userId],
  );
  if (roles.length === 0) throw new DomainError('account.not_found'); // every member has a role
  if (!capabilitiesAt(roles, {}).includes('members.manage')) throw lacksCapability('members.manage');
  return { isOwner: roles.some(makesOwner), at: (place) => capabilitiesAt(roles, place) };
}

/**
 * Checks that nobody grants more than they hold wherever the role will apply, and that only Owners make Owners.
 * @throws DomainError member.owner_required, administrator_role.cannot_grant
 */
export async function assertMayGrant(
  tx: EntityManager,
  scope: AccountScope,
  giver: Authority,
  { role, limits }: { role: AdministratorRole; limits: RoleLimits | null },
): Promise<void> {
  if (role.systemKey === 'owner' && !giver.isOwner) throw new DomainError('member.owner_required');
  for (const place of await placesOf(tx, scope, limits)) assertHolds(giver, capabilitiesOf([role]), place);
}

/** @throws DomainError administrator_role.cannot_grant */
export function assertHolds(giver: Authority, wanted: readonly Capability[], place: Place = {}): void {
  const held = new Set(giver.at(place));
  const lacking = wanted.filter((capability) => !held.has(capability));
  if (lacking.length > 0) throw cannotGrant('administrator_role.cannot_grant', '', lacking);
}
