import type { EntityManager } from 'typeorm';
import { currentContext } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { endSessions } from './end-sessions.js';

const withSessions = `select distinct identity_id as id from sessions
where account_id = $1 and environment_id = $2 and identity_id = any ($3) and revoked_at is null`;

/**
 * Ends what new or reactivated members may still have in the Environment from before: a sign-in that was under way
 * while they were removed or deactivated may have completed after that, and must not become valid again. In the
 * caller's transaction.
 */
export async function endSessionsFromBefore(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityIds: readonly string[],
  { reason, at }: { reason: 'activated' | 'joined'; at: Date },
): Promise<void> {
  if (identityIds.length === 0) return;
  const left = await tx.query<{ id: string }[]>(withSessions, [scope.accountId, scope.environmentId, identityIds]);
  for (const { id } of left) await endSessions(tx, scope, id, { reason, at, by: currentContext().actor });
}
