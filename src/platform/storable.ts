/**
 * Whether PostgreSQL can hold all texts in a value as they are, keys included: none has NUL, or half a character, which `text` would keep
 * as U+FFFD and `jsonb` refuse. A body is looked through at every request, so that this is to cost less than reading it did.
 */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isStorable);
  return Object.keys(value).every((key) => isStorable(key) && isStorable((value as Record<string, unknown>)[key]));
}
