import type { Comparison, Filter } from './filter-syntax.js';

/** Something that an index finds by a value: `by` is one of what a kind of resource has indexes for. */
export interface LookUp<By extends string = string> {
  by: By;
  value: string;
}

/**
 * What finds all that can meet a comparison of a path with a text, together; null where nothing does, short of looking at
 * everything.
 */
export type LookUpsOf<By extends string> = (path: string, op: Comparison, value: string) => LookUp<By>[] | null;

/** More of them would cost more than looking at everything. */
const most = 20;
/** How many may be found by indexes: more are looked at like everybody. */
export const mostFoundByIndexes = 20_000;

/**
 * What finds all that a filter can mean: whatever meets it is found by one of these, and the filter has to be asked of them
 * still. Null where some of it is found by no index.
 */
export function lookUpsOf<By extends string>(filter: Filter, of: LookUpsOf<By>): LookUp<By>[] | null {
  const found = all(filter, of);
  return found && found.length <= most ? found : null;
}

/**
 * Ids of all that a filter can mean as far as indexes answer it, so that nobody else is looked at; null where they do not, or
 * find too many.
 * @param find asks the indexes, with the values for each of them, and for no more than `mostFoundByIndexes` and one
 */
export async function meantBy<By extends string>(
  filter: Filter,
  of: LookUpsOf<By>,
  find: (valuesFor: (by: By) => string[]) => Promise<{ id: string | null }[]>,
): Promise<string[] | null> {
  const lookUps = lookUpsOf(filter, of);
  if (!lookUps) return null;
  const rows = await find((by) => lookUps.filter((one) => one.by === by).map(({ value }) => value));
  return rows.length > mostFoundByIndexes ? null : rows.flatMap(({ id }) => id ?? []);
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

/** Of what each finds all of them by itself: the fewest, then those by the longest values, which the fewest have. */
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
