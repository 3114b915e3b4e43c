import { inSnakeCase, snakeCased } from '../platform/database/naming.js';

/**
 * Returns the fields whose wanted value differs, by their names in the APIs and in the given order. An undefined value
 * means that the field stays as it is.
 * @param current the row, with at least the wanted fields
 */
export const changedFields = (current: object, wanted: object): string[] =>
  Object.entries(wanted)
    .filter(([field, value]) => value !== undefined && !isSame(value, current[field as keyof typeof current]))
    .map(([field]) => inSnakeCase(field));

/**
 * Returns the new values of fields for the audit log, by the names that `changedFields` returns.
 * @param without names of long or confidential fields
 */
export const becameOf = (row: object, changed: readonly string[], without: readonly string[] = []): object =>
  Object.fromEntries(
    Object.entries(snakeCased(row)).filter(([name]) => changed.includes(name) && !without.includes(name)),
  );

/**
 * Returns whether two values are deeply equal. The order of an object's members does not matter (RFC 8259 §1), that of
 * an array's elements does.
 */
export const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && a !== null && inOrder(a) === inOrder(b));

/**
 * Returns a JSON value as text, the same for any order of members: PostgreSQL stores the members of a `jsonb` in an
 * order of its own.
 */
export const inOrder = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
