import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import type { Check, Reason } from './evaluate.js';
import { reasonsInWords } from './explain-in-words.js';
import type { ExplainedReason, Explanation, Found, FoundAssignment, SeenAssignment } from './explained.js';
import { notLongOver } from './in-force.js';

/** More assignments than a person would read; those that decide come first, so that they are not cut off. */
const maxAssignments = 100;

const explainStatement = {
  name: 'explain_check',
  text: `
with asked as (
  select n.id, n.name, n.path from nodes n
  where n.environment_id = $1 and n.id = case when $4::uuid is null
    then (select id from nodes where environment_id = $1 and parent_node_id is null) else $4 end
), held as (
  select a.id, a.role_id, a.node_id, a.effective_from, a.effective_to, a.removed_at, a.node_id = any(asked.path) as is_on_path,
    p.id is not null as holds_permission
  from role_assignments a
    join roles r on r.id = a.role_id
    left join asked on true
    left join permissions p on p.environment_id = $1 and p.key = $3
      and exists (select from role_permissions rp where rp.role_id = a.role_id and rp.permission_id = p.id)
  where a.identity_id = $2 and a.environment_id = $1 and ($6::timestamptz is null or a.created_at <= $6) and ${notLongOver('a', '$5')}
  order by (p.id is not null and a.node_id = any(asked.path)) desc nulls last, (p.id is not null) desc,
    (a.removed_at is null or coalesce(a.removed_at > $6, false)) desc,
    (coalesce(a.effective_from <= $5, true) and coalesce(a.effective_to > $5, true)) desc, r.is_active desc, a.created_at, a.id
  limit ${maxAssignments}
)
select
  (select json_build_object('isActive', is_active) from environment_memberships where environment_id = $1 and identity_id = $2) as membership,
  (select json_build_object('id', id, 'name', name, 'inactive', (
    select coalesce(json_agg(json_build_object('id', i.id, 'name', i.name) order by cardinality(i.path)), '[]')
    from nodes i where i.id = any(asked.path) and i.status = 'inactive')) from asked) as node,
  exists (select from permissions where environment_id = $1 and key = $3) as "permissionExists",
  (select coalesce(json_agg(json_build_object(
      'assignmentId', h.id, 'role', json_build_object('id', r.id, 'name', r.name), 'node', json_build_object('id', n.id, 'name', n.name),
      'effectiveFrom', h.effective_from, 'effectiveTo', h.effective_to, 'removedAt', h.removed_at, 'isRoleActive', r.is_active,
      'holdsPermission', h.holds_permission, 'isOnPath', coalesce(h.is_on_path, false), 'depth', cardinality(n.path),
      'path', (select json_agg(json_build_object('id', s.id, 'name', s.name) order by cardinality(s.path)) from nodes s where s.id = any(n.path))
    )), '[]') from held h join roles r on r.id = h.role_id join nodes n on n.id = h.node_id) as assignments`,
};

/** Explains why a check is allowed, or everything that stands in its way, in one round trip. */
export function createExplanations({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  return {
    async explain(environmentId: string, check: Check, then: Date | null = null): Promise<Explanation> {
      const { identityId, permission, nodeId } = check;
      const at = then ?? now();
      const values = [environmentId, identityId, permission, nodeId, at, then];
      const found = (await db.statement<Found>(explainStatement, values))[0] as Found;
      return explained({ ...found, assignments: found.assignments.map(withDates) }, check, { at, then });
    },
  };
}

export type Explanations = ReturnType<typeof createExplanations>;

const dateOf = (text: Date | null) => text && new Date(text);
const withDates = (found: FoundAssignment): FoundAssignment => ({
  ...found,
  effectiveFrom: dateOf(found.effectiveFrom),
  effectiveTo: dateOf(found.effectiveTo),
  removedAt: dateOf(found.removedAt),
});

/** For which moment it is explained; `then` is null for now, as in `assignedThen`. */
interface Moment {
  at: Date;
  then: Date | null;
}

/** The rules that `evaluate` has in SQL; a test keeps the two alike. */
function explained(
  { membership, node, permissionExists, assignments }: Found,
  check: Check,
  moment: Moment,
): Explanation {
  const denied = (reason: Reason, reasons: ExplainedReason[]): Explanation => ({
    allowed: false,
    reason,
    decision: null,
    reasons,
  });
  const plain = (code: Reason): ExplainedReason => ({ code, message: reasonsInWords.plain(code, check) });
  if (!membership) return denied('identity_not_found', [plain('identity_not_found')]);
  if (!node) return denied('node_not_found', [plain('node_not_found')]);
  if (!permissionExists) return denied('permission_not_found', [plain('permission_not_found')]);

  const judged = assignments.map((assignment) => ({ assignment, code: codeOf(assignment, moment) }));
  const because = (code: ExplainedReason['code'], assignment: FoundAssignment): ExplainedReason => ({
    code,
    ...shown(assignment),
    message: reasonsInWords.of(code, assignment, moment.at),
  });
  const refusals = judged
    .filter(({ code }) => code !== 'granted')
    .map(({ assignment, code }) => because(code, assignment));
  const inactive = node.inactive.map(
    (each): ExplainedReason => ({ code: 'node_inactive', message: reasonsInWords.inactive(each), node: each }),
  );
  if (!membership.isActive) return denied('identity_inactive', [plain('identity_inactive'), ...inactive, ...refusals]);
  if (inactive.length > 0) return denied('node_inactive', [...inactive, ...refusals]);

  // The assignment nearest to the node is the one that a person would name.
  const granting = judged
    .filter(({ code }) => code === 'granted')
    .map(({ assignment }) => assignment)
    .sort((a, b) => b.depth - a.depth)[0];
  if (granting) {
    const decision = { ...shown(granting), path: granting.path };
    return { allowed: true, reason: 'granted', decision, reasons: [because('granted', granting)] };
  }
  const has = (wanted: ExplainedReason['code']) => judged.some(({ code }) => code === wanted);
  const reason = has('role_inactive') ? 'role_inactive' : has('outside_window') ? 'outside_window' : 'no_assignment';
  return denied(reason, refusals.length > 0 ? refusals : [plain('no_assignment')]);
}

/** Whether an assignment grants what is asked, or why not. */
function codeOf(found: FoundAssignment, { at, then }: Moment): ExplainedReason['code'] {
  if (found.removedAt !== null && (then === null || found.removedAt <= then)) return 'removed';
  if (!found.holdsPermission) return 'role_lacks_permission';
  if (!found.isOnPath) return 'assigned_elsewhere';
  const isInForce =
    (found.effectiveFrom === null || found.effectiveFrom <= at) &&
    (found.effectiveTo === null || at < found.effectiveTo);
  if (!isInForce) return 'outside_window';
  return found.isRoleActive ? 'granted' : 'role_inactive';
}

const shown = ({ assignmentId, role, node, effectiveFrom, effectiveTo }: FoundAssignment): SeenAssignment => ({
  assignmentId,
  role,
  node,
  effectiveFrom,
  effectiveTo,
});
