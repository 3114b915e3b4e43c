import { continueAsNew, defineQuery, patched, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import type { RemovalActivities } from '../activities/removals.js';
import { wholeStep } from './between-steps.js';
import { freshHistory } from './changes.js';
import { heartbeatTimeout } from './heartbeat.js';
import type { EnvironmentRemovalInput } from './inputs.js';
import { removeUntilEnded } from './removal-rounds.js';
import { shownState } from './shown-state.js';

export type RemovalState = 'deleting_contents' | 'deleting_environment' | 'completed' | 'cancelled';

export const state = defineQuery<RemovalState>('state');

const { removeEnvironmentContents, completeEnvironmentRemoval, cancelEnvironmentRemoval } =
  proxyActivities<RemovalActivities>({
    startToCloseTimeout: '60s',
    heartbeatTimeout,
    retry: { initialInterval: '1s', maximumInterval: '1m' },
  });

/** Has `cancelEnvironmentRemoval` read the row and end nothing. */
const onlyLook = true;

/** Deletes an Environment's contents, step by step. It may be started again at any time: a step finds what is left. */
export async function environmentRemoval(input: EnvironmentRemovalInput): Promise<RemovalState> {
  const { removalId } = input;
  const shown = shownState<RemovalState>('deleting_contents', (current) => describe(current, input));
  setHandler(state, shown.get);
  await removeUntilEnded(shown, {
    async round() {
      shown.set('deleting_contents');
      // A step lasts seconds, and of a large Environment there are thousands.
      if (workflowInfo().continueAsNewSuggested && patched(freshHistory))
        await wholeStep(() => continueAsNew<typeof environmentRemoval>(input));
      const outcome = await wholeStep(() => removeEnvironmentContents(removalId));
      if (outcome !== 'done') return outcome;
      shown.set('deleting_environment');
      return wholeStep(() => completeEnvironmentRemoval(removalId));
    },
    look: () => cancelEnvironmentRemoval(removalId, onlyLook),
    cancel: () => cancelEnvironmentRemoval(removalId),
  });
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
