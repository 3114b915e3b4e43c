import { assertStillMay } from '../platform/context.js';
import { DomainError } from './errors.js';
import { pollUntil } from './poll-until.js';
import type { RunningProcesses } from './running-processes.js';

/**
 * Waits until a workflow run that was asked to stop has stopped: it ends its row when it receives the request, and
 * would otherwise end a new row under the same id.
 * @param wasCancelled whether its row is cancelled: then the run may have been asked and not have received it yet, also
 *   while Temporal does not answer
 * @throws DomainError service.unavailable while it is stopping, or may be; the request then has to be repeated
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
  // A running worker needs a few hundredths of a second.
  const last = await pollUntil(look, (seen) => !seen?.isStopping, { seconds: 2 });
  if (last?.isStopping) throw new DomainError('service.unavailable', { retryAfter: 1 });
  await assertStillMay();
}
