/**
 * Whether PostgreSQL can hold a value as it is: no text in it, keys included, has NUL, or half a character, which `text` would keep as
 * U+FFFD and `jsonb` refuse; and no number is beyond a double, which JavaScript reads as infinite and would write as null (RFC 8259 §6).
 * A body is looked through at every request, so that this is to cost less than reading it did.
 */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isStorable);
  return Object.keys(value).every((key) => isStorable(key) && isStorable((value as Record<string, unknown>)[key]));
}
