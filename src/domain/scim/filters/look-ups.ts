import type { Comparison, Filter } from './syntax.js';

/** A look-up of a value in an index; `by` is one of the indexes that the kind of resource has. */
export interface LookUp<By extends string = string> {
  by: By;
  value: string;
}

/**
 * The look-ups that together find everything that can match a comparison of a path with a text; null if only looking at
 * everything does.
 */
export type LookUpsOf<By extends string> = (path: string, op: Comparison, value: string) => LookUp<By>[] | null;

/** More look-ups would cost more than looking at everything. */
const maxLookUps = 20;
/** The most rows to find by indexes; if there are more, all rows are read. */
export const maxFoundByIndexes = 20_000;

/**
 * The look-ups that find everything that can match a filter, which still has to be checked. Null if no index finds some
 * of it.
 */
export function lookUpsOf<By extends string>(filter: Filter, of: LookUpsOf<By>): LookUp<By>[] | null {
  const found = all(filter, of);
  return found && found.length <= maxLookUps ? found : null;
}

/**
 * Returns the ids of all rows that can match a filter, if indexes find them, so that no others are read. Null if
 * indexes do not help, or find too many.
 * @param find runs the look-ups, with the values for each index, and finds at most `maxFoundByIndexes` and one
 */
export async function candidateIds<By extends string>(
  filter: Filter,
  of: LookUpsOf<By>,
  find: (valuesFor: (by: By) => string[]) => Promise<{ id: string | null }[]>,
): Promise<string[] | null> {
  const lookUps = lookUpsOf(filter, of);
  if (!lookUps) return null;
  const rows = await find((by) => lookUps.filter((one) => one.by === by).map(({ value }) => value));
  return rows.length > maxFoundByIndexes ? null : rows.flatMap(({ id }) => id ?? []);
}

function all<By extends string>(filter: Filter, of: LookUpsOf<By>): LookUp<By>[] | null {
  switch (filter.op) {
    case 'and':
      return cheapest(filter.filters.map((one) => all(one, of)));
    case 'or': {
      const each = filter.filters.map((one) => all(one, of));
      return each.some((one) => one === null) ? null : each.flatMap((one) => one ?? []);
    }
    case 'not':
    case 'pr':
      return null;
    case '[]':
      return all(filter.filter, (sub, op, value) => of(`${filter.path}.${sub}`, op, value));
    default:
      return typeof filter.value === 'string' ? of(filter.path, filter.op, filter.value) : null;
  }
}

/**
 * Of several sets of look-ups that each suffice, the smallest, and then the one with the longest values, which are the
 * rarest.
 */
function cheapest<By extends string>(each: (LookUp<By>[] | null)[]): LookUp<By>[] | null {
  const shortest = (lookUps: LookUp<By>[]) => Math.min(...lookUps.map(({ value }) => value.length));
  const possible = each.filter((one) => one !== null);
  return possible.sort((a, b) => a.length - b.length || shortest(b) - shortest(a))[0] ?? null;
}

/** How many comparisons a filter has. */
export function comparisonsIn(filter: Filter): number {
  if ('filters' in filter) return filter.filters.reduce((sum, one) => sum + comparisonsIn(one), 0);
  return 'filter' in filter ? comparisonsIn(filter.filter) : 1;
}
