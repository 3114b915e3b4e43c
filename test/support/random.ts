/** Returns a generator of numbers from 0 to below 1, the same for one seed on every machine (mulberry32). */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    /** Returns a whole number from 0 to below the limit. */
    below,
    /** Returns a whole number, both bounds included. */
    between: (least: number, most: number): number => least + below(most - least + 1),
    of: <T>(all: readonly T[]): T => all[below(all.length)] as T,
  };
}

export type Random = ReturnType<typeof createRandom>;

/** Returns one of the latest, mostly one that is alive. */
export function aLateOne<T extends { isAlive: boolean }>(random: Random, all: readonly T[]): T | undefined {
  const alive = all.filter(({ isAlive }) => isAlive);
  return random.of((alive.length > 0 && random.below(4) > 0 ? alive : all).slice(-4));
}
