import { type TProperties, Type } from 'typebox';
import type { Page } from '../../domain/lists/paging.js';
import { OneOf } from './schemas.js';
import { worded } from './validation-words.js';

/** The largest page number: what clients with 32 bits can write, and far more than any list has. */
export const lastPage = 2_147_483_647;

/**
 * The list parameters of the specification, with the columns that this list sorts by; out of range is 400, not clamped.
 */
export const listQuery = <const S extends string, P extends TProperties = Record<never, never>>(
  sortBy: readonly S[],
  filters: P = {} as P,
) =>
  Type.Object(
    {
      page: Type.Integer({ minimum: 1, maximum: lastPage, default: 1 }),
      take: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
      q: Type.Optional(Type.String({ maxLength: 200, description: 'Substring filter.' })),
      sort_by: OneOf(sortBy, { default: sortBy[0] as S }),
      order: OneOf(['asc', 'desc'] as const, { default: 'desc' }),
      after: Type.Optional(
        Type.String({
          pattern: worded('^[A-Za-z0-9_-]{32}$', 'must be a cursor from a list'),
          description:
            'The cursor from the `Link` to the next page: returns the items after the last item of the previous page, whatever ' +
            'was added or removed in between, as fast as the first page. Only with the order by `created_at`; `page` is then ' +
            'only the number that the response reports.',
        }),
      ),
      ...filters,
    },
    { additionalProperties: false },
  );

/** For a list with cheap pages (the first, and any behind a cursor): returns whether a request asks for another. */
export const goesFar = ({ q, page, after }: { q?: string; page: number; after?: string }): boolean =>
  q !== undefined || (page > 1 && after === undefined);
/** For a list that always counts or searches everything. */
export const always = (): boolean => true;

/** Returns the `{ items, pagination }` of one page; `next` becomes its `Link` (`linkPages`). */
export function paginated<T, R>({ rows, itemCount, page, take, next }: Page<T>, present: (row: T) => R) {
  const pageCount = Math.ceil(itemCount / take);
  return {
    next,
    items: rows.map(present),
    pagination: {
      page,
      take,
      item_count: itemCount,
      page_count: pageCount,
      has_previous_page: page > 1 && pageCount > 0,
      has_next_page: next === undefined ? page < pageCount : next !== null,
    },
  };
}

/**
 * Returns a query without blanks around the searched text: they come from pasting, and nothing that can be found begins
 * or ends with one.
 */
export function withTrimmedSearch<Q>(query: Q): Q {
  const { q, ...others } = (query ?? {}) as { q?: unknown };
  if (typeof q !== 'string') return query;
  return (q.trim() === '' ? others : { ...others, q: q.trim() }) as Q;
}
