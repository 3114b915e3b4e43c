/** By more than this the clocks of two machines hardly differ. */
const clocksDifferMs = 60_000;
const askAgainMs = 5 * 60_000;

/**
 * Milliseconds until a moment that a row names. Whoever said that it is not there yet also says how long that is by their clock: by
 * Temporal's it may have passed, and the row would be asked again and again until the clocks agree. But where no worker was there to hear
 * it, that long has begun to pass already: where by Temporal's clock the moment is sooner by more than clocks differ, the row is asked then, or soon.
 * @param waitMs of workers of a release before there is none
 */
export const msUntil = (at: string, waitMs: number | undefined): number => {
  const left = Date.parse(at) - Date.now();
  if (waitMs === undefined) return left;
  return waitMs - left > clocksDifferMs ? Math.min(waitMs, Math.max(left, askAgainMs)) : waitMs;
};

/** Pauses before a row is asked again that does not say how long: a second, two, four, and so on up to a minute. */
export function growingPauses(): () => number {
  let next = 1_000;
  return () => {
    const now = next;
    next = Math.min(2 * next, 60_000);
    return now;
  };
}
