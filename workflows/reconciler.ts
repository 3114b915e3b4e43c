import {
  ApplicationFailure,
  continueAsNew,
  defineQuery,
  isCancellation,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { ReconcilerActivities, ReconcilerPlace } from '../activities/reconciler.js';
import { wholeStep } from './between-steps.js';
import { heartbeatTimeout } from './heartbeat.js';
import { shownState } from './shown-state.js';

export interface ReconcilerInput {
  pageSize?: number;
  /** Pages after which the run continues as new, with a fresh history. */
  pagesPerHistory?: number;
  /** How far the run had come when it continued as new. */
  soFar?: { place: ReconcilerPlace | null; looked: number; restarted: Record<string, number>; failed?: string[] };
}
/** How many waiting rows were checked, and how many processes were started again, by kind. */
export interface ReconcilerResult {
  looked: number;
  restarted: Record<string, number>;
}
export type ReconcilerState = 'looking' | 'done' | 'cancelled';

export const state = defineQuery<ReconcilerState>('state');

/** The most ids that a run reports of rows that could not be checked. */
const maxNamed = 20;

// A page that cannot be checked within this time is left to the next run.
const { reconcilePage } = proxyActivities<ReconcilerActivities>({
  startToCloseTimeout: '2m',
  heartbeatTimeout,
  scheduleToCloseTimeout: '10m',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/**
 * Restarts the process of every waiting row that has lost it. A Temporal Schedule runs it every few minutes.
 * @throws ApplicationFailure `NotAllHealed` at its end, if some rows could not be checked
 */
export async function reconciler({
  pageSize = 500,
  pagesPerHistory = 250,
  soFar = { place: null, looked: 0, restarted: {} },
}: ReconcilerInput = {}): Promise<ReconcilerResult> {
  const restarted = { ...soFar.restarted };
  let { place, looked, failed = [] } = soFar;
  const shown = shownState<ReconcilerState>('looking', (current) => describe(current, { looked, restarted, failed }));
  setHandler(state, shown.get);
  try {
    for (let pages = 1; ; pages++) {
      const page = await wholeStep(() => reconcilePage(place, pageSize));
      looked += page.looked;
      if (page.restarted > 0) restarted[page.kind] = (restarted[page.kind] ?? 0) + page.restarted;
      failed = [...failed, ...(page.failed ?? [])].slice(0, maxNamed); // an older worker reports none
      place = page.next;
      if (place === null) break;
      if (pages === pagesPerHistory) {
        const soFar = { place, looked, restarted, failed };
        // A cancel during the page is meant for the whole run, and would be lost by continuing as new.
        await wholeStep(() => continueAsNew<typeof reconciler>({ pageSize, pagesPerHistory, soFar }));
      }
    }
  } catch (error) {
    if (isCancellation(error)) shown.set('cancelled');
    throw error;
  }
  shown.set('done');
  if (failed.length > 0)
    throw ApplicationFailure.nonRetryable(`could not be looked at: ${failed.join(', ')}`, 'NotAllHealed');
  return { looked, restarted };
}

function describe(
  current: ReconcilerState,
  { looked, restarted, failed }: ReconcilerResult & { failed: string[] },
): string {
  const counts = Object.entries(restarted).map(([kind, rows]) => `${rows} of ${kind}`);
  const unchecked = failed.length > 0 ? ` Temporal could not check ${failed.join(', ')}.` : '';
  const soFar = `Checked ${looked} waiting rows; started again: ${counts.join(', ') || 'none'}.${unchecked}`;
  const sentences: Record<ReconcilerState, string> = {
    looking: 'Compares waiting rows with running workflows. Cancelling stops it after the current page.',
    done: soFar,
    cancelled: `Cancelled by an operator; the next run starts over. ${soFar}`,
  };
  return sentences[current];
}
