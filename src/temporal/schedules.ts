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
  /** Of a workflow that has states: what its search attribute says from the start. */
  firstState?: string;
  spec: ScheduleSpec;
  /** How long after its time a run that was missed is still made up for. */
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
 * Makes or brings up to date the Temporal Schedules of this version. Safe to repeat, and from many workers at once.
 * @param issuer of the installation, by which two in one namespace are told apart
 */
export async function ensureSchedules(client: Client, issuer: string): Promise<void> {
  for (const schedule of schedules) {
    const options = optionsOf(schedule, issuer);
    try {
      await client.schedule.create({ scheduleId: schedule.id, ...options });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      // Written again rather than compared: the server's answer has its own defaults filled in. A pause stays, and nothing else.
      await client.schedule
        .getHandle(schedule.id)
        .update(({ state: { paused, note } }) => ({ ...options, state: { paused, note } }));
    }
  }
}

/**
 * Looks whether the server has our schedules, every one: somebody can delete one by hand, or let it run a few times only. A server that has lost its database has lost
 * them too, and answers as if all was well.
 * @returns whose they are, as far as they say; null where one is missing, or limited
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

/** Has the reconciler run now, unless it does already or somebody paused it. */
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
