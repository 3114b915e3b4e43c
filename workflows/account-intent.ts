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
import type { AccountIntentActivities, ProvisionedIntent } from '../activities/account-intents.js';
import { createsAccount, hasRowRead } from './by-hand.js';
import { rowDecides } from './changes.js';
import { accountIntentId } from './ids.js';
import type { AccountIntentInput } from './inputs.js';
import { accountIdKey } from './search-attributes.js';
import { shownState } from './shown-state.js';
import { growingPauses } from './waits.js';

export type IntentState = 'parked' | 'claimed' | 'consumed' | 'discarded' | 'expired' | 'cancelled' | 'failed';

/** The owner wants the Account: claims the intent, and returns what was created. The argument names the request. */
export const resume = defineUpdate<ProvisionedIntent, [claimId: string]>('resume');
/** The owner does not want the Account any more, as the row says: the workflow reads the row. */
export const discard = defineSignal('discard');
export const state = defineQuery<IntentState>('state');

const quick = {
  startToCloseTimeout: '5s', // a person waits ten seconds: enough for another worker to take over from a dead one
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
} as const;
const { announceIntent, failIntent, expireIntent, cancelIntent } = proxyActivities<AccountIntentActivities>(quick);
// Nobody waits longer for a claim: then the intent stays parked for another try, and a cancel can take effect.
const { claimIntent } = proxyActivities<AccountIntentActivities>({ ...quick, scheduleToCloseTimeout: '1m' });
// A claim promises an Account: it is retried through outages of up to half a day, and only then fails visibly.
const { provisionIntent } = proxyActivities<AccountIntentActivities>({ ...quick, scheduleToCloseTimeout: '12h' });

/**
 * Waits until the user returns for an Account whose names are parked (spec, "Parked account-creation intent"). It may
 * be started again at any time: the row says how far it has come.
 */
export async function accountIntent(input: AccountIntentInput): Promise<IntentState> {
  const { intentId, expiresAt } = input;
  const shown = shownState<IntentState>('parked', (current) => describe(current, input));
  const ended = () => !['parked', 'claimed'].includes(shown.get());
  let isResuming = false;
  let isStale = false; // the row may have changed without this workflow, and has to be read
  let rivals: string[] = [];
  let failure: string | null = null;
  const pause = growingPauses();

  /** Creates a claimed row's Account, or ends the row with the reason. Not cancellable: half an Account is useless. */
  const provision = () =>
    CancellationScope.nonCancellable(async (): Promise<ProvisionedIntent> => {
      shown.set('claimed');
      let made: ProvisionedIntent | null;
      try {
        made = await provisionIntent(intentId);
      } catch (error) {
        failure = reasonOf(error);
        made = await failIntent(intentId, failure);
      }
      shown.set(made ? 'consumed' : 'failed');
      if (!made) throw ApplicationFailure.nonRetryable('The account could not be created', failure ?? outage);
      upsertSearchAttributes([{ key: accountIdKey, value: made.accountId }]);
      return made;
    });

  setHandler(state, shown.get);
  setHandler(
    discard,
    () => {
      if (patched(rowDecides)) isStale = true;
      else if (shown.get() === 'parked' && !isResuming) shown.set('discarded');
    },
    hasRowRead,
  );
  setHandler(
    resume,
    async (claimId: string) => {
      isResuming = true; // before the first await, so that the validator refuses a second call
      try {
        const claim = await CancellationScope.nonCancellable(() => claimIntent(intentId, claimId)).catch((error) => {
          isStale = reasonOf(error) === outage; // the claim may have succeeded without an answer
          throw ApplicationFailure.nonRetryable('The wish could not be claimed', reasonOf(error));
        });
        isStale = !claim.mine;
        if (!claim.mine) throw notFound();
        rivals = claim.discardedIds;
        return await provision();
      } finally {
        isResuming = false;
      }
    },
    {
      ...createsAccount,
      validator: (claimId?: unknown) => {
        if (isResuming || shown.get() !== 'parked') throw notFound();
        // An update sent by hand may have any argument, and the row only accepts a UUID.
        if (!isClaimId(claimId)) throw ApplicationFailure.nonRetryable('Not the id of a request', 'invalid_argument');
      },
    },
  );

  try {
    let row: IntentState = await announceIntent(intentId);
    for (;;) {
      await condition(() => !isResuming);
      if (ended()) break;
      // An earlier run has claimed the row, or support has for another try.
      if (row === 'claimed') await provision().catch(() => undefined);
      else if (row !== 'parked') shown.set(row);
      if (ended()) break;
      const moved = () => isResuming || isStale || ended();
      const left = Date.parse(expiresAt) - Date.now();
      await condition(moved, left > 0 ? left : pause());
      await condition(() => !isResuming);
      isStale = false;
      if (!ended()) row = await expireIntent(intentId); // the row decides, by a clock that may be behind Temporal's
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(async () => {
      await condition(() => !isResuming);
      if (ended()) return;
      const row = await cancelIntent(intentId);
      if (row === 'claimed') await provision().catch(() => undefined);
      else shown.set(row);
    });
    if (shown.get() === 'cancelled') throw error; // otherwise the cancel came too late
  }
  await CancellationScope.nonCancellable(async () => {
    await condition(allHandlersFinished);
    await notifyRivals(rivals);
  });
  // A failed workflow can be found in the Temporal UI, and may be started again.
  if (shown.get() === 'failed')
    throw ApplicationFailure.nonRetryable('The account could not be created', failure ?? outage);
  return shown.get();
}

/** Ends the workflows of the user's older intents now; one that misses the signal finds its row ended later. */
async function notifyRivals(ids: string[]): Promise<void> {
  await Promise.allSettled(ids.map((id) => getExternalWorkflowHandle(accountIntentId(id)).signal(discard)));
}

const outage = 'service.unavailable';
const notFound = () => ApplicationFailure.nonRetryable('Nothing is parked here', 'account_intent.not_found');

// Null is refused: it would match a row that nobody has claimed.
const isClaimId = (id: unknown) => id === undefined || (typeof id === 'string' && uuid.test(id));
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns the code of a rule's refusal; anything else is an outage that outlasted the retries. */
function reasonOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return (cause instanceof ApplicationFailure && cause.nonRetryable && cause.type) || outage;
}

function describe(current: IntentState, { intentId, expiresAt }: AccountIntentInput): string {
  const sentences: Record<IntentState, string> = {
    parked: `Waits until ${expiresAt} for its owner to sign in and resume it. Cancelling discards the request.`,
    claimed: 'Its owner has resumed it; the account is being created. It is too late to cancel.',
    consumed: 'The account was created.',
    discarded: 'Its owner no longer wants it, or has resumed a newer request.',
    expired: `Nobody resumed it by ${expiresAt}.`,
    cancelled: 'An operator cancelled it; nothing was created.',
    failed: 'The account could not be created; the reason is in the row, and its owner was told. Support can retry it.',
  };
  return `Account intent ${intentId}: ${sentences[current]}`;
}
