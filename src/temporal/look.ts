import type { Client } from '@temporalio/client';
import { isErrorCode } from '../domain/errors.js';
import type { PendingStep, ProcessDescription } from '../domain/running-processes.js';
import { hasEnded } from './errors.js';

/** Returns whether a run has not ended: a paused one continues when it is unpaused. */
export const isOpen = ({ name }: { name: string }): boolean => name === 'RUNNING' || name === 'PAUSED';

/** Returns what the server knows about a workflow's latest run; null if it has no run (any more). */
export async function lookAt(client: Client, workflowId: string): Promise<ProcessDescription | null> {
  try {
    const described = await client.workflow.getHandle(workflowId).describe();
    const isAskedToStop = described.raw.workflowExtendedInfo?.cancelRequested ?? false;
    return {
      workflowId,
      runId: described.runId,
      status: described.status.name.toLowerCase(),
      historyLength: described.historyLength,
      startedAt: described.startTime,
      isStopping: isAskedToStop && isOpen(described.status),
      pending: [
        ...stuckTask(described),
        ...(described.raw.pendingActivities ?? []).map((step) => ({
          activity: step.activityType?.name ?? 'unknown',
          attempt: step.attempt ?? 1,
          lastFailure: isPaused(step) ? 'paused' : step.lastFailure ? kindOf(step.lastFailure) : null,
          nextAttemptAt: dateOf(step.nextAttemptScheduleTime),
        })),
      ],
    };
  } catch (error) {
    if (hasEnded(error)) return null;
    throw error;
  }
}

/**
 * Returns the pending workflow task, if it was tried before: the workflow's code has failed, or no worker answered.
 * Until it is done, no signal, update or cancel has an effect.
 */
function stuckTask({ raw }: Described): PendingStep[] {
  const attempt = raw.pendingWorkflowTask?.attempt ?? 1;
  return attempt > 1
    ? [{ activity: 'workflow_task', attempt, lastFailure: 'workflow_task_failed', nextAttemptAt: null }]
    : [];
}

type Described = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['describe']>>;
type Pending = NonNullable<Described['raw']['pendingActivities']>[number];
type Failure = NonNullable<Pending['lastFailure']>;

/** Whether somebody has paused the activity in Temporal: it is not tried until they unpause it. */
const isPaused = ({ state }: Pending): boolean => state === paused || state === pauseRequested;
const [paused, pauseRequested] = [4, 5]; // PENDING_ACTIVITY_STATE_…

/** Names and codes, into which `faultOf` turns an outage (`activities/settled.ts`). */
const kind = /^[\w .-]{1,200}$/;

/**
 * Returns what to show of a failure. Only the message of an outage is shown, because our own code has made it from
 * names and codes; any other message may quote personal data.
 */
function kindOf({ message, applicationFailureInfo: application, timeoutFailureInfo: timeout }: Failure): string {
  if (application?.type === 'outage' && message && kind.test(message)) return message;
  const name = application?.type ?? '';
  if (isErrorCode(name) || kind.test(name)) return name;
  return timeout ? 'timeout' : 'failure';
}

function dateOf(time: Pending['nextAttemptScheduleTime']): Date | null {
  return time ? new Date(Number(time.seconds ?? 0) * 1000 + Math.floor((time.nanos ?? 0) / 1_000_000)) : null;
}
