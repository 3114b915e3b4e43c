/** The clocks of two machines hardly differ by more than this. */
const clocksDifferMs = 60_000;
const askAgainMs = 5 * 60_000;

/**
 * Returns the milliseconds until a moment that a row names. The worker that read the row also says how long that is by
 * its own clock: by Temporal's the moment may have passed, and the row would be read again and again until the clocks
 * agree. But if no worker was there to receive that answer, a part of `waitMs` has passed already: if by Temporal's
 * clock the moment is sooner by more than clocks differ, the row is read then, or soon.
 * @param waitMs undefined from workers of an earlier release
 */
export const msUntil = (at: string, waitMs: number | undefined): number => {
  const left = Date.parse(at) - Date.now();
  if (waitMs === undefined) return left;
  return waitMs - left > clocksDifferMs ? Math.min(waitMs, Math.max(left, askAgainMs)) : waitMs;
};

/** Returns pauses for reading a row again that does not name a time: a second, two, four, and so on up to a minute. */
export function growingPauses(): () => number {
  let next = 1_000;
  return () => {
    const now = next;
    next = Math.min(2 * next, 60_000);
    return now;
  };
}
