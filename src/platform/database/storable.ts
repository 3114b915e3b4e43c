const isWhole = (text: string): boolean => text.isWellFormed();
const isStorableText = (text: string): boolean => isWhole(text) && !text.includes('\0');

/**
 * Whether PostgreSQL can hold a value as it is: no text in it, keys included, has NUL, which it refuses, or half a character, which
 * `text` would keep as U+FFFD and `jsonb` refuse; and no number is beyond a double, which JavaScript reads as infinite and would write
 * as null (RFC 8259 §6).
 */
export const isStorable = (value: unknown): boolean => whereNot(value, isStorableText) === null;

/**
 * Where the first thing is that would be kept otherwise than it was sent, half a character or a number beyond a double, as a JSON path
 * like `tags[0].name`; null where there is none. What has it in a key of its own is named itself, and empty is the value as a whole. A
 * body is looked through at every request, so that this is to cost less than reading it did.
 */
export const alteredIn = (value: unknown): string | null => whereNot(value, isWhole);

function whereNot(value: unknown, isRight: (text: string) => boolean): string | null {
  if (typeof value === 'string') return isRight(value) ? null : '';
  if (typeof value === 'number') return Number.isFinite(value) ? null : '';
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const below = whereNot(value[i], isRight);
      if (below !== null) return pathOf(`[${i}]`, below);
    }
    return null;
  }
  for (const key of Object.keys(value)) {
    if (!isRight(key)) return '';
    const below = whereNot((value as Record<string, unknown>)[key], isRight);
    if (below !== null) return pathOf(key, below);
  }
  return null;
}

const pathOf = (step: string, below: string) =>
  below === '' || below.startsWith('[') ? `${step}${below}` : `${step}.${below}`;
