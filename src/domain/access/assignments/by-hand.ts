import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { type AssignmentResult, type PlacedAssignment, writeAssignments } from './assigning.js';

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
  if (existing.length === 0) return written;
  await keepWithoutGroup(tx, scope, existing);
  // A change of a directory that was removing one of them at this moment has ended by now.
  const left = await tx.query<{ id: string }[]>(
    'select id from role_assignments where account_id = $1 and environment_id = $2 and id = any($3) and removed_at is null',
    [scope.accountId, scope.environmentId, existing],
  );
  const stays = new Set(left.map(({ id }) => id));
  const isGone = (one: AssignmentResult) => one.status === 'exists' && !stays.has(one.assignment.id);
  const again = await writeAssignments(
    tx,
    scope,
    placed.filter((_, i) => isGone(written[i] as AssignmentResult)),
    at,
  );
  return written.map((one) => (isGone(one) ? (again.shift() as AssignmentResult) : one));
}

/** Forgets that groups have granted some assignments. It waits for a change of a directory that is removing one. */
export async function keepWithoutGroup(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  ids: readonly string[],
): Promise<void> {
  await tx.query(
    `delete from scim_assignments where assignment_id in (
       select assignment_id from scim_assignments where account_id = $1 and environment_id = $2 and assignment_id = any($3)
       order by assignment_id for update)`,
    [accountId, environmentId, ids],
  );
}
