import type { EntityManager } from 'typeorm';
import { violates } from '../../../platform/database/postgres-errors.js';
import { isOutage } from '../../../platform/outages.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { DomainError } from '../../errors.js';

/**
 * The error for a violated constraint of assignments: what existed when it was looked up may be deleted before it is
 * used.
 */
export function asNotFound(error: unknown): unknown {
  if (isOutage(error)) return error;
  if (violates(error, 'role_assignments_identity_fk')) return new DomainError('identity.not_found');
  if (violates(error, 'role_assignments_role_fk')) return new DomainError('role.not_found');
  return violates(error, 'role_assignments_node_fk') ? new DomainError('nodes.node_not_found') : error;
}

/**
 * Locks members, so that they stay in the Environment until the end of the transaction. Somebody who leaves it stays
 * in the Account's directory, where no constraint keeps them from being given a role: they would hold it once they come
 * back. The Identity is locked first, as a removal does.
 * @returns those who are members
 */
export async function lockMembers(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  placed: readonly { identityId: string }[],
): Promise<Set<string>> {
  const members = [...new Set(placed.map(({ identityId }) => identityId))];
  await tx.query('select from identities where account_id = $1 and id = any($2) order by id for key share', [
    accountId,
    members,
  ]);
  const there = await tx.query<{ id: string }[]>(
    `select identity_id as id from environment_memberships where account_id = $1 and environment_id = $2 and identity_id = any($3)
     order by identity_id for key share`,
    [accountId, environmentId, members],
  );
  return new Set(there.map(({ id }) => id));
}

/**
 * Does the work again where something was deleted between its look-up and its use: the next look-up finds it missing.
 */
export async function retryWhenRemoved<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DomainError && error.code.endsWith('not_found')) || attempt === 3) throw error;
    }
  }
}
