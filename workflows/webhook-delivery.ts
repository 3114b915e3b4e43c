import {
  ActivityCancellationType,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Waiting } from '../activities/waiting.js';
import type { DeliveryLook, WebhookActivities } from '../activities/webhooks.js';
import { wholeStep } from './between-steps.js';
import { hasRowRead } from './by-hand.js';
import { heartbeatTimeout } from './heartbeat.js';
import type { WebhookDeliveryInput } from './inputs.js';
import { shownState } from './shown-state.js';
import { msUntil } from './waits.js';

export type DeliveryState = DeliveryLook['status'];

/** Somebody asked for the next attempt now: the row says that it is due. */
export const retryNow = defineSignal('retryNow');
export const state = defineQuery<DeliveryState>('state');

const { attemptWebhook } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '60s',
  heartbeatTimeout,
  retry: { initialInterval: '1s', maximumInterval: '30s' },
  // A call that is under way may finish, so that no "cancelled" delivery was made after all.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
const { cancelWebhookDelivery } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/**
 * Delivers one event or logout token to one receiver: calls it, and waits for the next attempt, until it has accepted
 * it or the attempts are used up. The row has schedule and count, so the workflow may be started again at any time.
 */
export async function webhookDelivery(input: WebhookDeliveryInput): Promise<DeliveryState> {
  const { deliveryId, webhookId, accountId } = input;
  let look: Waiting<DeliveryLook> = { status: 'pending', wakeAt: null, attempts: null };
  let isAsked = false;
  const shown = shownState<DeliveryState>('pending', (current) => describe(current, input, look));
  setHandler(state, shown.get);
  setHandler(
    retryNow,
    () => {
      isAsked = true;
    },
    hasRowRead,
  );
  const show = (next: Waiting<DeliveryLook>) => {
    look = { ...next, attempts: next.attempts ?? look.attempts };
    shown.set(look.status);
    shown.refresh();
  };
  try {
    for (;;) {
      isAsked = false;
      show(await attemptWebhook(deliveryId, webhookId, accountId));
      if (look.wakeAt === null) {
        if (!isAsked) break; // a retry that was asked for meanwhile has made it pending again
        continue;
      }
      const waitMs = Math.max(minWaitMs, msUntil(look.wakeAt, look.waitMs));
      await condition(() => isAsked, waitMs);
      // Each wait for a turn among many adds a few events to the history.
      if (workflowInfo().continueAsNewSuggested) await wholeStep(() => continueAsNew<typeof webhookDelivery>(input));
    }
  } catch (error) {
    // If the worker died during the call, the activity fails without reporting the cancel.
    if (!isCancellation(error) && !CancellationScope.current().consideredCancelled) throw error;
    show(await CancellationScope.nonCancellable(() => cancelWebhookDelivery(deliveryId)));
    if (shown.get() === 'cancelled') {
      throw isCancellation(error) ? error : new CancelledFailure('cancelled while its worker died');
    }
  }
  return shown.get();
}

/** Allows for a small difference between the clocks of two processes. */
const minWaitMs = 100;

function describe(current: DeliveryState, input: WebhookDeliveryInput, look: DeliveryLook): string {
  const { deliveryId, webhookId, receiver } = input;
  const isLogout = receiver === 'client';
  const made = look.attempts === null ? '' : ` after ${look.attempts} ${look.attempts === 1 ? 'attempt' : 'attempts'}`;
  const sentences: Record<DeliveryState, string> = {
    pending: look.wakeAt
      ? `Not delivered${made}; the receiver is called again at ${look.wakeAt}, or when its turn comes. Cancelling ends the delivery.`
      : 'The receiver is being called.',
    succeeded: `Delivered${made}.`,
    failed: `Given up${made}. ${isLogout ? 'It' : 'The delivery lists what the receiver answered, and'} can be retried.`,
    cancelled: 'Cancelled: by an operator, or because its receiver was switched off or deleted.',
  };
  const of = isLogout ? 'of a logout token to client' : 'of webhook';
  return `Delivery ${deliveryId} ${of} ${webhookId}: ${sentences[current]}`;
}
