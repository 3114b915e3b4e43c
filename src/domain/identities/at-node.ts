import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import { notEnded } from '../access/decisions/in-force.js';
import { findNode } from '../hierarchy/nodes.js';
import { searchedText } from '../lists/identity-search.js';
import { containing, type Page, type PageRequest } from '../lists/paging.js';
import type { Bind } from '../lists/sql-parameters.js';
import { type ListedWithRoles, pageWithRoles } from './lists.js';
import type { IdentitySort } from './read-members.js';

export type NodeIdentitiesPage = PageRequest<IdentitySort> & {
  isActive: boolean | undefined;
  roleId: string | undefined;
};

/**
 * The Identities that hold a role at a node itself, now or later, with the roles that they hold there.
 * @throws DomainError nodes.node_not_found
 */
export async function identitiesAt(
  tx: EntityManager,
  scope: EnvironmentScope,
  nodeId: string,
  { isActive, roleId, q, ...page }: NodeIdentitiesPage,
  at: Date,
): Promise<Page<ListedWithRoles>> {
  await findNode(tx, scope, nodeId);
  const holding = (put: Bind) => `m.identity_id in (select a.identity_id from role_assignments a
    where a.environment_id = $2 and a.node_id = ${put(nodeId)} and ${notEnded(put(at))}${roleId ? ` and a.role_id = ${put(roleId)}` : ''})`;
  // They are found by their roles; the trigrams would first find everybody of the Environment.
  const named = (text: string, put: Bind) => ` and exists (select from identities p
    where p.id = m.identity_id and p.account_id = $1 and ${searchedText('p')} ilike ${put(containing(text))})`;
  const meant = { isActive, and: (put: Bind) => `${holding(put)}${q ? named(q, put) : ''}` };
  return pageWithRoles(tx, scope, { ...page, isActive }, meant, { nodeId, at });
}
