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

/** Its owner wants the Account: claims, provisions and answers what was created. The argument names the request. */
export const resume = defineUpdate<ProvisionedIntent, [claimId: string]>('resume');
/** Its owner does not want it any more, as the row says: it is looked at. */
export const discard = defineSignal('discard');
export const state = defineQuery<IntentState>('state');

const quick = {
  startToCloseTimeout: '5s', // a person waits ten: long enough for another worker to take over from a dead one
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
} as const;
const { announceIntent, failIntent, expireIntent, cancelIntent } = proxyActivities<AccountIntentActivities>(quick);
// Nobody waits longer for this one: the wish stays parked for another try, and a cancel is heard again.
const { claimIntent } = proxyActivities<AccountIntentActivities>({ ...quick, scheduleToCloseTimeout: '1m' });
// A claim is a promise: it is kept through outages of half a day, and only then given up visibly.
const { provisionIntent } = proxyActivities<AccountIntentActivities>({ ...quick, scheduleToCloseTimeout: '12h' });

/**
 * Waits for the user to come back for an Account whose names are parked (spec, "Parked account-creation intent"). It may
 * start anew at any time: the row says how far it had come.
 */
export async function accountIntent(input: AccountIntentInput): Promise<IntentState> {
  const { intentId, expiresAt } = input;
  const shown = shownState<IntentState>('parked', (current) => describe(current, input));
  const ended = () => !['parked', 'claimed'].includes(shown.get());
  let busy = false; // a resume is at work
  let doubted = false; // a refused resume means that the row may have moved without us
  let rivals: string[] = [];
  let failure: string | null = null;
  const pause = growingPauses();

  /** Makes the Account of the claimed row, or ends it with the reason. Never cut short: half an Account helps nobody. */
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
      if (patched(rowDecides)) doubted = true;
      else if (shown.get() === 'parked' && !busy) shown.set('discarded');
    },
    hasRowRead,
  );
  setHandler(
    resume,
    async (claimId: string) => {
      busy = true; // before the first await: a second call meets the validator
      try {
        const claim = await CancellationScope.nonCancellable(() => claimIntent(intentId, claimId)).catch((error) => {
          doubted = reasonOf(error) === outage; // it may have been claimed without a word of it
          throw ApplicationFailure.nonRetryable('The wish could not be claimed', reasonOf(error));
        });
        doubted = !claim.mine;
        if (!claim.mine) throw notFound();
        rivals = claim.discardedIds;
        return await provision();
      } finally {
        busy = false;
      }
    },
    {
      ...createsAccount,
      validator: (claimId?: unknown) => {
        if (busy || shown.get() !== 'parked') throw notFound();
        // One sent by hand may say anything, and the row takes nothing else.
        if (!isClaimId(claimId)) throw ApplicationFailure.nonRetryable('Not the id of a request', 'invalid_argument');
      },
    },
  );

  try {
    let row: IntentState = await announceIntent(intentId);
    for (;;) {
      await condition(() => !busy);
      if (ended()) break;
      // Claimed by a run before this one, or for another try by support.
      if (row === 'claimed') await provision().catch(() => undefined);
      else if (row !== 'parked') shown.set(row);
      if (ended()) break;
      const moved = () => busy || doubted || ended();
      const left = Date.parse(expiresAt) - Date.now();
      await condition(moved, left > 0 ? left : pause());
      await condition(() => !busy);
      doubted = false;
      if (!ended()) row = await expireIntent(intentId); // the row decides; its clock may be behind ours
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(async () => {
      await condition(() => !busy);
      if (ended()) return;
      const row = await cancelIntent(intentId);
      if (row === 'claimed') await provision().catch(() => undefined);
      else shown.set(row);
    });
    if (shown.get() === 'cancelled') throw error; // anything else came first, and the cancel too late
  }
  await CancellationScope.nonCancellable(async () => {
    await condition(allHandlersFinished);
    await tellRivals(rivals);
  });
  // A failed execution is found in the Temporal UI, and may be started again.
  if (shown.get() === 'failed')
    throw ApplicationFailure.nonRetryable('The account could not be created', failure ?? outage);
  return shown.get();
}

/** Ends the waiting of the user's older wishes now; one that misses this finds its row ended later. */
async function tellRivals(ids: string[]): Promise<void> {
  await Promise.allSettled(ids.map((id) => getExternalWorkflowHandle(accountIntentId(id)).signal(discard)));
}

const outage = 'service.unavailable';
const notFound = () => ApplicationFailure.nonRetryable('Nothing is parked here', 'account_intent.not_found');

// Null would be the claim of a row that nobody has claimed.
const isClaimId = (id: unknown) => id === undefined || (typeof id === 'string' && uuid.test(id));
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A rule's refusal keeps its code; anything else is an outage that outlasted the retries. */
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
