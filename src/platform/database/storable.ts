const isWhole = (text: string): boolean => text.isWellFormed();
const isStorableText = (text: string): boolean => isWhole(text) && !text.includes('\0');

/**
 * Whether PostgreSQL can store a value unchanged: no text in it, keys included, has NUL, which PostgreSQL refuses, or
 * half a surrogate pair, which `text` would turn into U+FFFD and `jsonb` refuses; and no number exceeds a double, which
 * JavaScript reads as infinite and would write as null (RFC 8259 §6).
 */
export const isStorable = (value: unknown): boolean => whereNot(value, isStorableText) === null;

/**
 * Returns the first place that would not be stored as sent (half a surrogate pair, or a number beyond a double), as a
 * JSON path like `tags[0].name`; null if there is none. For such a key the path is that of its object; the empty path
 * is the value as a whole. Every request's body is checked, so this must cost less than parsing it.
 */
export const alteredIn = (value: unknown): string | null => whereNot(value, isWhole);

/** Returns the first place that PostgreSQL would refuse or store otherwise (`isStorable`), in the form of `alteredIn`. */
export const unstorableIn = (value: unknown): string | null => whereNot(value, isStorableText);

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
