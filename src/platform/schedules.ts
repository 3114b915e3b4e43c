import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { signingKeyRotationId } from '../../workflows/ids.js';
import type { TaskQueue } from './processes.js';

interface Schedule {
  id: string;
  workflow: string;
  taskQueue: TaskQueue;
  summary: string;
  /** Hour of the day, in UTC, at which it runs. */
  hour: number;
}

const schedules: Schedule[] = [
  {
    id: signingKeyRotationId,
    workflow: 'signingKeyRotation',
    taskQueue: 'processes',
    summary: 'Makes the next signing key when it is due',
    hour: 3,
  },
];

/** Makes or brings up to date the Temporal Schedules of this version. Safe to repeat, and from many workers at once. */
export async function ensureSchedules(client: Client): Promise<void> {
  for (const schedule of schedules) {
    const options = optionsOf(schedule);
    try {
      await client.schedule.create({ scheduleId: schedule.id, ...options });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      // Written again rather than compared: the server's answer has its own defaults filled in. A pause stays.
      await client.schedule.getHandle(schedule.id).update(({ state }) => ({ ...options, state }));
    }
  }
}

const optionsOf = ({ id, workflow, taskQueue, summary, hour }: Schedule) => ({
  spec: { calendars: [{ hour, minute: 0, comment: 'every day' }] },
  policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 day' as const },
  action: {
    type: 'startWorkflow' as const,
    workflowType: workflow,
    workflowId: id,
    taskQueue,
    args: [],
    staticSummary: summary,
  },
});
