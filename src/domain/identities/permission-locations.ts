import type { EntityManager } from 'typeorm';
import { Permission } from '../../../entities/permission.js';
import { type Db, type Statement, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { inForce } from '../access/decisions/in-force.js';
import { DomainError } from '../errors.js';
import { isActive } from '../hierarchy/active.js';
import { findMember } from './find.js';

const resolveNodeStatement: Statement = {
  name: 'asked_node_of_member',
  text: `
select exists (
    select from environment_memberships where environment_id = $2 and identity_id = $3 and (account_id = $1) is true
  ) as "isMember",
  case when $4::uuid is null then (select id from nodes where environment_id = $2 and parent_node_id is null)
    else (select id from nodes where id = $4 and (environment_id = $2) is true) end as "nodeId"`,
};

/**
 * Returns the id of the node at which a member's permissions are asked for; null is the root.
 * @throws DomainError identity.not_found, nodes.node_not_found, environment.not_found while it is being deleted
 */
export async function resolveNode(
  db: Pick<Db, 'statementIn'>,
  scope: EnvironmentScope,
  identityId: string,
  nodeId: string | null,
): Promise<string> {
  const values = [scope.accountId, scope.environmentId, identityId, nodeId];
  const [found] = await db.statementIn<{ isMember: boolean; nodeId: string | null }>(
    scope,
    resolveNodeStatement,
    values,
  );
  if (!found?.isMember) throw new DomainError('identity.not_found');
  // Every Environment has a root, until it is being deleted.
  if (found.nodeId === null) throw new DomainError(nodeId === null ? 'environment.not_found' : 'nodes.node_not_found');
  return found.nodeId;
}

/** A node at which a person was granted a permission, which they then hold there and at every active node below. */
export interface Location {
  nodeId: string;
  nodeName: string;
  nodeType: string;
  /** From the root to the node itself. */
  path: string[];
}

/**
 * The nodes at which an Identity holds a permission by assignments in force. Nodes at or below an inactive one are left
 * out, and so are nodes below another one of them, where it is held anyway. An inactive Identity holds nothing.
 * @throws DomainError identity.not_found, permission.not_found
 */
export async function locationsOf(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  key: string,
  at: Date,
): Promise<Location[]> {
  const { membership } = await findMember(tx, scope, identityId);
  if (!(await tx.existsBy(Permission, { ...within(scope), key }))) throw new DomainError('permission.not_found');
  if (!membership.isActive) return [];
  const rows = await tx.query<Location[]>(
    `select n.id as "nodeId", n.name as "nodeName", n.node_type as "nodeType", n.path
     from nodes n
     where n.account_id = $1 and n.environment_id = $2 and n.id in (
         select a.node_id from role_assignments a
           join roles r on r.id = a.role_id and r.is_active
           join role_permissions rp on rp.role_id = r.id
           join permissions p on p.id = rp.permission_id and p.key = $4
         where a.account_id = $1 and a.environment_id = $2 and a.identity_id = $3 and ${inForce('$5')})
       and ${isActive('n.path')}
     order by cardinality(n.path), n.name, n.id`,
    [scope.accountId, scope.environmentId, identityId, key, at],
  );
  const found = new Set(rows.map(({ nodeId }) => nodeId));
  return rows.filter(({ nodeId, path }) => !path.some((id) => id !== nodeId && found.has(id)));
}
