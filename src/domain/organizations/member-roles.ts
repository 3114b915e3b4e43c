import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import { assignByHand, keepWithoutGroup } from '../access/assignments/by-hand.js';
import { inForce, notEnded } from '../access/decisions/in-force.js';
import { DomainError } from '../errors.js';

/**
 * Gives an Identity roles at a node, without time limits. Roles that it holds there already, now or later, stay as they
 * are, also if the groups that have granted them end.
 * @returns the roles that were given
 * @throws DomainError role.not_found
 */
export async function assignRoles(
  tx: EntityManager,
  scope: EnvironmentScope,
  { nodeId, identityId, roleIds, at }: HeldAt & { roleIds: readonly string[] },
): Promise<string[]> {
  if (roleIds.length === 0) return [];
  const wanted = [...new Set(roleIds)];
  await lockRoles(tx, scope, wanted);
  const there = await heldAt(tx, scope, { nodeId, identityId, roleIds: wanted, at });
  const current = there.flatMap(({ ids }) => ids);
  const stay = await keepWithoutGroup(tx, scope, current);
  const held = new Set(there.filter(({ ids }) => ids.some((id) => stay.has(id))).map(({ roleId }) => roleId));
  const missing = wanted.filter((id) => !held.has(id));
  const hadBefore = new Set(there.map(({ roleId }) => roleId));
  const placed = missing.map((roleId) => ({
    identityId,
    roleId,
    nodeId,
    // An open beginning would overlap with a past window.
    effectiveFrom: hadBefore.has(roleId) ? at : null,
    effectiveTo: null,
  }));
  const written = await assignByHand(tx, scope, placed, at);
  return missing.filter((_, i) => written[i]?.status === 'created');
}

interface HeldAt {
  nodeId: string;
  identityId: string;
  at: Date;
}

/** The roles of which an Identity has assignments at a node that were not removed; `ids`: those that are not over. */
const heldAt = (
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { nodeId, identityId, roleIds, at }: HeldAt & { roleIds: readonly string[] },
) =>
  tx.query<{ roleId: string; ids: string[] }[]>(
    `select a.role_id as "roleId", coalesce(array_agg(a.id) filter (where ${notEnded('$5')}), '{}') as ids from role_assignments a
     where a.account_id = $1 and a.environment_id = $2 and a.identity_id = $3 and a.node_id = $4 and a.removed_at is null
       and a.role_id = any($6)
     group by a.role_id`,
    [accountId, environmentId, identityId, nodeId, at, roleIds],
  );

/** Which of these roles an Identity holds at a node right now, and not only later. */
export async function rolesInForce(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { nodeId, identityId, roleIds, at }: HeldAt & { roleIds: readonly string[] },
): Promise<string[]> {
  if (roleIds.length === 0) return [];
  const rows = await tx.query<{ roleId: string }[]>(
    `select a.role_id as "roleId" from role_assignments a
     where a.account_id = $1 and a.environment_id = $2 and a.identity_id = $3 and a.node_id = $4 and ${inForce('$5')}`,
    [accountId, environmentId, identityId, nodeId, at],
  );
  const held = new Set(rows.map(({ roleId }) => roleId));
  return roleIds.filter((id) => held.has(id));
}

interface RolesOfMember {
  organizationId: string;
  identityId: string;
  at: Date;
}

/**
 * Ids of the assignments that a member loses with the membership: at the organization's node and below it, unless an
 * organization in between also has them as a member; and, anywhere, what groups of the organization's own directory
 * gave them.
 */
export async function heldInside(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { organizationId, identityId, at }: RolesOfMember,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }[]>(
    `select a.id from role_assignments a join nodes n on n.id = a.node_id
     where a.account_id = $1 and a.environment_id = $2 and a.identity_id = $3 and ${notEnded('$5')}
       and ($4 = any(n.path) and not exists (select from organization_members m
           where m.identity_id = $3 and m.environment_id = $2 and m.organization_id = any(n.path)
             and array_position(n.path, m.organization_id) > array_position(n.path, $4))
         or exists (select from scim_assignments s where s.assignment_id = a.id and s.directory_id = $4))`,
    [accountId, environmentId, identityId, organizationId, at],
  );
  return rows.map(({ id }) => id);
}

/** Locks roles until the end of the transaction. @throws DomainError role.not_found */
async function lockRoles(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  ids: readonly string[],
): Promise<void> {
  const found = await tx.query<unknown[]>(
    `select id from roles where account_id = $1 and environment_id = $2 and id = any($3) order by id for key share`,
    [accountId, environmentId, ids],
  );
  if (found.length < ids.length) throw new DomainError('role.not_found');
}
