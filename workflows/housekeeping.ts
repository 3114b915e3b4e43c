import { continueAsNew, defineQuery, isCancellation, proxyActivities, setHandler } from '@temporalio/workflow';
import type { HousekeepingActivities, SweepPlace } from '../activities/housekeeping.js';
import { wholeStep } from './between-steps.js';
import { heartbeatTimeout } from './heartbeat.js';
import { shownState } from './shown-state.js';

export interface HousekeepingInput {
  batchSize?: number;
  /** Batches after which the run continues as new, with a fresh history. */
  batchesPerHistory?: number;
  /** How far the run had come when it continued as new. */
  soFar?: Progress;
}
interface Progress {
  place: SweepPlace | null;
  deleted: Record<string, number>;
}
/** Rows deleted, by table. */
export interface HousekeepingResult {
  deleted: Record<string, number>;
}
export type HousekeepingState = 'sweeping' | 'done' | 'cancelled';

export const state = defineQuery<HousekeepingState>('state');

// A batch that cannot be done within the hour is left to the next run.
const { sweepBatch } = proxyActivities<HousekeepingActivities>({
  startToCloseTimeout: '30s',
  heartbeatTimeout,
  scheduleToCloseTimeout: '50m',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

/** Deletes expired rows, batch by batch. A Temporal Schedule runs it every hour. */
export async function housekeeping({
  batchSize = 1000,
  batchesPerHistory = 250,
  soFar = { place: null, deleted: {} },
}: HousekeepingInput = {}): Promise<HousekeepingResult> {
  const deleted = { ...soFar.deleted };
  let { place } = soFar;
  const shown = shownState<HousekeepingState>('sweeping', (current) => describe(current, deleted));
  setHandler(state, shown.get);
  try {
    for (let batches = 1; ; batches++) {
      const swept = await wholeStep(() => sweepBatch(place, batchSize));
      if (swept.deleted > 0) deleted[swept.table] = (deleted[swept.table] ?? 0) + swept.deleted;
      place = swept.next;
      if (place === null) break;
      if (batches === batchesPerHistory) {
        const soFar = { place, deleted };
        // A cancel during the batch is meant for the whole run, and would be lost by continuing as new.
        await wholeStep(() => continueAsNew<typeof housekeeping>({ batchSize, batchesPerHistory, soFar }));
      }
    }
  } catch (error) {
    if (isCancellation(error)) shown.set('cancelled');
    throw error;
  }
  shown.set('done');
  return { deleted };
}

function describe(current: HousekeepingState, deleted: Record<string, number>): string {
  const counts = Object.entries(deleted).map(([table, rows]) => `${rows} of ${table}`);
  const soFar = counts.length > 0 ? counts.join(', ') : 'nothing';
  const sentences: Record<HousekeepingState, string> = {
    sweeping: 'Deletes rows that are no longer needed, batch by batch. Cancelling stops it after the current batch.',
    done: `Deleted ${soFar}.`,
    cancelled: `Cancelled by an operator after deleting ${soFar}; the next run continues.`,
  };
  return sentences[current];
}
