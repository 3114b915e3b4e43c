import { createShares } from '../../platform/shares.js';
import { DomainError } from '../errors.js';

/**
 * Runs the work when its turn comes.
 * @param whose a key; keys take turns
 * @param isPatient whether it waits however long that takes
 * @throws DomainError service.unavailable if too much is waiting already, or its turn did not come in time
 */
export type Run = <T>(work: () => Promise<T>, whose?: string, options?: { isPatient: boolean }) => Promise<T>;

export interface Turns extends Run {
  /** Whether new work would be refused now: of anybody, or of this key. */
  isFull(whose?: string): boolean;
  /** How many pieces of work are running, and how many are waiting. */
  line(): Line;
}
export interface Line {
  running: number;
  waiting: number;
}

export interface TurnsOptions {
  /** How many may wait. */
  longest?: number;
  /** For one key: how many may run at once. A function gets how many turns are free. */
  mostOfEach?: number | ((free: number) => number);
  /** For one key: how many may wait. */
  longestOfEach?: number;
  /** Milliseconds that a piece of work may wait. */
  withinMs?: number;
  onRefused?(): void;
}

interface Waiting {
  isPatient: boolean;
  go(leave: () => void): void;
}

/**
 * Lets this many pieces of work run at once; the others wait. Keys take turns, and each key's work runs in the order in
 * which it came.
 */
export function createFairQueue(most: number, options: TurnsOptions = {}): Turns {
  const {
    longest = Number.POSITIVE_INFINITY,
    mostOfEach = most,
    longestOfEach = longest,
    withinMs,
    onRefused,
  } = options;
  const shares = createShares(most);
  /** Waiting work by key; the first key here is served next. */
  const lines = new Map<string, Waiting[]>();
  let [running, waiting] = [0, 0];
  /** How many of those waiting are patient; they are no reason to refuse others. */
  let patient = 0;

  const isLong = (whose: string) => (lines.get(whose) ?? []).filter((one) => !one.isPatient).length >= longestOfEach;
  const isFull = (whose?: string) =>
    (running >= most && waiting - patient >= longest) || (whose !== undefined && isLong(whose));
  const mayRun = (whose: string) =>
    running < most && !shares.isFull(whose, typeof mostOfEach === 'number' ? mostOfEach : mostOfEach(most - running));
  function refusal(): DomainError {
    onRefused?.();
    return new DomainError('service.unavailable', { retryAfter: 1 });
  }

  function enter(whose: string): () => void {
    running++;
    const leaveShare = shares.enter(whose);
    return () => {
      running--;
      leaveShare();
      while (callNext());
    };
  }

  /** Returns whether work began. One turn that ends may let several begin: each share depends on the free turns. */
  function callNext(): boolean {
    if (running >= most) return false;
    for (const [whose, line] of lines) {
      if (!mayRun(whose)) continue;
      const next = line.shift() as Waiting;
      lines.delete(whose);
      if (line.length > 0) lines.set(whose, line); // behind the others
      waiting--;
      if (next.isPatient) patient--;
      next.go(enter(whose));
      return true;
    }
    return false;
  }

  function stopWaiting(whose: string, one: Waiting): void {
    const left = (lines.get(whose) ?? []).filter((other) => other !== one);
    if (left.length > 0) lines.set(whose, left);
    else lines.delete(whose);
    waiting--;
  }

  function turnOf(whose: string, isPatient: boolean): Promise<() => void> {
    if (!isPatient && (waiting - patient >= longest || isLong(whose))) return Promise.reject(refusal());
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
          reject(refusal());
        }, withinMs);
      }
      lines.set(whose, [...(lines.get(whose) ?? []), one]);
      waiting++;
      if (isPatient) patient++;
    });
  }

  const take: Run = async (work, whose = '', { isPatient } = { isPatient: false }) => {
    const leave = mayRun(whose) ? enter(whose) : await turnOf(whose, isPatient);
    try {
      return await work();
    } finally {
      leave();
    }
  };
  return Object.assign(take, { isFull, line: () => ({ running, waiting }) });
}
