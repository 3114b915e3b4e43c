import { setImmediate } from 'node:timers/promises';

export interface Pacing {
  /** How many milliseconds the pieces have taken together. */
  spent(): number;
  /** Does a piece of work; other work has its turn once the pieces since the last turn have taken long enough. */
  piece<T>(work: () => T): Promise<T>;
}

/**
 * Splits much work on the main thread into pieces.
 * @param turnMs after how many milliseconds other work has its turn
 */
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
