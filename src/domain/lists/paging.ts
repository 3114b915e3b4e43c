import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { invalidField } from '../errors.js';
import { afterCursor, type CursorPlace, placeAtOf, type RowPlace, readCursor, writeCursor } from './cursors.js';
import type { Bind } from './sql-parameters.js';

export interface PageRequest<S extends string = string> {
  /** From 1. */
  page: number;
  take: number;
  sortBy: S;
  order: 'asc' | 'desc';
  q?: string | undefined;
  /** `next` of the page before: reading continues after it, whatever `page` says. */
  after?: string | undefined;
}

export interface Page<T> {
  rows: T[];
  itemCount: number;
  page: number;
  take: number;
  /** If sorted by age: the cursor for the next page, null after the last. */
  next?: string | null;
}

/** The part of a sorted list that is read for a page. */
export interface RowRange {
  /** How many rows are skipped, in this direction, and how many are read. */
  at: number;
  count: number;
  /** Whether it is read from the end, in the opposite order. */
  fromBack: boolean;
  direction: 'asc' | 'desc';
  /** Reads only what comes after this place. */
  behind?: CursorPlace;
}

/** A page by its number, or by how many come before it. */
type PageAt = Pick<PageRequest, 'take' | 'order'> & ({ page: number } | { before: number });

/**
 * Returns what to read for a page from the nearer end, so that the last page costs as much as the first. `count` is 0
 * for an empty page.
 */
export function fromNearerEnd(itemCount: number, { take, order, ...place }: PageAt): RowRange {
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

/** The part of a page's request that says which rows it has. */
export type Sorted = Pick<PageRequest, 'page' | 'take' | 'order' | 'sortBy' | 'after'>;

/** Whether a page is asked for by its cursor. */
export const isFollowing = ({ after }: Pick<PageRequest, 'after'>): boolean => after !== undefined;

/**
 * Returns what to read for a page: by its number, from the nearer end; or after its cursor, and then one row more,
 * which shows whether anything follows.
 * @throws DomainError validation.failed for a text that is no cursor, or if the list is not sorted by age
 */
export function rangeOf(itemCount: number, request: Sorted): RowRange {
  const { after, sortBy, take, order } = request;
  if (after === undefined) return fromNearerEnd(itemCount, request);
  if (sortBy !== 'created_at')
    throw invalidField('query.after', 'sort_by', 'can only be used with the order by `created_at`');
  return { at: 0, count: take + 1, fromBack: false, direction: order, behind: readCursor(after) };
}

/**
 * Returns the rows to read for a page if the total is read together with them, and so not known yet: they are never
 * read from the other end.
 */
export const forwardRange = (request: Sorted): RowRange => rangeOf(Number.POSITIVE_INFINITY, request);

/**
 * Returns the page, made of what was read for it.
 * @param rows those of the `range`, or more; each with its place, if the list is sorted by age
 */
export function pageOf<T extends RowPlace>(
  { page, take, sortBy }: Sorted,
  itemCount: number,
  range: Pick<RowRange, 'count' | 'fromBack' | 'behind'>,
  rows: T[],
): Page<T> {
  const wanted = rows.slice(0, Math.min(range.count, take));
  const shown = range.fromBack ? wanted.reverse() : wanted;
  const last = shown.at(-1);
  if (sortBy !== 'created_at') return { rows: shown, itemCount, page, take };
  const isMore = range.behind ? rows.length > take : page * take < itemCount;
  return { rows: shown, itemCount, page, take, next: isMore && last !== undefined ? writeCursor(last) : null };
}

/**
 * Reads one page of a query, in a stable order: every sort ends in the id.
 * @param columns what to sort by, the id last, as `alias.property`.
 * @param itemCount the total from a counter; without it the rows are counted.
 * @throws DomainError validation.failed as `rangeOf`
 */
export async function readPage<T extends ObjectLiteral & { id: string }>(
  query: SelectQueryBuilder<T>,
  request: Sorted,
  columns: string[],
  itemCount?: number,
): Promise<Page<T>> {
  const total = itemCount ?? (await query.getCount());
  const range = rangeOf(total, request);
  const { at, count, direction } = range;
  for (const column of columns) query.addOrderBy(column, direction === 'desc' ? 'DESC' : 'ASC');
  if (range.behind) {
    const put: Bind = (value) => {
      const name = `behind_${Object.keys(query.getParameters()).length}`;
      query.setParameter(name, value);
      return `:${name}`;
    };
    query.andWhere(afterCursor(range.behind, columns, direction, put));
  }
  if (request.sortBy === 'created_at') query.addSelect(placeAtOf(columns[0] as string), 'placeAt');
  // TypeORM treats a limit of 0 as no limit.
  const nothing = { entities: [], raw: [] };
  const { entities, raw } =
    count === 0 ? nothing : await query.offset(at).limit(count).getRawAndEntities<Pick<RowPlace, 'placeAt'>>();
  const rows = entities.map((entity, i) => ({ entity, placeAt: raw[i]!.placeAt, placeId: entity.id }));
  const page = pageOf(request, total, range, rows);
  return { ...page, rows: page.rows.map(({ entity }) => entity) };
}

/** Returns a LIKE pattern that finds `text` anywhere; wildcards in it are escaped. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
