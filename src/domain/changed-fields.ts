import { inSnakeCase } from '../platform/database/naming.js';

/**
 * The fields whose wanted value differs: by their names in the APIs, in the given order. An undefined value means that
 * the field stays as it is.
 * @param current the row, with at least the fields that are to be changed
 */
export const changedFields = (current: object, wanted: object): string[] =>
  Object.entries(wanted)
    .filter(([field, value]) => value !== undefined && !isSame(value, current[field as keyof typeof current]))
    .map(([field]) => inSnakeCase(field));

/**
 * The new values of fields, by the names that `changedFields` gives, for an audit log that shows them.
 * @param without long or confidential ones
 */
export const becameOf = (row: object, changed: readonly string[], without: readonly string[] = []): object =>
  Object.fromEntries(
    Object.entries(row)
      .map(([field, value]) => [inSnakeCase(field), value] as const)
      .filter(([name]) => changed.includes(name) && !without.includes(name)),
  );

/**
 * Whether two values are deeply equal. The order of an object's members does not count (RFC 8259 §1), that of an
 * array's elements does.
 */
export const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && a !== null && inOrder(a) === inOrder(b));

/**
 * A JSON value as text; the same text for any order of members. PostgreSQL keeps those of a `jsonb` in an order of its
 * own.
 */
export const inOrder = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
