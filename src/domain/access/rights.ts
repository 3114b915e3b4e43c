import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { AdminCaller, Caller } from '../caller.js';
import type { Capability } from '../capabilities/administrator-roles.js';
import { reachOf } from '../capabilities/reach.js';
import { covers } from '../capabilities/role-limits.js';
import { createGained } from './assignments/gained.js';
import { deniedChecks, type Evaluation } from './decisions/evaluate.js';
import { inForce } from './decisions/in-force.js';
import type { Permission } from './roles/permissions.js';

/** What an operation asks of its caller: one of the permissions, or of an administrator the capability. */
export interface RequiredRight {
  permissions: readonly Permission[];
  capability?: Capability;
}

/** Whether something is held at a node. */
export type Holding = 'held' | 'lacking' | 'node_not_found';

/** Nodes at which, and below which, something is allowed; null: everywhere in the Environment. */
export type ReachedNodes = readonly string[] | null;

const heldAtStatement = {
  name: 'nodes_where_identity_holds',
  text: `
select distinct a.node_id as id
from role_assignments a
  join roles r on r.id = a.role_id and r.is_active
  join role_permissions rp on rp.role_id = a.role_id
  join permissions p on p.id = rp.permission_id and p.key = any($3)
where a.identity_id = $2 and a.environment_id = $1 and ${inForce('$4')}`,
};

/** SQL: whether a node is within an administrator's reach, or at, above or below a node that their limits name. */
const reachStatement = {
  name: 'reach_at_node',
  text: `
select n.path && $3::uuid[] as is_held, n.path && $4::uuid[] or exists (
    select from nodes named where named.id = any($4) and named.environment_id = $1 and n.id = any(named.path)) as is_shown
from nodes n
where n.environment_id = $1
  and n.id = case when $2::uuid is null
    then (select id from nodes where environment_id = $1 and parent_node_id is null) else $2 end`,
};

/**
 * What a caller may do where: an API key by its scopes, in the whole Environment; an end user and an administrator by
 * their roles.
 */
export function createRights({
  db,
  evaluation,
  now,
}: {
  db: Pick<Db, 'statement'>;
  evaluation: Evaluation;
  now: Clock;
}) {
  const scopesOf = (caller: Extract<Caller, { type: 'api_key' }>, required: readonly Permission[]) =>
    caller.accessMode === 'full' || required.some((permission) => caller.scopes.includes(permission));

  return {
    holdsAt,
    gainedBy: createGained({ db, evaluation, now }),

    /**
     * Returns whether the right is held at each of several existing nodes, by their ids. An end user needs one check
     * for all of them, other callers one for each.
     */
    async holdsAtEach(scope: EnvironmentScope, caller: Caller, required: RequiredRight, nodeIds: Iterable<string>) {
      const holds = new Map<string, Holding>([...nodeIds].map((nodeId) => [nodeId, 'held']));
      if (caller.type === 'identity') {
        for (const nodeId of await lackedBy(scope, caller.identityId, required, [...holds.keys()]))
          holds.set(nodeId, 'lacking');
      } else {
        for (const nodeId of holds.keys()) holds.set(nodeId, await holdsAt(scope, caller, required, nodeId));
      }
      return holds;
    },

    /**
     * Whether the right is held in the whole Environment, as what belongs to no node requires: its people and settings.
     * To an administrator the root node is a part, although all other nodes are below it.
     */
    holdsEverywhere: async (scope: EnvironmentScope, caller: Caller, required: RequiredRight): Promise<boolean> =>
      caller.type === 'platform_admin'
        ? reachOfAdministrator(scope, caller, required) === null
        : (await holdsAt(scope, caller, required, null)) === 'held',

    /**
     * The part of the Environment in which an administrator has the capability. Null for every other caller: their
     * permission was checked for the whole Environment, or the operation itself takes care of it.
     */
    partOf: (scope: EnvironmentScope, caller: Caller, required: RequiredRight): ReachedNodes =>
      caller.type === 'platform_admin' ? reachOfAdministrator(scope, caller, required) : null,

    /** Returns where in the Environment's tree the caller holds what is asked; an empty list means nowhere. */
    async reach(scope: EnvironmentScope, caller: Caller, required: RequiredRight): Promise<ReachedNodes> {
      if (caller.type === 'api_key') return scopesOf(caller, required.permissions) ? null : [];
      if (caller.type === 'platform_admin') return reachOfAdministrator(scope, caller, required);
      const values = [scope.environmentId, caller.identityId, required.permissions, now()];
      return (await db.statement<{ id: string }>(heldAtStatement, values)).map(({ id }) => id);
    },
  };

  /**
   * Whether the caller holds what is asked at a node; null is the root.
   * @returns `node_not_found` if there is no such node in the Environment, as far as that was looked up; for an
   *   administrator of a part also if it is neither in that part nor on the way to it (contract §6)
   */
  async function holdsAt(
    scope: EnvironmentScope,
    caller: Caller,
    required: RequiredRight,
    nodeId: string | null,
  ): Promise<Holding> {
    if (caller.type === 'api_key') return scopesOf(caller, required.permissions) ? 'held' : 'lacking';
    if (caller.type === 'platform_admin') return administratorHolds(scope, caller, required, nodeId);
    const decisions = await evaluation.evaluate(
      scope.environmentId,
      required.permissions.map((permission) => ({ identityId: caller.identityId, permission, nodeId })),
    );
    if (decisions.some(({ allowed }) => allowed)) return 'held';
    return decisions.some(({ reason }) => reason === 'node_not_found') ? 'node_not_found' : 'lacking';
  }

  /**
   * Returns the nodes where an Identity holds none of the permissions. Each further permission is only checked for the
   * nodes that are left.
   */
  async function lackedBy(
    { environmentId }: EnvironmentScope,
    identityId: string,
    { permissions }: RequiredRight,
    nodeIds: readonly string[],
  ): Promise<readonly string[]> {
    let left = nodeIds;
    for (const permission of permissions) {
      const checks = left.map((nodeId) => ({ identityId, permission, nodeId }));
      left = (await deniedChecks(evaluation, environmentId, checks)).map(({ nodeId }) => nodeId);
    }
    return left;
  }

  async function administratorHolds(
    scope: EnvironmentScope,
    caller: AdminCaller,
    required: RequiredRight,
    nodeId: string | null,
  ) {
    const reached = reachOfAdministrator(scope, caller, required);
    if (reached === null) return 'held';
    const isEverywhere = caller.roles.some(({ limits }) => covers(limits, scope));
    const limitedTo = caller.roles.flatMap(({ limits }) => limits?.node_ids ?? []);
    const values = [scope.environmentId, nodeId, reached, limitedTo];
    const [node] = await db.statement<{ is_held: boolean; is_shown: boolean }>(reachStatement, values);
    if (node?.is_held) return 'held';
    return node && (isEverywhere || node.is_shown) ? 'lacking' : 'node_not_found';
  }
}

function reachOfAdministrator(
  scope: EnvironmentScope,
  { roles }: AdminCaller,
  { capability }: RequiredRight,
): ReachedNodes {
  if (capability === undefined) return [];
  const reach = reachOf(roles, capability);
  return reach && !covers(reach, scope) ? reach.node_ids : null;
}

export type Rights = ReturnType<typeof createRights>;
