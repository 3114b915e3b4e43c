import type { WorkflowHandle } from '@temporalio/client';
import { until } from './until.js';

interface Started {
  handle: Pick<WorkflowHandle, 'fetchHistory' | 'terminate'>;
}

/**
 * Starts a workflow for a moment that has to be ahead when the workflow has done its first step. Where it is not, because the
 * machine stood still meanwhile, that one is given up and another one gets twice the time.
 * @param start starts one whose moment comes after so many milliseconds
 */
export async function inTime<S extends Started>(start: (ms: number) => Promise<S>, ms: number): Promise<S> {
  const begun = Date.now();
  const started = await start(ms);
  if ((await wentOnAt(started)) < begun + ms) return started;
  await started.handle.terminate().catch(() => undefined); // it may be over
  return inTime(start, 2 * ms);
}

/** When it went on after its first step, by the clock that workflow code sees: the start of the task that has done so. */
async function wentOnAt({ handle }: Started): Promise<number> {
  return until('it has gone on after its first step', async () => {
    const { events } = await handle.fetchHistory();
    const rest = events?.slice(events.findIndex((event) => event.activityTaskCompletedEventAttributes)) ?? [];
    const done = rest.findIndex((event) => event.workflowTaskCompletedEventAttributes);
    const task = rest.slice(0, Math.max(0, done)).findLast((event) => event.workflowTaskStartedEventAttributes);
    const at = task?.eventTime;
    return at ? Number(at.seconds) * 1000 + (at.nanos ?? 0) / 1_000_000 : null;
  });
}
