import { assertStillMay } from '../platform/context.js';
import { DomainError } from './errors.js';
import { pollUntil } from './poll-until.js';
import type { RunningProcesses } from './running-processes.js';

/**
 * Waits until the run that was asked to stop has stopped: it ends its row when it hears of it, and would end what begins anew
 * under the same id.
 * @param wasCancelled its row: then the run may have been asked, and not have heard, also while Temporal does not answer
 * @throws DomainError service.unavailable while it stops, or may; what the request's caller is refused with by then
 */
export async function waitUntilStopped(
  processes: Pick<RunningProcesses, 'describe'>,
  { workflowId, wasCancelled }: { workflowId: string; wasCancelled: boolean },
): Promise<void> {
  const look = () =>
    processes.describe(workflowId).catch((error: unknown) => {
      if (!wasCancelled && error instanceof DomainError && error.code === 'service.unavailable') return null;
      throw error;
    });
  // A worker that is there takes a few hundredths of one.
  const last = await pollUntil(look, (seen) => !seen?.isStopping, { seconds: 2 });
  if (last?.isStopping) throw new DomainError('service.unavailable', { retryAfter: 1 });
  await assertStillMay();
}
