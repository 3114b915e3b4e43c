import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { AccessActivities, WindowLook } from '../activities/access.js';
import type { Waiting } from '../activities/waiting.js';
import { hasRowRead } from './by-hand.js';
import type { RoleAssignmentWindowInput } from './inputs.js';
import { shownState } from './shown-state.js';
import { msUntil } from './waits.js';

export type WindowState = WindowLook['status'];

/** The row has changed; the process reads it again. */
export const changed = defineSignal('changed');
export const state = defineQuery<WindowState>('state');

const { advanceRoleWindow, cancelRoleWindow } = proxyActivities<AccessActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

/** The longest timer; longer waits take several, as a window may end in a thousand years. */
const maxWaitMs = 365 * 86_400_000;

/**
 * Waits for the moments of a role assignment's window, and has each reported when it comes. It allows and forbids
 * nothing: decisions read the window itself. It may be started again at any time; the row says what was reported.
 */
export async function roleAssignmentWindow(input: RoleAssignmentWindowInput): Promise<WindowState> {
  const { assignmentId } = input;
  let look: Waiting<WindowLook> = { status: 'running', wakeAt: null };
  let isStale = false; // the row may have changed, and has to be read
  const shown = shownState<WindowState>('running', (current) => describe(current, input, look));
  setHandler(state, shown.get);
  setHandler(
    changed,
    () => {
      isStale = true;
    },
    hasRowRead,
  );
  try {
    for (;;) {
      isStale = false;
      look = await advanceRoleWindow(assignmentId);
      shown.set(look.status);
      shown.refresh();
      if (look.status !== 'running' || look.wakeAt === null) {
        if (!isStale) break; // a signal that came meanwhile is about a newer change
        continue;
      }
      const waitMs = Math.min(maxWaitMs, Math.max(1000, msUntil(look.wakeAt, look.waitMs)));
      await condition(() => isStale, waitMs);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    look = await CancellationScope.nonCancellable(() => cancelRoleWindow(assignmentId));
    shown.set(look.status);
    if (look.status === 'cancelled') throw error; // otherwise the cancel came too late
  }
  return shown.get();
}

function describe(
  current: WindowState,
  { assignmentId, identityId, environmentId }: RoleAssignmentWindowInput,
  { wakeAt }: WindowLook,
) {
  const sentences: Record<WindowState, string> = {
    running: `Next event: ${wakeAt ?? 'see its row'}. Cancelling stops the events; the window stays as it is.`,
    completed: 'No more events are due.',
    removed: 'The assignment was removed.',
    cancelled: 'An operator stopped the events; the window stays as it is.',
  };
  const which = `Role assignment ${assignmentId} of identity ${identityId} in environment ${environmentId}`;
  return `${which}: ${sentences[current]}`;
}
