import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { notEnded } from '../decisions/in-force.js';

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

/** Columns of an assignment `a` by the names of `AssignedRole`. */
const columns = `a.id as "assignmentId", r.id as "roleId", r.name as "roleName", n.id as "nodeId", n.name as "nodeName",
       a.effective_from as "effectiveFrom", a.effective_to as "effectiveTo"`;
const assignments = 'role_assignments a join roles r on r.id = a.role_id join nodes n on n.id = a.node_id';
/**
 * For one Identity, which holds few roles: looked up by key, since a plain join may read every role for each person on
 * a page.
 */
const fewAssignments = `role_assignments a cross join lateral (select id, name from roles where id = a.role_id offset 0) r
     join nodes n on n.id = a.node_id`;

/**
 * SQL: the roles that one Identity holds or is going to hold, oldest first, as JSON for `rolesInJson`.
 * @param node only what is held at this very node
 */
export const rolesOfOne = ({ identity, environment, at, node }: RolesOfOne) =>
  `(select coalesce(json_agg(held), '[]') from (select ${columns} from ${fewAssignments}
     where a.environment_id = ${environment} and a.identity_id = ${identity} and ${notEnded(at)}${node ? ` and a.node_id = ${node}` : ''}
     order by a.created_at, a.id) held)`;

/** SQL for each of these values, such as `$1`. */
type RolesOfOne = Record<'identity' | 'environment' | 'at', string> & { node?: string };
type InJson<T> = { [K in keyof T]: Date extends T[K] ? string | null : T[K] };
export type RolesInJson = InJson<AssignedRole>[];
export const rolesInJson = (roles: RolesInJson): AssignedRole[] =>
  roles.map((role) => ({ ...role, effectiveFrom: dated(role.effectiveFrom), effectiveTo: dated(role.effectiveTo) }));
const dated = (text: string | null) => (text === null ? null : new Date(text));

/**
 * The roles that some Identities hold or are going to hold in an Environment, by Identity; oldest first.
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
    `select a.identity_id as "identityId", ${columns} from ${assignments}
     where a.account_id = $1 and a.environment_id = $2 and a.identity_id = any($3) and ${notEnded('$4')}
       and ($5::uuid is null or a.node_id = $5)
     order by a.created_at, a.id`,
    [accountId, environmentId, identityIds, at, nodeId],
  );
  for (const { identityId, ...role } of rows) byIdentity.get(identityId)?.push(role);
  return byIdentity;
}
