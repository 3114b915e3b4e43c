import type { EntityManager } from 'typeorm';
import { Permission } from '../../../entities/permission.js';
import { within } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { find, rootOf } from '../hierarchy/nodes.js';
import type { EnvironmentScope } from '../scope.js';
import { findMember } from './find.js';

/** The node at which permissions are asked for; null is the root. @throws DomainError identity.not_found, nodes.node_not_found */
export async function askedNode(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  nodeId: string | null,
): Promise<string> {
  await findMember(tx, scope, identityId);
  return (nodeId === null ? await rootOf(tx, scope) : await find(tx, scope, nodeId)).id;
}

/** A node at which somebody was given a permission; it is held there and at every active node below. */
export interface Location {
  nodeId: string;
  nodeName: string;
  nodeType: string;
  /** From the root to the node itself. */
  path: string[];
}

/**
 * Where an Identity holds a permission by assignments that are in force. What stands at or below an inactive node is left out,
 * and so is a node below another one of them: it is held there anyway. Whoever is inactive holds nothing.
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
         where a.account_id = $1 and a.environment_id = $2 and a.identity_id = $3 and a.created_at <= $5
           and a.removed_at is null and (a.effective_from is null or a.effective_from <= $5)
           and (a.effective_to is null or $5 < a.effective_to))
       and not exists (select from nodes above where above.id = any(n.path) and above.status = 'inactive')
     order by cardinality(n.path), n.name, n.id`,
    [scope.accountId, scope.environmentId, identityId, key, at],
  );
  const found = new Set(rows.map(({ nodeId }) => nodeId));
  return rows.filter(({ nodeId, path }) => !path.some((id) => id !== nodeId && found.has(id)));
}
