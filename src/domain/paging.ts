import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';

export interface PageRequest<S extends string = string> {
  /** From 1. */
  page: number;
  take: number;
  sortBy: S;
  order: 'asc' | 'desc';
  q?: string | undefined;
}

export interface Page<T> {
  rows: T[];
  itemCount: number;
  page: number;
  take: number;
}

/** What of a sorted list is read for a page. */
export interface Stretch {
  /** How many are skipped, in this direction, and how many are read. */
  at: number;
  count: number;
  /** What is read comes the other way round. */
  fromBack: boolean;
  direction: 'asc' | 'desc';
}

/** A page by its number, or by how many come before it. */
type Place = Pick<PageRequest, 'take' | 'order'> & ({ page: number } | { before: number });

/** The way to a page from the nearer end, so that the last one costs like the first. `count` is 0 where nothing is there. */
export function fromNearerEnd(itemCount: number, { take, order, ...place }: Place): Stretch {
  const before = 'before' in place ? place.before : (place.page - 1) * take;
  const count = Math.max(0, Math.min(take, itemCount - before));
  const behind = itemCount - before - count;
  const fromBack = behind < before;
  return {
    at: fromBack ? behind : before,
    count,
    fromBack,
    direction: (order === 'asc') === fromBack ? 'desc' : 'asc',
  };
}

/**
 * One page of a query, in a stable order: every sort ends in the id.
 * @param columns what to sort by, the id last, as `alias.property`.
 * @param itemCount where a counter knows it; otherwise the rows are counted.
 */
export async function readPage<T extends ObjectLiteral>(
  query: SelectQueryBuilder<T>,
  { page, take, order }: Pick<PageRequest, 'page' | 'take' | 'order'>,
  columns: string[],
  itemCount?: number,
): Promise<Page<T>> {
  const total = itemCount ?? (await query.getCount());
  const { at, count, fromBack, direction } = fromNearerEnd(total, { page, take, order });
  if (count === 0) return { rows: [], itemCount: total, page, take };
  for (const column of columns) query.addOrderBy(column, direction === 'desc' ? 'DESC' : 'ASC');
  const rows = await query.offset(at).limit(count).getMany();
  return { rows: fromBack ? rows.reverse() : rows, itemCount: total, page, take };
}

/** A LIKE pattern that finds `text` anywhere, taking its own wildcards literally. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
