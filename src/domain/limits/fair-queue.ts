import { createShares } from '../../platform/shares.js';
import { DomainError } from '../errors.js';

/**
 * Runs the work when its turn comes.
 * @param whose a key; keys take turns
 * @param isPatient whether it waits however long that takes
 * @throws DomainError service.unavailable if too much is waiting already, or its turn did not come in time
 */
export type Run = <T>(work: () => Promise<T>, whose?: string, options?: { isPatient: boolean }) => Promise<T>;

export interface FairQueue extends Run {
  /** Whether new work would be refused now: of anybody, or of this key. */
  isFull(whose?: string): boolean;
  /**
   * How many pieces of work are running, and how many are waiting.
   * @param maxOfEach how many waiting ones of one key are counted; by default all
   */
  load(maxOfEach?: number): QueueLoad;
}
export interface QueueLoad {
  running: number;
  waiting: number;
}

export interface FairQueueOptions {
  /** How many may wait. */
  maxQueued?: number;
  /** For one key: how many may run at once. A function gets how many turns are free. */
  maxRunningOfEach?: number | ((free: number) => number);
  /** For one key: how many may wait. */
  maxQueuedOfEach?: number;
  /** Milliseconds that a piece of work may wait. */
  withinMs?: number;
  onRefused?(): void;
  /** The error for work that is refused, instead of the plain one. */
  refusal?(): DomainError;
}

interface Waiting {
  isPatient: boolean;
  go(leave: () => void): void;
}

/**
 * Lets this many pieces of work run at once; the others wait. Keys take turns, and each key's work runs in the order in
 * which it came.
 */
export function createFairQueue(maxRunning: number, options: FairQueueOptions = {}): FairQueue {
  const {
    maxQueued = Number.POSITIVE_INFINITY,
    maxRunningOfEach = maxRunning,
    maxQueuedOfEach = maxQueued,
    withinMs,
    onRefused,
    refusal = () => new DomainError('service.unavailable', { retryAfter: 1 }),
  } = options;
  const shares = createShares(maxRunning);
  /** Waiting work by key; the first key here is served next. */
  const queues = new Map<string, Waiting[]>();
  let [running, waiting] = [0, 0];
  /** How many of those waiting are patient; they are no reason to refuse others. */
  let patient = 0;

  const isLong = (whose: string) => (queues.get(whose) ?? []).filter((one) => !one.isPatient).length >= maxQueuedOfEach;
  const isFull = (whose?: string) =>
    (running >= maxRunning && waiting - patient >= maxQueued) || (whose !== undefined && isLong(whose));
  const mayRun = (whose: string) =>
    running < maxRunning &&
    !shares.isFull(
      whose,
      typeof maxRunningOfEach === 'number' ? maxRunningOfEach : maxRunningOfEach(maxRunning - running),
    );
  function refused(): DomainError {
    onRefused?.();
    return refusal();
  }

  function enter(whose: string): () => void {
    running++;
    const leaveShare = shares.enter(whose);
    return () => {
      running--;
      leaveShare();
      while (startNext());
    };
  }

  /** Returns whether work began. One turn that ends may let several begin: each share depends on the free turns. */
  function startNext(): boolean {
    if (running >= maxRunning) return false;
    for (const [whose, queue] of queues) {
      if (!mayRun(whose)) continue;
      const next = queue.shift() as Waiting;
      queues.delete(whose);
      if (queue.length > 0) queues.set(whose, queue); // behind the others
      waiting--;
      if (next.isPatient) patient--;
      next.go(enter(whose));
      return true;
    }
    return false;
  }

  function stopWaiting(whose: string, one: Waiting): void {
    const left = (queues.get(whose) ?? []).filter((other) => other !== one);
    if (left.length > 0) queues.set(whose, left);
    else queues.delete(whose);
    waiting--;
  }

  function wait(whose: string, isPatient: boolean): Promise<() => void> {
    if (!isPatient && (waiting - patient >= maxQueued || isLong(whose))) return Promise.reject(refused());
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const one: Waiting = {
        isPatient,
        go(leave) {
          clearTimeout(timer);
          resolve(leave);
        },
      };
      if (withinMs !== undefined && !isPatient) {
        timer = setTimeout(() => {
          stopWaiting(whose, one);
          reject(refused());
        }, withinMs);
      }
      queues.set(whose, [...(queues.get(whose) ?? []), one]);
      waiting++;
      if (isPatient) patient++;
    });
  }

  const take: Run = async (work, whose = '', { isPatient } = { isPatient: false }) => {
    const leave = mayRun(whose) ? enter(whose) : await wait(whose, isPatient);
    try {
      return await work();
    } finally {
      leave();
    }
  };
  const waitingOf = (maxOfEach: number) =>
    [...queues.values()].reduce((sum, { length }) => sum + Math.min(length, maxOfEach), 0);
  const load = (maxOfEach?: number) => ({ running, waiting: maxOfEach === undefined ? waiting : waitingOf(maxOfEach) });
  return Object.assign(take, { isFull, load });
}
