import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { GraceLook, MfaActivities } from '../activities/mfa.js';
import type { Waiting } from '../activities/waiting.js';
import { wholeStep } from './between-steps.js';
import { hasRowRead } from './by-hand.js';
import { freshHistory } from './changes.js';
import type { MfaGraceInput } from './inputs.js';
import { shownState } from './shown-state.js';
import { msUntil } from './waits.js';

export type GraceState = GraceLook['status'];

/** Changes that are in the row already; each signal only has the process read it again. */
export const enrolled = defineSignal('enrolled');
export const reset = defineSignal('reset');
export const policyChanged = defineSignal('policyChanged');
export const state = defineQuery<GraceState>('state');

const { advanceGrace, cancelGrace } = proxyActivities<MfaActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

/**
 * Waits while a person may sign in without a second factor: sends the reminders, and reports the end. It enforces
 * nothing: sign-in reads the row's deadline. It may be started again at any time; the row says how far it has come.
 */
export async function mfaGrace(input: MfaGraceInput): Promise<GraceState> {
  const { graceId } = input;
  let look: Waiting<GraceLook> = { status: 'running', expiresAt: null, wakeAt: null };
  let isStale = false; // the row may have changed, and has to be read
  const shown = shownState<GraceState>('running', (current) => describe(current, input, look));
  setHandler(state, shown.get);
  for (const fact of [enrolled, reset, policyChanged]) {
    setHandler(
      fact,
      () => {
        isStale = true;
      },
      hasRowRead,
    );
  }
  try {
    for (;;) {
      isStale = false;
      look = await advanceGrace(graceId);
      shown.set(look.status);
      shown.refresh();
      if (look.status !== 'running' || look.wakeAt === null) {
        if (!isStale) break; // a signal that came meanwhile is about a newer change
        continue;
      }
      await condition(() => isStale, Math.max(1000, msUntil(look.wakeAt, look.waitMs)));
      // Each change of the policy adds a few events to the history, for as long as the grace period lasts.
      if (workflowInfo().continueAsNewSuggested && patched(freshHistory))
        await wholeStep(() => continueAsNew<typeof mfaGrace>(input));
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    look = await CancellationScope.nonCancellable(() => cancelGrace(graceId));
    shown.set(look.status);
    if (look.status === 'cancelled') throw error; // otherwise the cancel came too late
  }
  return shown.get();
}

function describe(current: GraceState, { identityId, environmentId }: MfaGraceInput, { expiresAt, wakeAt }: GraceLook) {
  const until = expiresAt ?? 'the end that its row names';
  const next = wakeAt && wakeAt !== expiresAt ? ` The next reminder is sent at ${wakeAt}.` : '';
  const sentences: Record<GraceState, string> = {
    running: `Can sign in without a second factor until ${until}.${next} Cancelling stops the reminders; the deadline stays.`,
    enrolled: 'Has enrolled a factor.',
    expired: `Enrolled no factor by ${until}; sign-ins are refused until an administrator resets MFA.`,
    reset:
      'Was reset, or MFA is no longer required; the grace period starts again with the next sign-in that needs it.',
    cancelled: `An operator stopped the reminders; the deadline ${until} stays.`,
  };
  return `Identity ${identityId} in environment ${environmentId}: ${sentences[current]}`;
}
