import { minutes, seconds } from '../../platform/clock.js';
import { createShares } from '../../platform/shares.js';

export interface AdmissionLimits {
  /** Concurrent calls of one receiver: initially, and at most, after it has answered quickly again and again. */
  first: number;
  max: number;
  /** Concurrent calls of all receivers of an Account, half of what a worker makes at once. */
  ofAccount: number;
  /** Concurrent calls of all slow receivers, and of the slow receivers of one Account. */
  slowTogether: number;
  slowOfAccount: number;
  /** A receiver is slow if it takes longer than this, in milliseconds, whether or not it answers. */
  slowAfterMs: number;
  /** Bounds of the wait of a refused call, in milliseconds. */
  minWaitMs: number;
  maxWaitMs: number;
}

export const admissionLimits: AdmissionLimits = {
  first: 4,
  max: 16,
  ofAccount: 200,
  slowTogether: 100,
  slowOfAccount: 50,
  slowAfterMs: seconds(2),
  minWaitMs: 250,
  maxWaitMs: minutes(15),
};

/** Calls that share a limit on how many run at once. */
interface CallGroup {
  /** The usual duration of a call, in milliseconds; an average weighted towards the latest calls. */
  usualMs: number;
  /** Until when refused calls have booked every free place, in milliseconds of the clock. */
  bookedUntil: number;
}
interface Receiver extends CallGroup {
  running: number;
  atOnce: number;
  isSlow: boolean;
}

export type Entry =
  | {
      admitted: true;
      /** @param answered whether the receiver answered; null if it was not called, so that nothing is learned */
      leave(answered: boolean | null): void;
    }
  | { admitted: false; waitMs: number };

export type Admission = ReturnType<typeof createAdmission>;

/**
 * Decides in a worker which receivers may be called now, so that no receiver occupies the worker alone. A receiver that
 * answers quickly gets more and more concurrent calls; a slow or dead one gets one, and all slow ones share a part of
 * the worker. A refused call waits in its workflow, not here, and learns when to try again: a receiver that is
 * down with ten thousand deliveries costs one call and few requests for admission. This state need not outlive the
 * process.
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
  /** Per Account: the calls of all its receivers, and those of its slow ones. */
  const groups = new Map<string, CallGroup>();
  let slowRunning = 0;

  function receiverOf(id: string): Receiver {
    const known = receivers.get(id);
    if (known) return known;
    forgetSome();
    const receiver = { running: 0, atOnce: limits.first, isSlow: false, usualMs: 100, bookedUntil: 0 };
    receivers.set(id, receiver);
    return receiver;
  }

  /**
   * Forgets idle receivers, those known longest first. A forgotten one starts with the defaults, which costs little.
   */
  function forgetSome(): void {
    if (receivers.size < maxKnown) return;
    for (const [id, { running }] of receivers) {
      if (running > 0) continue;
      receivers.delete(id);
      if (receivers.size < maxKnown / 2) return;
    }
  }

  /** An unknown group is assumed to be slow: calls of a thousand new receivers that hang do not ask again and again. */
  function groupOf(key: string): CallGroup {
    const known = groups.get(key);
    if (known) return known;
    if (groups.size >= maxKnown)
      for (const [other, { bookedUntil }] of groups) if (bookedUntil <= nowMs()) groups.delete(other);
    const group = { usualMs: limits.slowAfterMs, bookedUntil: 0 };
    groups.set(key, group);
    return group;
  }

  /**
   * Books the next free place and returns the wait until then.
   * @param places how many calls of the group run at once
   */
  function bookCall(group: CallGroup, places: number): number {
    const now = nowMs();
    group.bookedUntil = Math.max(now, group.bookedUntil) + group.usualMs / places;
    const waitMs = Math.max(group.bookedUntil - now, limits.minWaitMs);
    if (waitMs < limits.maxWaitMs) return Math.ceil(waitMs);
    group.bookedUntil = now + limits.maxWaitMs; // otherwise the first call after a rush would wait behind all of it
    return Math.ceil(limits.maxWaitMs * (0.8 + 0.2 * Math.random()));
  }

  const learn = (group: CallGroup, tookMs: number) => {
    group.usualMs = 0.7 * group.usualMs + 0.3 * tookMs;
  };

  return {
    /**
     * Requests a call of a receiver. An admitted caller calls `leave` afterwards.
     * @param id of the subscription
     * @param accountId the Account whose share of the worker is used: a thousand new receivers may hang before any of
     *   them is known to be slow
     */
    enter(id: string, accountId = id): Entry {
      const receiver = receiverOf(id);
      const [all, slow] = [accountId, `${accountId} slow`];
      const isSlowFull = slowRunning >= limits.slowTogether || slowShares.isFull(accountId);
      const waits = [
        ...(receiver.running >= receiver.atOnce ? [bookCall(receiver, receiver.atOnce)] : []),
        ...(shares.isFull(accountId) ? [bookCall(groupOf(all), limits.ofAccount)] : []),
        ...(receiver.isSlow && isSlowFull ? [bookCall(groupOf(slow), limits.slowOfAccount)] : []),
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
            const group = groups.get(key); // none if no call has had to wait
            if (group) learn(group, tookMs);
          }
          const wasSlow = receiver.isSlow;
          receiver.isSlow = tookMs > limits.slowAfterMs; // only duration counts: a refused connection costs nothing
          if (receiver.isSlow) receiver.atOnce = 1;
          else if (answered) receiver.atOnce = Math.min(limits.max, receiver.atOnce + 1);
          if (wasSlow && !receiver.isSlow) receiver.bookedUntil = 0; // new calls need not wait behind old bookings
        },
      };
    },
  };
}

const maxKnown = 10_000;
