import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { DomainLook, SsoDomainActivities } from '../activities/sso-domains.js';
import type { Waiting } from '../activities/waiting.js';
import { checksDomain, hasRowRead } from './by-hand.js';
import type { SsoDomainVerificationInput } from './inputs.js';
import { shownState } from './shown-state.js';
import { msUntil } from './waits.js';

interface SoFar {
  /** How far the previous run had come. */
  soFar?: Waiting<DomainLook>;
}
export type SsoDomainState = DomainLook['status'];

/** The claim was given up, or ended by support, as the row says: it is read again. */
export const released = defineSignal('released');
/** A failed claim is to be checked again. */
export const claimedAgain = defineSignal('claimedAgain');
/**
 * Has DNS queried now, and returns the state of the claim after that. The argument is the end that the claim had when a
 * person asked for it: only a check that is asked for after an end can undo it.
 */
export const checkNow = defineUpdate<DomainLook, [endedAt?: string | null]>('checkNow');
export const state = defineQuery<SsoDomainState>('state');

const { readDomain, checkDomain, cancelDomain } = proxyActivities<SsoDomainActivities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

/**
 * Looks for the record of a claimed domain until it exists, and then regularly whether it still does. The row has the
 * state and the time of the next look, so the workflow may be started again at any time.
 */
export async function ssoDomainVerification(input: SsoDomainVerificationInput & SoFar): Promise<SsoDomainState> {
  const { claimId, looksPerHistory = 20, soFar } = input;
  let look: Waiting<DomainLook> = soFar ?? { status: 'pending', nextCheckAt: null };
  let isStale = soFar === undefined; // the row has to be read first
  let isNew = false; // the look was made for an update
  let looks = 0;
  const shown = shownState<SsoDomainState>(look.status, (current) => describe(current, input, look));
  const follow = (next: Waiting<DomainLook>) => {
    look = next;
    shown.set(next.status);
    shown.refresh();
  };
  const check = async (endedAt: string | null = null) => {
    looks += 1;
    follow(await checkDomain(claimId, endedAt));
    return look;
  };
  setHandler(state, shown.get);
  for (const fact of [released, claimedAgain]) {
    setHandler(
      fact,
      () => {
        isStale = true;
      },
      hasRowRead,
    );
  }
  setHandler(
    checkNow,
    async (endedAt) => {
      const answer = await check(endedAt);
      isNew = true;
      return answer;
    },
    checksDomain,
  );

  try {
    for (;;) {
      if (isStale) {
        isStale = false;
        follow(await readDomain(claimId));
      }
      isNew = false;
      if (look.nextCheckAt === null) {
        await condition(allHandlersFinished); // an update may have asked for a look meanwhile
        if (isStale || look.nextCheckAt !== null) continue;
        break;
      }
      if (looks >= looksPerHistory || workflowInfo().continueAsNewSuggested) {
        await condition(allHandlersFinished);
        if (isStale || look.nextCheckAt === null) continue;
        return await continueAsNew<typeof ssoDomainVerification>({ ...input, soFar: look });
      }
      const waitMs = Math.max(1, msUntil(look.nextCheckAt, look.waitMs));
      const isWoken = await condition(() => isStale || isNew, waitMs);
      if (!isWoken) await check();
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(async () => {
      follow(await cancelDomain(claimId));
      await condition(allHandlersFinished); // updates that asked for a look fail
    });
    if (look.status === 'failed') throw error; // otherwise the claim had ended before
  }
  return shown.get();
}

function describe(current: SsoDomainState, { claimId }: SsoDomainVerificationInput, { nextCheckAt }: DomainLook) {
  const next = nextCheckAt ? ` The next look is at ${nextCheckAt}.` : '';
  const sentences: Record<SsoDomainState, string> = {
    pending: `Its record has not been found in DNS yet.${next} Cancelling ends the claim as failed.`,
    verified: `Its record is there.${next} Cancelling ends the claim as failed, and the domain is no longer verified.`,
    lapsed: `Its record was there and is now missing.${next} Cancelling ends the claim as failed.`,
    failed:
      'It has failed; the reason is in the row. Verifying the domain in the Portal, or by the API, checks once more.',
    released: 'It was given up.',
  };
  return `Claim ${claimId} of a domain: ${sentences[current]}`;
}
