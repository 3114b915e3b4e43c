import type { EntityManager } from 'typeorm';
import { currentContext } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { distrustDevices } from '../mfa/trusted-devices.js';
import { endSessions } from '../sessions/end-sessions.js';

/**
 * Ends everything that an Identity could still use in an Environment, at once: sessions with all that came from them,
 * unfinished sign-ins, and trusted browsers. In a transaction that has locked the Identity's row.
 */
export async function shutOut(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  { reason, at }: { reason: string; at: Date },
): Promise<void> {
  await endSessions(tx, scope, identityId, { reason, at, by: currentContext().actor });
  await distrustDevices(tx, scope, identityId);
  await tx.query(
    `update pending_sign_ins set completed_at = $3
     where environment_id = $1 and identity_id = $2 and completed_at is null`,
    [scope.environmentId, identityId, at],
  );
}
