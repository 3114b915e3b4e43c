import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { ProvisionedRegistration, RegistrationActivities } from '../activities/registration.js';
import { createsAccount, hasRowRead } from './by-hand.js';
import { foundByAccount, readAfterOutage, rowDecides } from './changes.js';
import { registrationId } from './ids.js';
import type { RegistrationVerificationInput } from './inputs.js';
import { accountIdKey } from './search-attributes.js';
import { shownState } from './shown-state.js';
import { growingPauses } from './waits.js';

export type RegistrationState = 'waiting' | 'confirming' | 'confirmed' | 'expired' | 'discarded' | 'cancelled';
export type ConfirmedRegistration = Pick<ProvisionedRegistration, 'userId' | 'accountId' | 'applicationId'>;

/** The link was confirmed: returns what was created, or fails with `registration.link_invalid`. */
export const confirm = defineUpdate<ConfirmedRegistration>('confirm');
/** The address belongs to somebody by now, or its owner did not register: the row says so, and is read. */
export const discarded = defineSignal('discarded');
export const state = defineQuery<RegistrationState>('state');

const { queueVerificationEmail, queueReminderEmail, expireRegistration, cancelRegistration } =
  proxyActivities<RegistrationActivities>({
    startToCloseTimeout: '10s',
    retry: { initialInterval: '1s', maximumInterval: '30s' },
  });
// A person is waiting for this one. If it cannot be done within a minute, the link remains valid for another try.
const { provisionRegistration } = proxyActivities<RegistrationActivities>({
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '1m',
  retry: { initialInterval: '500ms', maximumInterval: '5s' },
});

/**
 * Waits for the owner of the address (spec, "Pending registration"): sends the link, reminds once, and ends with the
 * confirmation, the deadline, another registration that prevails, or an operator's cancel.
 */
export async function registrationVerification(input: RegistrationVerificationInput): Promise<RegistrationState> {
  const { pendingRegistrationId: id, expiresAt, reminderAt } = input;
  const shown = shownState<RegistrationState>('waiting', (current) => describe(current, input));
  const ended = () => !['waiting', 'confirming'].includes(shown.get());
  const end = (status: Exclude<RegistrationState, 'waiting' | 'confirming'> | 'pending') => {
    if (status !== 'pending' && !ended()) shown.set(status);
  };
  let doubted = false; // a confirmation was refused, so the row may have ended without this workflow
  let isSignalled = false; // the row has to be read: a signal came, or a confirmation had no answer
  let rivals: string[] = [];
  const pause = growingPauses();

  /** Reads the row, after any confirmation that began in time; its clock may be behind Temporal's. */
  const look = async () => {
    await condition(() => shown.get() !== 'confirming');
    if (!ended()) end(await expireRegistration(id));
  };
  /** Waits until a moment; returns whether the row may have ended before it. */
  const movedBefore = async (moment: string) => {
    for (;;) {
      const left = Math.max(1, Date.parse(moment) - Date.now());
      const moved = await condition(() => ended() || doubted || isSignalled, left);
      if (!isSignalled) return moved;
      isSignalled = false;
      await look();
    }
  };

  setHandler(state, shown.get);
  setHandler(
    discarded,
    () => {
      if (patched(rowDecides)) isSignalled = true;
      else end('discarded');
    },
    hasRowRead,
  );
  setHandler(
    confirm,
    async () => {
      shown.set('confirming'); // before the first await, so that the validator refuses a second call
      try {
        // Not cancellable: the outcome of a cancelled provisioning would be unknown.
        const done = await CancellationScope.nonCancellable(() => provisionRegistration(id));
        rivals = done.discardedIds;
        shown.set('confirmed');
        if (patched(foundByAccount)) upsertSearchAttributes([{ key: accountIdKey, value: done.accountId }]);
        return { userId: done.userId, accountId: done.accountId, applicationId: done.applicationId };
      } catch (error) {
        if (shown.get() === 'confirming') shown.set('waiting');
        const refusal = refusalOf(error);
        doubted = refusal.type === 'registration.link_invalid';
        if (refusal.type === outage && patched(readAfterOutage)) isSignalled = true; // it may have succeeded without an answer
        throw refusal;
      }
    },
    {
      ...createsAccount,
      validator: () => {
        if (shown.get() !== 'waiting') throw linkInvalid();
      },
    },
  );

  try {
    end(await queueVerificationEmail(id));
    if (reminderAt && Date.parse(reminderAt) > Date.now() && Date.parse(reminderAt) < Date.parse(expiresAt)) {
      if (!(await movedBefore(reminderAt))) end(await queueReminderEmail(id));
    }
    while (!ended()) {
      await movedBefore(expiresAt);
      doubted = false;
      await look();
      if (!ended()) await condition(ended, pause());
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(async () => {
      await condition(() => shown.get() !== 'confirming');
      if (!ended()) end(await cancelRegistration(id));
    });
    if (shown.get() === 'cancelled') throw error; // otherwise the cancel came too late
  }
  await CancellationScope.nonCancellable(async () => {
    await condition(allHandlersFinished);
    await notifyRivals(rivals);
  });
  return shown.get();
}

/** Ends the other registrations of the address now; one that misses the signal finds its row ended later. */
async function notifyRivals(ids: string[]): Promise<void> {
  await Promise.allSettled(ids.map((id) => getExternalWorkflowHandle(registrationId(id)).signal(discarded)));
}

const linkInvalid = () => ApplicationFailure.nonRetryable('The link is no longer valid', 'registration.link_invalid');

const outage = 'service.unavailable';

/** Returns a rule's refusal with its code; anything else is an outage that outlasted the retries. */
function refusalOf(error: unknown): ApplicationFailure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure && cause.nonRetryable
    ? ApplicationFailure.nonRetryable(cause.message, cause.type)
    : ApplicationFailure.nonRetryable('The registration could not be completed for now', outage);
}

function describe(current: RegistrationState, { pendingRegistrationId, expiresAt }: RegistrationVerificationInput) {
  const sentences: Record<RegistrationState, string> = {
    waiting: `Waits until ${expiresAt} for the link in the verification email to be confirmed. Cancelling discards the registration.`,
    confirming: 'The link was confirmed; the account is being created.',
    confirmed: 'The link was confirmed and the account created.',
    expired: `Nobody confirmed the link by ${expiresAt}; the personal data was deleted.`,
    discarded:
      'It was discarded: the address belongs to a user now, or its recipient did not register. The personal data was deleted.',
    cancelled: 'An operator cancelled it; the personal data was deleted.',
  };
  return `Registration ${pendingRegistrationId}: ${sentences[current]}`;
}
