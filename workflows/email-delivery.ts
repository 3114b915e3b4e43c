import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { EmailActivities } from '../activities/emails.js';
import { hasRowRead } from './by-hand.js';
import { retriedWhileItFailed } from './changes.js';
import { heartbeatTimeout } from './heartbeat.js';
import type { EmailDeliveryInput } from './inputs.js';
import { shownState } from './shown-state.js';

export type EmailState = 'sending' | 'sent' | 'failed' | 'cancelled';

/** Somebody had a failed mail sent again: its row is pending. */
export const retried = defineSignal('retried');
export const state = defineQuery<EmailState>('state');

const { giveUpEmail, cancelEmail } = proxyActivities<EmailActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/**
 * Sends one mail by the SMTP server, however long that is unavailable, and fails visibly after `giveUpAfterMs`, by
 * default a day.
 */
export async function emailDelivery({
  emailId,
  giveUpAfterMs = 24 * 3_600_000,
  firstRetryMs = 5_000,
  longestRetryMs = 30 * 60_000,
}: EmailDeliveryInput): Promise<EmailState> {
  const shown = shownState<EmailState>('sending', (current) => describe(current, emailId, giveUpAfterMs));
  setHandler(state, shown.get);
  let isRetried = false;
  setHandler(
    retried,
    () => {
      isRetried = true;
    },
    hasRowRead,
  );
  const attempt = {
    // The mail server has four minutes to ask for a message, and ten to accept it: with less, it could be sent twice.
    startToCloseTimeout: '15m',
    heartbeatTimeout,
    // An attempt that is talking to the server may finish, so that no "cancelled" mail was sent after all.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  } as const;
  const { sendEmail } = proxyActivities<EmailActivities>({
    ...attempt,
    scheduleToCloseTimeout: giveUpAfterMs,
    retry: { initialInterval: firstRetryMs, backoffCoefficient: 2, maximumInterval: longestRetryMs },
  });
  const { sendEmail: sendOnce } = proxyActivities<EmailActivities>({ ...attempt, retry: { maximumAttempts: 1 } });
  for (;;) {
    isRetried = false;
    await sendUntilEnded(emailId, shown, { sendEmail, sendOnce });
    if (shown.get() !== 'failed') return shown.get();
    // A retry that came before this run has ended starts no other run.
    const goesOn = isRetried && !CancellationScope.current().consideredCancelled && patched(retriedWhileItFailed);
    if (!goesOn) throw ApplicationFailure.nonRetryable('The email could not be delivered', 'email.failed');
    shown.set('sending');
  }
}

/** Shows how the mail has ended. @throws CancelledFailure if an operator has cancelled it */
async function sendUntilEnded(
  emailId: string,
  shown: { get(): EmailState; set(state: EmailState): void },
  { sendEmail, sendOnce }: Record<'sendEmail' | 'sendOnce', EmailActivities['sendEmail']>,
): Promise<void> {
  try {
    const sent = sendEmail(emailId).catch((error) => {
      // If no worker was there to try, the mail server may have been available: try once more.
      if (!ranOutUntried(error) || !patched('last-attempt')) throw error;
      return sendOnce(emailId);
    });
    shown.set(await sent);
  } catch (error) {
    // If the worker died during the attempt, the activity fails without reporting the cancel.
    const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
    shown.set(
      await CancellationScope.nonCancellable(() =>
        cancelled ? cancelEmail(emailId) : giveUpEmail(emailId, outageOf(error)),
      ),
    );
    if (cancelled && shown.get() === 'cancelled') {
      throw isCancellation(error) ? error : new CancelledFailure('cancelled while its worker died');
    }
  }
}

/**
 * Whether the time ran out while an attempt was still to come, or under way; if the last attempt had failed, the
 * failure would be that attempt's.
 */
const ranOutUntried = (error: unknown) =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_CLOSE';

/** Returns names and codes of the last attempt's failure, as `settled` reports it; null if it says nothing. */
const outageOf = (error: unknown): string | null =>
  error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.type === 'outage'
    ? error.cause.message
    : null;

function describe(current: EmailState, emailId: string, giveUpAfterMs: number): string {
  const sentences: Record<EmailState, string> = {
    sending: `It is being sent, for at most ${Math.round(giveUpAfterMs / 60_000)} minutes; the pending activity shows the last error.`,
    sent: 'The SMTP server has taken it.',
    failed: 'It could not be delivered; the reason is in the row and in the audit log.',
    cancelled: 'Not sent: it was cancelled, or there was nothing left to send.',
  };
  return `Email ${emailId}: ${sentences[current]}`;
}
