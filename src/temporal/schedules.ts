import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type ScheduleSpec,
} from '@temporalio/client';
import { eventCountingId, housekeepingId, reconcilerId, signingKeyRotationId } from '../../workflows/ids.js';
import { stateKey } from '../../workflows/search-attributes.js';
import type { TaskQueue } from '../platform/process-kinds.js';

interface Schedule {
  id: string;
  workflow: string;
  taskQueue: TaskQueue;
  summary: string;
  /** For a workflow with states: the first value of its search attribute. */
  firstState?: string;
  spec: ScheduleSpec;
  /** How long after its time a missed run is still made up for. */
  catchupWindow: '1 minute' | '1 hour' | '1 day';
}

const schedules: Schedule[] = [
  {
    id: signingKeyRotationId,
    workflow: 'signingKeyRotation',
    taskQueue: 'processes',
    summary: 'Makes the next signing key when it is due',
    spec: { calendars: [{ hour: 3, minute: 0, comment: 'every day' }] },
    catchupWindow: '1 day',
  },
  {
    id: housekeepingId,
    workflow: 'housekeeping',
    taskQueue: 'processes',
    summary: 'Deletes rows that are no longer needed',
    firstState: 'sweeping',
    spec: { intervals: [{ every: '1 hour' }] },
    catchupWindow: '1 hour',
  },
  {
    id: eventCountingId,
    workflow: 'eventCounting',
    taskQueue: 'processes',
    summary: 'Counts what has happened, for the totals of audit logs',
    spec: { intervals: [{ every: '5 minutes', offset: '1 minute' }] },
    catchupWindow: '1 minute',
  },
  {
    id: reconcilerId,
    workflow: 'reconciler',
    taskQueue: 'processes',
    summary: 'Starts processes that rows wait for and that are not running',
    firstState: 'looking',
    spec: { intervals: [{ every: '5 minutes' }] },
    catchupWindow: '1 minute',
  },
];

/**
 * Creates or updates the Temporal Schedules of this version. Safe to repeat, also by many workers at once.
 * @param issuer of the installation, which reveals two of them in one namespace
 */
export async function ensureSchedules(client: Client, issuer: string): Promise<void> {
  for (const schedule of schedules) {
    const options = optionsOf(schedule, issuer);
    try {
      await client.schedule.create({ scheduleId: schedule.id, ...options });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      // Written without a comparison, since the server fills defaults into what it returns. Only a pause stays.
      await client.schedule
        .getHandle(schedule.id)
        .update(({ state: { paused, note } }) => ({ ...options, state: { paused, note } }));
    }
  }
}

/**
 * Checks that the server has every schedule of ours: somebody can delete one by hand, or limit the number of its runs.
 * A server that has lost its database has lost them too, and otherwise answers as if all was well.
 * @returns whose schedules they are, if they say so; null if one is missing, or limited
 */
export async function findSchedules(client: Client): Promise<{ issuer: string | null } | null> {
  try {
    const found = await Promise.all(schedules.map(({ id }) => client.schedule.getHandle(id).describe()));
    if (found.some(({ state }) => state.remainingActions !== undefined)) return null;
    const [issuer = null] = found.map(({ action }) => action.memo?.issuer).filter((each) => typeof each === 'string');
    return { issuer };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/** Starts a run of the reconciler, unless one is under way or somebody has paused it. */
export async function reconcileNow(client: Client): Promise<void> {
  const schedule = client.schedule.getHandle(reconcilerId);
  const { state } = await schedule.describe();
  if (!state.paused) await schedule.trigger(ScheduleOverlapPolicy.SKIP);
}

const optionsOf = (
  { id, workflow, taskQueue, summary, firstState, spec, catchupWindow }: Schedule,
  issuer: string,
) => ({
  spec,
  policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow },
  action: {
    type: 'startWorkflow' as const,
    workflowType: workflow,
    workflowId: id,
    taskQueue,
    args: [],
    staticSummary: summary,
    memo: { issuer },
    ...(firstState && { typedSearchAttributes: [{ key: stateKey, value: firstState }] }),
  },
});
