import type { EntityManager } from 'typeorm';
import { assignedRolesOf } from '../access/assigned-roles.js';
import { notEnded } from '../access/in-force.js';
import { find } from '../hierarchy/nodes.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import type { EnvironmentScope } from '../scope.js';
import { columns, type IdentitySort, type IdentityWithRoles, membersIn, membersOf } from './lists.js';

export type NodeIdentitiesPage = PageRequest<IdentitySort> & {
  isActive: boolean | undefined;
  roleId: string | undefined;
};

/**
 * The Identities that hold a role at a node itself, now or at a time to come; with what each holds there.
 * @throws DomainError nodes.node_not_found
 */
export async function identitiesAt(
  tx: EntityManager,
  scope: EnvironmentScope,
  nodeId: string,
  { isActive, roleId, q, ...page }: NodeIdentitiesPage,
  at: Date,
): Promise<Page<IdentityWithRoles>> {
  await find(tx, scope, nodeId);
  const query = membersOf(tx, scope, isActive).andWhere(
    `membership.identityId in (select a.identity_id from role_assignments a
      where a.environment_id = :environmentId and a.node_id = :nodeId
        and ${notEnded(':at')}${roleId ? ' and a.role_id = :roleId' : ''})`,
    { environmentId: scope.environmentId, nodeId, at, roleId },
  );
  if (q) {
    // They are found by their roles; the trigrams would find everybody of the Environment first.
    query.andWhere(
      '(identity.email ilike :pattern or identity.firstName ilike :pattern or identity.lastName ilike :pattern)',
      { pattern: containing(q) },
    );
  }
  const { rows, ...rest } = await readPage(query, page, columns[page.sortBy]);
  const found = membersIn(rows);
  const ids = found.map(({ identity }) => identity.id);
  const roles = await assignedRolesOf(tx, scope, ids, { nodeId, at });
  return { ...rest, rows: found.map((row) => ({ ...row, roles: roles.get(row.identity.id) ?? [] })) };
}
