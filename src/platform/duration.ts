const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

// At most 2,738 years, so that a moment that far before or after now can be stored.
const one = '([0-9]{1,9}(ms|s|m)|[0-9]{1,7}h|[0-9]{1,6}d)';

/** The written form of a duration: a whole number and a unit, such as `30s`, `24h`, `7d`. */
export const durationPattern = `^${one}$`;
const written = new RegExp(durationPattern);

/** The error message for a text that is not a duration. */
export const durationWords = 'must be a whole number with a unit, such as 500ms, 30s, 5m, 24h or 7d';
export const durationListWords = 'must be durations such as 30s, 24h or 7d, separated by commas without blanks';

/** Returns the milliseconds of a written duration. @throws RangeError for any other text */
export function parseDuration(text: string): number {
  if (!written.test(text)) throw new RangeError(`not a duration: ${text}`);
  const unit = text.replace(/^[0-9]+/, '') as keyof typeof unitMs;
  return Number.parseInt(text, 10) * unitMs[unit];
}

/** @throws RangeError, whose text is meant to follow a setting's name, if a written duration is out of bounds */
export function assertSpan(text: string, { min, max }: { min: string; max?: string }): void {
  const length = parseDuration(text);
  if (length < parseDuration(min)) throw new RangeError(`must be ${min} at least`);
  if (max && length > parseDuration(max)) throw new RangeError(`must be ${max} at most`);
}

/** @throws RangeError, whose text is meant to follow a setting's name, if `text` is not shorter than `other` */
export function assertWithin(text: string, other: { name: string; text: string }): void {
  if (parseDuration(text) >= parseDuration(other.text))
    throw new RangeError(`must be less than ${other.name}, which is ${other.text}`);
}

const oneOrMore = `([0-9]{1,4}x)?${one}`;

/** The written form of several durations, in order: `1m,5m`, or `10x1m,5m` with a repeated one. */
export const durationListPattern = `^${oneOrMore}(,${oneOrMore})*$`;

const maxDurations = 10_000;

/** Returns the milliseconds of each. @throws RangeError for any other text, more than ten thousand, or one of zero */
export function parseDurations(text: string): number[] {
  const all = text.split(',').flatMap((part) => {
    const [, times = '1', duration = part] = /^([0-9]{1,4})x(.*)$/.exec(part) ?? [];
    return Array<number>(Number(times)).fill(parseDuration(duration));
  });
  if (all.length === 0 || all.length > maxDurations) throw new RangeError(`must be 1 to ${maxDurations} durations`);
  if (all.includes(0)) throw new RangeError('must have no duration of zero');
  return all;
}
