import { inSnakeCase } from '../platform/database/naming.js';

/**
 * Which of the wanted values are not what is there: names as the APIs have them, in the order given. An undefined value stays
 * as it is, and so is no change.
 * @param current the row, with at least the fields that are to be changed
 */
export const changedFields = (current: object, wanted: object): string[] =>
  Object.entries(wanted)
    .filter(([field, value]) => value !== undefined && !isSame(value, current[field as keyof typeof current]))
    .map(([field]) => inSnakeCase(field));

/** What fields have become, by the names that `changedFields` gives: for an audit log that says it. @param without what is long, or nobody's business */
export const becameOf = (row: object, changed: readonly string[], without: readonly string[] = []): object =>
  Object.fromEntries(
    Object.entries(row)
      .map(([field, value]) => [inSnakeCase(field), value] as const)
      .filter(([name]) => changed.includes(name) && !without.includes(name)),
  );

/** Whether two values are the same, to the depth; the order of an object's members is none (RFC 8259 §1), of an array's it is. */
export const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && a !== null && inOrder(a) === inOrder(b));

/** A JSON value as text, the same one whatever order its members came in; PostgreSQL keeps those of a `jsonb` in an order of its own. */
export const inOrder = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
