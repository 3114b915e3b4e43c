import type { WorkflowHandle } from '@temporalio/client';
import { until } from './until.js';

interface Started {
  handle: Pick<WorkflowHandle, 'fetchHistory' | 'terminate'>;
}

/**
 * Starts a workflow with a moment that has to be in the future when its first step is done. If the machine stalled and
 * the moment has passed, terminates that workflow and starts another with twice the time.
 * @param start starts a workflow whose moment is so many milliseconds away
 */
export async function inTime<S extends Started>(start: (ms: number) => Promise<S>, ms: number): Promise<S> {
  const begun = Date.now();
  const started = await start(ms);
  if ((await wentOnAt(started)) < begun + ms) return started;
  await started.handle.terminate().catch(() => undefined); // it may have ended
  return inTime(start, 2 * ms);
}

/** Returns when the workflow went on after its first step, by the clock of workflow code: the start of that task. */
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
