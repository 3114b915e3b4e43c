import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../scope.js';

/** A role that an Identity holds at a node, now or at a time to come. */
export interface AssignedRole {
  assignmentId: string;
  roleId: string;
  roleName: string;
  nodeId: string;
  nodeName: string;
  effectiveFrom: Date | null;
  effectiveTo: Date | null;
}

/**
 * What some Identities hold in an Environment and has not ended, by Identity; the oldest first.
 * @param nodeId only what is held at this very node
 */
export async function assignedRolesOf(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  identityIds: readonly string[],
  { nodeId = null, at }: { nodeId?: string | null; at: Date },
): Promise<Map<string, AssignedRole[]>> {
  const byIdentity = new Map<string, AssignedRole[]>(identityIds.map((id) => [id, []]));
  if (identityIds.length === 0) return byIdentity;
  const rows = await tx.query<(AssignedRole & { identityId: string })[]>(
    `select a.identity_id as "identityId", a.id as "assignmentId", r.id as "roleId", r.name as "roleName", n.id as "nodeId",
       n.name as "nodeName", a.effective_from as "effectiveFrom", a.effective_to as "effectiveTo"
     from role_assignments a join roles r on r.id = a.role_id join nodes n on n.id = a.node_id
     where a.account_id = $1 and a.environment_id = $2 and a.identity_id = any($3) and a.removed_at is null
       and (a.effective_to is null or a.effective_to > $4) and ($5::uuid is null or a.node_id = $5)
     order by a.created_at, a.id`,
    [accountId, environmentId, identityIds, at, nodeId],
  );
  for (const { identityId, ...role } of rows) byIdentity.get(identityId)?.push(role);
  return byIdentity;
}
