const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The written form of a duration: a whole number and a unit, as `30s`, `24h`, `7d`. */
export const durationPattern = '^[0-9]{1,9}(ms|s|m|h|d)$';

/** Milliseconds of a written duration; throws a RangeError for any other text. */
export function parseDuration(text: string): number {
  const match = /^([0-9]{1,9})(ms|s|m|h|d)$/.exec(text);
  if (!match) throw new RangeError(`not a duration: ${text}`);
  return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}
