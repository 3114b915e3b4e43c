import { Erasure } from '../../../entities/erasure.js';
import type { Db } from '../../platform/database/db.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import type { AccountScope } from '../../platform/scope.js';
import type { RunningProcesses } from '../running-processes.js';
import { waitUntilStopped } from '../wait-until-stopped.js';
import { erasureInput } from './erasures.js';

/**
 * Waits until the run of a cancelled erasure has stopped, before the person is erased again.
 * @throws DomainError service.unavailable while it is stopping, or may be
 */
export async function letErasureStop(
  db: Db,
  processes: Pick<RunningProcesses, 'describe'>,
  { accountId }: AccountScope,
  identityId: string,
): Promise<void> {
  const where = { accountId, identityId, status: 'cancelled' } as const;
  const before = await db.transaction({ accountId }, (tx) => tx.findOneBy(Erasure, where));
  if (!before) return;
  await waitUntilStopped(processes, {
    workflowId: workflowIdOf('identityErasure', erasureInput(before)),
    wasCancelled: true,
  });
}
