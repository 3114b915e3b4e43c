import { MfaGrace } from '../../../../entities/mfa-grace.js';
import { type Db, within } from '../../../platform/database/db.js';
import { workflowIdOf } from '../../../platform/process-kinds.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { RunningProcesses } from '../../running-processes.js';
import { waitUntilStopped } from '../../wait-until-stopped.js';
import { mfaGraceInput } from './rules.js';

/**
 * Waits until the run of a cancelled grace has stopped, before the person's grace begins again.
 * @throws DomainError service.unavailable while the run of a cancelled one stops
 */
export async function letGraceStop(
  db: Db,
  processes: Pick<RunningProcesses, 'describe'>,
  scope: EnvironmentScope,
  identityId: string,
): Promise<void> {
  const before = await db.transaction(scope, (tx) => tx.findOneBy(MfaGrace, { ...within(scope), identityId }));
  if (!before) return;
  const wasCancelled = before.status === 'cancelled';
  await waitUntilStopped(processes, { workflowId: workflowIdOf('mfaGrace', mfaGraceInput(before)), wasCancelled });
}
