import { comparisonsIn, type LookUpsOf, lookUpsOf } from './filters/look-ups.js';
import type { Column, ColumnOf } from './filters/sql.js';
import type { Filter } from './filters/syntax.js';
import { ScimRefused } from './refusal.js';

/** The parameters of a list (RFC 7644 §3.4.2). */
export interface ListRequest {
  filter: Filter | null;
  sortBy: string | null;
  sortOrder: 'ascending' | 'descending';
  /** From 1. */
  startIndex: number;
  count: number;
}

export interface Found<Row> {
  total: number;
  rows: Row[];
}

/** Limit of comparisons in one request; each takes PostgreSQL some 3 µs (docs/decisions/0047). */
const maxComparisons = 200_000;

/**
 * Refuses a filter that no index answers, if comparing everything would be too much (RFC 7644 §3.12).
 * @param of how many people or groups there are
 * @throws ScimRefused tooMany
 */
export function assertBounded({ filter, sortBy }: ListRequest, of: number): void {
  const each = (filter ? comparisonsIn(filter) : 0) + (sortBy === null ? 0 : 1);
  if (each * of > maxComparisons)
    throw new ScimRefused(
      'tooMany',
      'The directory is too large for this filter or order: filter by a userName, externalId, address, group or part of a name, or list everything by pages',
    );
}

/**
 * Whether a list may take PostgreSQL long: it is neither the first page of everything nor a look-up by a key. A
 * directory asks for those two before it changes anything, and waits for nobody's search.
 * @param keys attributes with few people or groups for each value
 */
export function isBroad<By extends string>(
  { filter, sortBy, startIndex }: ListRequest,
  of: LookUpsOf<By>,
  keys: readonly By[],
): boolean {
  if (filter === null) return sortBy !== null || startIndex > 1;
  const [first, ...others] = lookUpsOf(filter, of) ?? [];
  return !first || !keys.includes(first.by) || others.some(({ value }) => value !== first.value);
}

/** The sort order as SQL. @throws ScimRefused invalidPath */
export function orderOf({ sortBy, sortOrder }: ListRequest, columnOf: ColumnOf, created: string): string {
  if (sortBy === null) return created;
  const column = columnOf(sortBy);
  // Several values are sorted by the primary one, or else by any (RFC 7644 §3.4.2.3), by its `value`.
  const single = column?.type === 'several' ? sortedValue(column) : column;
  if (!single || single.type === 'complex')
    throw new ScimRefused('invalidPath', `Sorting by ${sortBy.slice(0, 200)} is not supported`);
  const sql = single.type === 'text' ? `lower(${single.sql})` : single.sql;
  return sortOrder === 'descending' ? `${sql} desc nulls first` : `${sql} asc nulls last`;
}

function sortedValue({ rows, of }: Extract<Column, { type: 'several' }>) {
  const [value, primary] = [of('value'), of('primary')];
  if (value?.type !== 'text' && value?.type !== 'exact' && value?.type !== 'id') return null;
  const order = primary?.type === 'boolean' ? ` order by ${primary.sql} desc nulls last` : '';
  return { type: value.type, sql: `(select ${value.sql} from ${rows}${order} limit 1)` };
}
