import { Any, type EntityManager } from 'typeorm';
import { within } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { type AssignmentResult, type PlacedAssignment, writeAssignments } from './assigning.js';
import { lockAssignments } from './removing.js';

/**
 * Writes assignments that somebody makes, and not a directory's group. One that a group has granted before is made by
 * hand from now on: it stays when its holder leaves the group (docs/decisions/0040), as if it had been assigned first.
 */
export async function assignByHand(
  tx: EntityManager,
  scope: EnvironmentScope,
  placed: readonly PlacedAssignment[],
  at: Date,
): Promise<AssignmentResult[]> {
  const written = await writeAssignments(tx, scope, placed, at);
  const existing = written.flatMap((one) => (one.status === 'exists' ? [one.assignment.id] : []));
  const stay = await keepWithoutGroup(tx, scope, existing);
  const isGone = (one: AssignmentResult) => one.status === 'exists' && !stay.has(one.assignment.id);
  const again = await writeAssignments(
    tx,
    scope,
    placed.filter((_, i) => isGone(written[i] as AssignmentResult)),
    at,
  );
  return written.map((one) => (isGone(one) ? (again.shift() as AssignmentResult) : one));
}

/**
 * Forgets that groups have granted some assignments. They are locked before that, as by everybody who removes one: it
 * waits for a change of a directory that is doing so.
 * @returns the ids of those that were not removed meanwhile
 */
export async function keepWithoutGroup(
  tx: EntityManager,
  scope: EnvironmentScope,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const there = await lockAssignments(tx, { ...within(scope), id: Any([...ids]) });
  const stay = there.map(({ id }) => id);
  await tx.query('delete from scim_assignments where account_id = $1 and assignment_id = any($2)', [
    scope.accountId,
    stay,
  ]);
  return new Set(stay);
}
