import { minutes, seconds } from '../../platform/clock.js';
import { createShares } from '../../platform/shares.js';

export interface AdmissionLimits {
  /** Calls of one receiver at once: to begin with, and of one that has answered quickly again and again. */
  first: number;
  most: number;
  /** Calls of all receivers of an Account together, half of what a worker makes at once. */
  ofAccount: number;
  /** Calls of all slow receivers together, and of those of one Account. */
  slowTogether: number;
  slowOfAccount: number;
  /** An answer that takes longer, in milliseconds, or none, makes a receiver a slow one. */
  slowAfterMs: number;
  /** Bounds of what a refused call is told to wait, in milliseconds. */
  shortestWaitMs: number;
  longestWaitMs: number;
}

export const admissionLimits: AdmissionLimits = {
  first: 4,
  most: 16,
  ofAccount: 200,
  slowTogether: 100,
  slowOfAccount: 50,
  slowAfterMs: seconds(2),
  shortestWaitMs: 250,
  longestWaitMs: minutes(15),
};

/** Calls that take turns. */
interface Crowd {
  /** What one takes, in milliseconds, the latest ones above all. */
  usualMs: number;
  /** Up to when the turns of those are given away that were told to wait, in milliseconds of the clock. */
  givenUntil: number;
}
interface Receiver extends Crowd {
  running: number;
  atOnce: number;
  isSlow: boolean;
}

export type Entry =
  | {
      admitted: true;
      /** @param answered whether the receiver did; null where it was not called after all, of which nothing is learned */
      leave(answered: boolean | null): void;
    }
  | { admitted: false; waitMs: number };

export type Admission = ReturnType<typeof createAdmission>;

/**
 * Says in a worker which receivers may be called now, so that none of them takes the worker from the others. One that
 * answers quickly may be called more and more at a time; a slow or dead one only once, and all of those together have a
 * part of the worker. What has to wait, waits in its workflow and not in here, and is told when its turn may come: so a
 * receiver that is down with ten thousand deliveries costs one call and few questions. Nothing of it has to outlive the process.
 */
export function createAdmission({
  limits = admissionLimits,
  nowMs = () => performance.now(),
}: {
  limits?: AdmissionLimits;
  nowMs?: () => number;
} = {}) {
  const receivers = new Map<string, Receiver>();
  const shares = createShares(limits.ofAccount);
  const slowShares = createShares(limits.slowOfAccount);
  /** Of Accounts: those of all their receivers, and of the slow ones. */
  const crowds = new Map<string, Crowd>();
  let slowRunning = 0;

  function receiverOf(id: string): Receiver {
    const known = receivers.get(id);
    if (known) return known;
    forgetSome();
    const receiver = { running: 0, atOnce: limits.first, isSlow: false, usualMs: 100, givenUntil: 0 };
    receivers.set(id, receiver);
    return receiver;
  }

  /** A stranger begins anew, which costs little. Those known longest come first. */
  function forgetSome(): void {
    if (receivers.size < knownAtMost) return;
    for (const [id, { running }] of receivers) {
      if (running > 0) continue;
      receivers.delete(id);
      if (receivers.size < knownAtMost / 2) return;
    }
  }

  /** What is not known yet is taken to be slow: a thousand new receivers that hang are not asked about again and again. */
  function crowdOf(key: string): Crowd {
    const known = crowds.get(key);
    if (known) return known;
    if (crowds.size >= knownAtMost)
      for (const [other, { givenUntil }] of crowds) if (givenUntil <= nowMs()) crowds.delete(other);
    const crowd = { usualMs: limits.slowAfterMs, givenUntil: 0 };
    crowds.set(key, crowd);
    return crowd;
  }

  /** @param places how many calls of the crowd run at once */
  function turnIn(crowd: Crowd, places: number): number {
    const now = nowMs();
    crowd.givenUntil = Math.max(now, crowd.givenUntil) + crowd.usualMs / places;
    const waitMs = Math.max(crowd.givenUntil - now, limits.shortestWaitMs);
    if (waitMs < limits.longestWaitMs) return Math.ceil(waitMs);
    crowd.givenUntil = now + limits.longestWaitMs; // or the first of an ended crowd would wait behind it
    return Math.ceil(limits.longestWaitMs * (0.8 + 0.2 * Math.random()));
  }

  const learn = (crowd: Crowd, tookMs: number) => {
    crowd.usualMs = 0.7 * crowd.usualMs + 0.3 * tookMs;
  };

  return {
    /**
     * Asks for a call of a receiver. Whoever was admitted leaves when it is over.
     * @param id of the subscription
     * @param accountId whose share of the worker it is: a thousand new receivers that take their time are no slow ones yet
     */
    enter(id: string, accountId = id): Entry {
      const receiver = receiverOf(id);
      const [all, slow] = [accountId, `${accountId} slow`];
      const isSlowFull = slowRunning >= limits.slowTogether || slowShares.isFull(accountId);
      const waits = [
        ...(receiver.running >= receiver.atOnce ? [turnIn(receiver, receiver.atOnce)] : []),
        ...(shares.isFull(accountId) ? [turnIn(crowdOf(all), limits.ofAccount)] : []),
        ...(receiver.isSlow && isSlowFull ? [turnIn(crowdOf(slow), limits.slowOfAccount)] : []),
      ];
      if (waits.length > 0) return { admitted: false, waitMs: Math.max(...waits) };
      const begun = nowMs();
      const countsAsSlow = receiver.isSlow;
      receiver.running++;
      const leaveShare = shares.enter(accountId);
      const leaveSlow = countsAsSlow ? slowShares.enter(accountId) : () => {};
      if (countsAsSlow) slowRunning++;
      return {
        admitted: true,
        leave(answered) {
          receiver.running--;
          leaveShare();
          leaveSlow();
          if (countsAsSlow) slowRunning--;
          if (answered === null) return;
          const tookMs = nowMs() - begun;
          learn(receiver, tookMs);
          for (const key of countsAsSlow ? [all, slow] : [all]) {
            const crowd = crowds.get(key); // none where nobody has had to wait
            if (crowd) learn(crowd, tookMs);
          }
          const wasSlow = receiver.isSlow;
          receiver.isSlow = tookMs > limits.slowAfterMs; // only time does: a refused connection costs nothing
          if (receiver.isSlow) receiver.atOnce = 1;
          else if (answered) receiver.atOnce = Math.min(limits.most, receiver.atOnce + 1);
          if (wasSlow && !receiver.isSlow) receiver.givenUntil = 0; // newcomers need not wait as long as the crowd
        },
      };
    },
  };
}

const knownAtMost = 10_000;
