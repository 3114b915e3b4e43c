import type { Clock } from '../../../platform/clock.js';
import { createBatcher } from '../../../platform/database/batching.js';
import type { Db } from '../../../platform/database/db.js';
import { uuidArray } from '../../../platform/database/uuid-array.js';
import { assignedThen, notEnded, notLongOver } from './in-force.js';

/** One question: may this Identity do this there? */
export interface Check {
  identityId: string;
  permission: string;
  /** Null: the Environment's root. */
  nodeId: string | null;
}

/** Why, in the order in which they are found (contract §10). */
export type Reason =
  | 'granted'
  | 'identity_not_found'
  | 'node_not_found'
  | 'permission_not_found'
  | 'identity_inactive'
  | 'node_inactive'
  | 'no_assignment'
  | 'outside_window'
  | 'role_inactive';

export interface Decision {
  allowed: boolean;
  reason: Reason;
}

/**
 * Any number of checks in one round trip. The planner has no choice: permissions are read once, each check reads its
 * membership and node by key, and the Identity's assignments by index. Each `offset 0` keeps it so, whatever the
 * tables' sizes were when the plan was made.
 * The root takes the place of null beforehand: in a comparison with `coalesce`, which row-level security keeps from
 * using an index, each check would read every node. All reasons are one text: a thousand rows would cost both sides
 * more than their contents.
 */
const evaluateStatement = {
  name: 'evaluate_checks',
  text: `
with p as materialized (
  select id, key from permissions where environment_id = $1 and key = any($3)
), c as materialized (
  select identity_id, p.id as permission_id, position,
    coalesce(node_id, (select id from nodes where environment_id = $1 and parent_node_id is null)) as node_id
  from unnest($2::uuid[], $3::text[], $4::uuid[]) with ordinality as asked (identity_id, permission_key, node_id, position)
    left join p on p.key = asked.permission_key
)
select string_agg(case
    when m.is_active is null then 'identity_not_found'
    when n.path is null then 'node_not_found'
    when c.permission_id is null then 'permission_not_found'
    when not m.is_active then 'identity_inactive'
    when exists (select from nodes a where a.id = any(n.path) and a.status = 'inactive') then 'node_inactive'
    else (
      select case max(case when not in_force then 1 when not r.is_active then 2 else 3 end)
          when 3 then 'granted' when 2 then 'role_inactive' when 1 then 'outside_window' else 'no_assignment' end
      from (
          select role_id, (effective_from is null or effective_from <= $5) and (effective_to is null or $5 < effective_to) as in_force
          from role_assignments
          where identity_id = c.identity_id and environment_id = $1 and node_id = any(n.path)
            and ${assignedThen('$6')} and ${notLongOver('role_assignments', '$5')}
          offset 0
        ) held
        join role_permissions rp on rp.role_id = held.role_id and rp.permission_id = c.permission_id
        join roles r on r.id = held.role_id
    )
  end, ',' order by c.position) as reasons
from c
  left join lateral (
    select is_active from environment_memberships where environment_id = $1 and identity_id = c.identity_id offset 0) m on true
  left join lateral (
    select path from nodes where environment_id = $1 and id = c.node_id offset 0) n on true`,
};

/** A period from now on; a bound that is missing is open. */
export interface Period {
  from?: Date | null;
  until?: Date | null;
}

const throughoutStatement = {
  name: 'permissions_held_throughout',
  text: `
select p.key
from nodes n
  join role_assignments a on a.identity_id = $2 and a.environment_id = $1 and a.node_id = any(n.path) and ${notEnded('$5')}
  join roles r on r.id = a.role_id and r.is_active
  join role_permissions rp on rp.role_id = a.role_id
  join permissions p on p.id = rp.permission_id and p.key = any($4)
where n.id = $3 and n.environment_id = $1
group by p.key
having range_agg(tstzrange(a.effective_from, a.effective_to)) @> tstzrange($5, $6)`,
};

const decisions = new Map<string, Decision>();

/** One object for each reason, however many decisions say the same. */
function decisionOf(reason: string): Decision {
  const known = decisions.get(reason);
  if (known) return known;
  const made: Decision = Object.freeze({ allowed: reason === 'granted', reason: reason as Reason });
  decisions.set(reason, made);
  return made;
}

/** Up to this many checks share a statement with those of other requests; more get a statement of their own. */
const fewChecks = 10;

/** The most checks in one statement, where there may be any number. */
const maxChecks = 1000;

/**
 * Decides (contract §5): active identity, active path, and an assignment in force there or above that holds the
 * permission.
 */
export function createEvaluation({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  async function ask(environmentId: string, checks: readonly Check[], asOf?: Date): Promise<Decision[]> {
    const [row] = await db.statement<{ reasons: string | null }>(evaluateStatement, [
      environmentId,
      uuidArray(checks.map(({ identityId }) => identityId)),
      checks.map(({ permission }) => permission),
      uuidArray(checks.map(({ nodeId }) => nodeId)),
      asOf ?? now(),
      asOf ?? null,
    ]);
    return (row?.reasons?.split(',') ?? []).map(decisionOf);
  }
  const together = createBatcher<Check, Decision>((environmentId, checks) => ask(environmentId, checks));

  return {
    /**
     * Decisions in the order of the checks. With `asOf`, assignments count as they did at that moment (contract §10).
     */
    evaluate: (environmentId: string, checks: readonly Check[], asOf?: Date): Promise<Decision[]> =>
      asOf === undefined && checks.length <= fewChecks
        ? together(environmentId, checks)
        : ask(environmentId, checks, asOf),

    /**
     * Which of some permissions an Identity holds at a node throughout a period, also by several windows that leave no
     * gap.
     */
    async heldThroughout(
      environmentId: string,
      { identityId, nodeId, keys }: { identityId: string; nodeId: string | null; keys: readonly string[] },
      { from, until }: Period,
    ): Promise<Set<string>> {
      const begin = from && from > now() ? from : now();
      const values = [environmentId, identityId, nodeId, keys, begin, until ?? null];
      const rows = await db.statement<{ key: string }>(throughoutStatement, values);
      return new Set(rows.map(({ key }) => key));
    },
  };
}

export type Evaluation = ReturnType<typeof createEvaluation>;

/**
 * The checks that are denied, in order, of any number. They go in one statement after another, each with many: one that
 * asks for a lot takes one connection at a time, and leaves the rest to others.
 */
export async function deniedChecks<C extends Check>(
  { evaluate }: Pick<Evaluation, 'evaluate'>,
  environmentId: string,
  checks: Iterable<C>,
): Promise<C[]> {
  const found: C[] = [];
  for (const some of inPieces(checks, maxChecks)) {
    const decided = await evaluate(environmentId, some);
    found.push(...some.filter((_, i) => !decided[i]?.allowed));
  }
  return found;
}

function* inPieces<T>(all: Iterable<T>, size: number): Generator<T[]> {
  let piece: T[] = [];
  for (const one of all) {
    piece.push(one);
    if (piece.length < size) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}
