import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { AdminCaller, Caller } from '../../caller.js';
import { capabilities } from '../../capabilities/administrator-roles.js';
import { covers } from '../../capabilities/role-limits.js';
import type { Evaluation } from '../decisions/evaluate.js';
import { notEnded } from '../decisions/in-force.js';
import { lackingAtEach } from '../roles/granting.js';

/** A node that is to be below another one. */
export interface Move {
  id: string;
  parentId: string;
}

/**
 * The permissions that a caller would gain at a node by moving it: those that they hold at the new parent, but not at
 * the node.
 */
export type GainedBy = (scope: EnvironmentScope, caller: Caller, move: Move) => Promise<string[]>;

const heldThereStatement = {
  name: 'what_an_identity_holds_at_a_new_parent',
  text: `
select p.key, case when bool_and(a.effective_to is not null) then max(a.effective_to) end as until
from nodes node
  join nodes parent on parent.id = $4 and parent.environment_id = $1
  join role_assignments a on a.environment_id = $1 and a.identity_id = $2
    and a.node_id = any(parent.path) and not a.node_id = any(node.path) and ${notEnded('$5')}
  join role_permissions rp on rp.role_id = a.role_id
  join permissions p on p.id = rp.permission_id
where node.id = $3 and node.environment_id = $1
group by p.key order by p.key`,
};
const pathsStatement = {
  name: 'paths_of_a_node_and_its_new_parent',
  text: `
select node.path, parent.path as "parentPath" from nodes node join nodes parent on parent.id = $3 and parent.environment_id = $1
where node.id = $2 and node.environment_id = $1`,
};

/**
 * A role also applies below the node where it is held, so moving a node gives people roles there. Nobody may give
 * themselves a permission that way (contract §5): not for now, not for later, and not by a role that is switched off.
 * An API key holds the same everywhere, so it gains nothing.
 */
export function createGained({
  db,
  evaluation,
  now,
}: {
  db: Pick<Db, 'statement'>;
  evaluation: Evaluation;
  now: Clock;
}): GainedBy {
  async function byAdministrator(scope: EnvironmentScope, { roles }: AdminCaller, { id, parentId }: Move) {
    const values = [scope.environmentId, id, parentId];
    const [paths] = await db.statement<{ path: string[]; parentPath: string[] }>(pathsStatement, values);
    if (!paths) return [];
    const heldAt = (nodePath: string[]) =>
      new Set(
        roles.filter(({ limits }) => covers(limits, { ...scope, nodePath })).flatMap((role) => role.capabilities),
      );
    const [here, there] = [heldAt(paths.path), heldAt(paths.parentPath)];
    return capabilities.filter((capability) => there.has(capability) && !here.has(capability));
  }

  return async (scope, caller, move) => {
    if (caller.type === 'api_key') return [];
    if (caller.type === 'platform_admin') return byAdministrator(scope, caller, move);
    const { identityId } = caller;
    const values = [scope.environmentId, identityId, move.id, move.parentId, now()];
    const held = await db.statement<{ key: string; until: Date | null }>(heldThereStatement, values);
    const wanted = held.map(({ key, until }) => ({ keys: [key], nodeId: move.id, identityId, until }));
    return (await lackingAtEach(evaluation, scope, caller, wanted)).flat();
  };
}
