import { CancellationScope, defineQuery, isCancellation, proxyActivities, setHandler } from '@temporalio/workflow';
import type { RemovalActivities, RemovalOutcome } from '../activities/removals.js';
import { wholeStep } from './between-steps.js';
import { heartbeatTimeout } from './heartbeat.js';
import type { EnvironmentRemovalInput } from './inputs.js';
import { shownState } from './shown-state.js';

export type RemovalState = 'deleting_contents' | 'deleting_environment' | 'completed' | 'cancelled';

export const state = defineQuery<RemovalState>('state');

const { removeEnvironmentContents, completeEnvironmentRemoval, cancelEnvironmentRemoval } =
  proxyActivities<RemovalActivities>({
    startToCloseTimeout: '60s',
    heartbeatTimeout,
    retry: { initialInterval: '1s', maximumInterval: '1m' },
  });

/** Deletes an Environment's contents, step by step. It may be started again at any time: a step finds what is left. */
export async function environmentRemoval(input: EnvironmentRemovalInput): Promise<RemovalState> {
  const { removalId } = input;
  const shown = shownState<RemovalState>('deleting_contents', (current) => describe(current, input));
  setHandler(state, shown.get);
  const removeAll = async (): Promise<RemovalOutcome> => {
    shown.set('deleting_contents');
    const outcome = await wholeStep(() => removeEnvironmentContents(removalId));
    if (outcome !== 'done') return outcome;
    shown.set('deleting_environment');
    return wholeStep(() => completeEnvironmentRemoval(removalId));
  };
  try {
    for (let left = true; left; ) {
      const outcome = await removeAll();
      if (outcome === 'more') continue;
      const ended = outcome === 'done' ? 'completed' : await cancelEnvironmentRemoval(removalId, true);
      left = ended === 'running'; // resumed since the step that found it ended
      if (ended !== 'running') shown.set(ended);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    const ended = await CancellationScope.nonCancellable(() => cancelEnvironmentRemoval(removalId));
    shown.set(ended === 'completed' ? ended : 'cancelled');
    if (shown.get() === 'cancelled') throw error; // otherwise it was done already
  }
  return shown.get();
}

function describe(current: RemovalState, { environmentId }: EnvironmentRemovalInput): string {
  const running =
    'Nobody can use it any longer. Cancelling stops after the current batch and brings nothing back; the row counts what is left.';
  const sentences: Record<RemovalState, string> = {
    deleting_contents: `Its identities and everything else in it are being deleted. ${running}`,
    deleting_environment: `What is left of it is being deleted. ${running}`,
    completed: 'Nothing is left of it except its id in events.',
    cancelled: 'An operator stopped it; the row counts what is left. Retrying the process continues it.',
  };
  return `Removal of environment ${environmentId}: ${sentences[current]}`;
}
