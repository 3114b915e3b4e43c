import type { Client } from '@temporalio/client';
import { isErrorCode } from '../domain/errors.js';
import type { PendingStep, ProcessLook } from '../domain/running-processes.js';
import { hasEnded } from './errors.js';

/** Whether a run has not ended: what somebody has paused goes on when it is unpaused. */
export const isOpen = ({ name }: { name: string }): boolean => name === 'RUNNING' || name === 'PAUSED';

/** Looks at the latest run of a workflow; null where the server knows none (any more). */
export async function lookAt(client: Client, workflowId: string): Promise<ProcessLook | null> {
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
 * The workflow's own next step, where it has been tried before: its code has failed, or no worker answered. Until it is done nothing
 * that the workflow is told has an effect, a cancel neither.
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

/** By hand, in Temporal: it is not tried before somebody unpauses it. */
const isPaused = ({ state }: Pending): boolean => state === paused || state === pauseRequested;
const [paused, pauseRequested] = [4, 5]; // PENDING_ACTIVITY_STATE_…

/** Names and codes, as `faultOf` makes them of an outage (`activities/settled.ts`). */
const kind = /^[\w .-]{1,200}$/;

/**
 * What a failure is called. Only the message of an outage is shown, because our own code has made it, of names and codes; any
 * other message may quote what it was about.
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
