import { Any, type EntityManager } from 'typeorm';
import { RoleAssignment } from '../../../entities/role-assignment.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { removeAssignments } from '../access/assignments/removing.js';
import { withinSubtreesSql } from './subtrees.js';

/**
 * The most nodes, or role assignments at them, for one transaction: it locks the tree's shape, and all other changes of
 * the tree wait. The foreign key would delete all assignments with one statement, which has a time limit.
 */
export const maxAtOnce = 10_000;

/** Role assignments at nodes that are about to be deleted, too many to be deleted along with them. */
export interface SurplusRoles {
  ids: string[];
  /** Whether people have these roles; if not, they were removed before, and only explain past decisions. */
  areAssigned: boolean;
}

/**
 * Returns some of the role assignments at or below nodes, if there are more than `atOnce`; null if the rest can be
 * deleted along with the nodes. Those that people have come first, so that the others explain what was removed for
 * as long as the nodes exist.
 */
export async function surplusRoles(
  tx: EntityManager,
  scope: EnvironmentScope,
  topIds: readonly string[],
  atOnce: number,
): Promise<SurplusRoles | null> {
  for (const areAssigned of [true, false]) {
    const rows = await tx.query<{ id: string }[]>(
      `select a.id from role_assignments a join nodes on nodes.id = a.node_id
       where nodes.account_id = $1 and nodes.environment_id = $2 and ${withinSubtreesSql('nodes')}
         and a.removed_at is ${areAssigned ? '' : 'not'} null limit $4`,
      [scope.accountId, scope.environmentId, topIds, atOnce + 1],
    );
    if (rows.length > atOnce) return { ids: rows.slice(0, atOnce).map(({ id }) => id), areAssigned };
  }
  return null;
}

/** Removes the roles, each with its event, or deletes those that were removed before. */
export async function takeSurplus(
  tx: EntityManager,
  scope: EnvironmentScope,
  { ids, areAssigned }: SurplusRoles,
  at: Date,
): Promise<void> {
  if (areAssigned) await removeAssignments(tx, scope, ids, at);
  else await tx.delete(RoleAssignment, { ...within(scope), id: Any(ids) });
}
