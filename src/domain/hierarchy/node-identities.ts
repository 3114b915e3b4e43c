import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { within } from '../../platform/db.js';
import { type AssignedRole, assignedRolesOf } from '../identities/assigned-roles.js';
import type { IdentityInEnvironment, IdentitySort } from '../identities/identities.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import type { EnvironmentScope } from '../scope.js';
import { find } from './nodes.js';

export interface NodeIdentity extends IdentityInEnvironment {
  /** Held at the node itself. */
  roles: AssignedRole[];
}
export type NodeIdentitiesPage = PageRequest<IdentitySort> & {
  isActive: boolean | undefined;
  roleId: string | undefined;
};

const columns: Record<IdentitySort, string[]> = {
  created_at: ['membership.createdAt', 'membership.identityId'],
  email: ['identity.email', 'membership.identityId'],
  first_name: ['identity.firstName', 'membership.identityId'],
  last_name: ['identity.lastName', 'membership.identityId'],
};

/**
 * The Identities that hold a role at a node itself, now or at a time to come.
 * @throws DomainError nodes.node_not_found
 */
export async function identitiesAt(
  tx: EntityManager,
  scope: EnvironmentScope,
  nodeId: string,
  { isActive, roleId, q, ...page }: NodeIdentitiesPage,
  at: Date,
): Promise<Page<NodeIdentity>> {
  await find(tx, scope, nodeId);
  const query = tx
    .createQueryBuilder(EnvironmentMembership, 'membership')
    .innerJoinAndMapOne('membership.identity', Identity, 'identity', 'identity.id = membership.identityId')
    .where(within(scope))
    .andWhere(
      `membership.identityId in (select a.identity_id from role_assignments a
        where a.environment_id = :environmentId and a.node_id = :nodeId and a.removed_at is null
          and (a.effective_to is null or a.effective_to > :at)${roleId ? ' and a.role_id = :roleId' : ''})`,
      { environmentId: scope.environmentId, nodeId, at, roleId },
    );
  if (isActive !== undefined) query.andWhere('membership.isActive = :isActive', { isActive });
  if (q) {
    query.andWhere(
      '(identity.email ilike :pattern or identity.firstName ilike :pattern or identity.lastName ilike :pattern)',
      { pattern: containing(q) },
    );
  }
  const { rows, ...rest } = await readPage(query, page, columns[page.sortBy]);
  const memberships = rows as (EnvironmentMembership & { identity: Identity })[];
  const ids = memberships.map(({ identityId }) => identityId);
  const roles = await assignedRolesOf(tx, scope, ids, { nodeId, at });
  return {
    ...rest,
    rows: memberships.map(({ identity, ...membership }) => ({
      identity,
      membership,
      roles: roles.get(identity.id) ?? [],
    })),
  };
}
