import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { EmailChangeActivities } from '../activities/email-changes.js';
import { hasRowRead } from './by-hand.js';
import { readFirst } from './changes.js';
import type { EmailChangeInput } from './inputs.js';
import { shownState } from './shown-state.js';
import { growingPauses } from './waits.js';

export type EmailChangeState = 'waiting' | 'confirmed' | 'expired' | 'withdrawn' | 'cancelled';

/** The row has ended: it was confirmed, withdrawn or replaced. */
export const ended = defineSignal('ended');
export const state = defineQuery<EmailChangeState>('state');

const { expireEmailChange, cancelEmailChange } = proxyActivities<EmailChangeActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

/**
 * Waits until an administrator's new address is confirmed, which happens in its row, and ends the row at the deadline.
 * It may be started again at any time.
 */
export async function emailChange(input: EmailChangeInput): Promise<EmailChangeState> {
  const { changeId, expiresAt } = input;
  const shown = shownState<EmailChangeState>('waiting', (current) => describe(current, input));
  let isStale = false; // the row may have changed, and has to be read
  const pause = growingPauses();
  const show = (status: Awaited<ReturnType<typeof expireEmailChange>>) => {
    if (status !== 'pending') shown.set(status);
  };
  setHandler(state, shown.get);
  setHandler(
    ended,
    () => {
      isStale = true;
    },
    hasRowRead,
  );
  try {
    // It may have ended before this run began, with a signal that met no run: messages of the outbox overtake each other.
    if (patched(readFirst)) show(await expireEmailChange(changeId));
    while (shown.get() === 'waiting') {
      const left = Date.parse(expiresAt) - Date.now();
      await condition(() => isStale, left > 0 ? left : pause());
      isStale = false;
      show(await expireEmailChange(changeId)); // the row decides, by a clock that may be behind Temporal's
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    show(await CancellationScope.nonCancellable(() => cancelEmailChange(changeId)));
    if (shown.get() === 'cancelled') throw error; // otherwise the cancel came too late
  }
  return shown.get();
}

function describe(current: EmailChangeState, { changeId, expiresAt }: EmailChangeInput): string {
  const sentences: Record<EmailChangeState, string> = {
    waiting: `Waits until ${expiresAt} for the link in the email to the new address to be confirmed. Cancelling keeps the old address.`,
    confirmed: 'The new address was confirmed.',
    expired: `Nobody confirmed the link by ${expiresAt}; the old address stays.`,
    withdrawn: 'The administrator withdrew it or requested another one, or was deleted.',
    cancelled: 'An operator cancelled it; the old address stays.',
  };
  return `Change of an address ${changeId}: ${sentences[current]}`;
}
