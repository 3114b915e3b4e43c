import { defineQuery, proxyActivities, setHandler } from '@temporalio/workflow';
import type { ErasureActivities, StepOutcome } from '../activities/erasures.js';
import { wholeStep } from './between-steps.js';
import { heartbeatTimeout } from './heartbeat.js';
import type { IdentityErasureInput } from './inputs.js';
import { removeUntilEnded } from './removal-rounds.js';
import { shownState } from './shown-state.js';

export type ErasureState = 'ending_sessions' | 'removing_memberships' | 'deleting_profile' | 'completed' | 'cancelled';

export const state = defineQuery<ErasureState>('state');

const { endErasedSessions, removeErasedMemberships, completeErasure, cancelErasure } =
  proxyActivities<ErasureActivities>({
    startToCloseTimeout: '30s',
    heartbeatTimeout,
    retry: { initialInterval: '1s', maximumInterval: '1m' },
  });

/** Has `cancelErasure` read the row and end nothing. */
const onlyLook = true;

/** Deletes an Identity, step by step. It may be started again at any time: a step finds what is left. */
export async function identityErasure(input: IdentityErasureInput): Promise<ErasureState> {
  const { erasureId } = input;
  const shown = shownState<ErasureState>('ending_sessions', (current) => describe(current, input));
  setHandler(state, shown.get);
  /** @returns false if the row has ended without this workflow */
  const repeat = async (current: ErasureState, step: (id: string) => Promise<StepOutcome>): Promise<boolean> => {
    shown.set(current);
    for (;;) {
      const outcome = await wholeStep(() => step(erasureId));
      if (outcome !== 'more') return outcome === 'done';
    }
  };
  await removeUntilEnded(shown, {
    async round() {
      if (!(await repeat('ending_sessions', endErasedSessions))) return 'ended';
      if (!(await repeat('removing_memberships', removeErasedMemberships))) return 'ended';
      shown.set('deleting_profile');
      return wholeStep(() => completeErasure(erasureId));
    },
    look: () => cancelErasure(erasureId, onlyLook),
    cancel: () => cancelErasure(erasureId),
  });
  return shown.get();
}

function describe(current: ErasureState, { identityId }: IdentityErasureInput): string {
  const running =
    'Cancelling stops it after the current step; the person stays locked out, and the row lists what is left.';
  const sentences: Record<ErasureState, string> = {
    ending_sessions: `Its sessions and tokens are being deleted. ${running}`,
    removing_memberships: `It is being removed from its environments. ${running}`,
    deleting_profile: `Its profile is being deleted. ${running}`,
    completed: 'Nothing is left of it except its id in events.',
    cancelled: 'An operator stopped it; the row lists what is left. Requesting the deletion again continues it.',
  };
  return `Erasure of identity ${identityId}: ${sentences[current]}`;
}
