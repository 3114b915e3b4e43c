const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The written form of a duration: a whole number and a unit, as `30s`, `24h`, `7d`. */
export const durationPattern = '^[0-9]{1,9}(ms|s|m|h|d)$';

/** Milliseconds of a written duration; throws a RangeError for any other text. */
export function parseDuration(text: string): number {
  const match = /^([0-9]{1,9})(ms|s|m|h|d)$/.exec(text);
  if (!match) throw new RangeError(`not a duration: ${text}`);
  return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}

const one = '([0-9]{1,4}x)?[0-9]{1,9}(ms|s|m|h|d)';

/** The written form of several durations, in order: `1m,5m`, or `10x1m,5m` for one that is repeated. */
export const durationListPattern = `^${one}(,${one})*$`;

const mostDurations = 10_000;

/** Milliseconds of each. @throws RangeError for any other text, and for more than ten thousand */
export function parseDurations(text: string): number[] {
  const all = text.split(',').flatMap((part) => {
    const [, times = '1', duration = part] = /^([0-9]{1,4})x(.*)$/.exec(part) ?? [];
    return Array<number>(Number(times)).fill(parseDuration(duration));
  });
  if (all.length === 0 || all.length > mostDurations) throw new RangeError(`must be 1 to ${mostDurations} durations`);
  return all;
}
