import { inSnakeCase } from '../platform/naming.js';

/**
 * Which of the wanted values are not what is there: names as the APIs have them, in the order given. An undefined value stays
 * as it is, and so is no change.
 * @param current the row, with at least the fields that are to be changed
 */
export const changedFields = (current: object, wanted: object): string[] =>
  Object.entries(wanted)
    .filter(([field, value]) => value !== undefined && !isSame(value, current[field as keyof typeof current]))
    .map(([field]) => inSnakeCase(field));

export const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && a !== null && JSON.stringify(a) === JSON.stringify(b));
