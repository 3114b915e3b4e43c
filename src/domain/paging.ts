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

/**
 * One page of a query, in a stable order: every sort ends in the id. A page in the back half is read from the back, so that
 * the last page costs like the first.
 * @param columns what to sort by, the id last, as `alias.property`.
 * @param itemCount where a counter knows it; otherwise the rows are counted.
 */
export async function readPage<T extends ObjectLiteral>(
  query: SelectQueryBuilder<T>,
  { page, take, order }: Pick<PageRequest, 'page' | 'take' | 'order'>,
  columns: string[],
  itemCount?: number,
): Promise<Page<T>> {
  const count = itemCount ?? (await query.getCount());
  const before = (page - 1) * take;
  const rowsOnPage = Math.max(0, Math.min(take, count - before));
  if (rowsOnPage === 0) return { rows: [], itemCount: count, page, take };
  const behind = count - before - rowsOnPage;
  const fromBack = behind < before;
  const direction = (order === 'asc') === fromBack ? 'DESC' : 'ASC';
  for (const column of columns) query.addOrderBy(column, direction);
  const rows = await query
    .offset(fromBack ? behind : before)
    .limit(rowsOnPage)
    .getMany();
  return { rows: fromBack ? rows.reverse() : rows, itemCount: count, page, take };
}

/** A LIKE pattern that finds `text` anywhere, taking its own wildcards literally. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
