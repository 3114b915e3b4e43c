import { setImmediate } from 'node:timers/promises';

export interface Pacing {
  /** Milliseconds that the pieces have taken together. */
  spent(): number;
  /** Does a piece of work, and lets everybody else have their turn once the pieces since the last one were long enough. */
  piece<T>(work: () => T): Promise<T>;
}

/** Much work on the main thread, in pieces. @param turnMs after how many milliseconds of it others have theirs */
export function createPacing(turnMs = 10): Pacing {
  let [spent, sinceTurn] = [0, 0];
  return {
    spent: () => spent,
    async piece(work) {
      const began = performance.now();
      const done = work();
      const took = performance.now() - began;
      spent += took;
      sinceTurn += took;
      if (sinceTurn >= turnMs) {
        sinceTurn = 0;
        await setImmediate();
      }
      return done;
    },
  };
}
