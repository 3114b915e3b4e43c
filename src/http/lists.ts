import { type TProperties, Type } from 'typebox';
import type { Page } from '../domain/paging.js';
import { OneOf } from './schemas.js';

/** The list parameters of the specification, with the columns that this list sorts by; out of range is 400, not clamped. */
export const listQuery = <const S extends string, P extends TProperties = Record<never, never>>(
  sortBy: readonly S[],
  filters: P = {} as P,
) =>
  Type.Object(
    {
      page: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 }),
      take: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
      q: Type.Optional(Type.String({ maxLength: 200, description: 'Substring filter.' })),
      sort_by: OneOf(sortBy, { default: sortBy[0] as S }),
      order: OneOf(['asc', 'desc'] as const, { default: 'desc' }),
      ...filters,
    },
    { additionalProperties: false },
  );

/** Of a list whose first page costs what is shown: whether it is more than that. */
export const goesFar = ({ q, page }: { q?: string; page: number }): boolean => q !== undefined || page > 1;
/** Of what counts or looks through all that there is, whatever was asked. */
export const always = (): boolean => true;

/** `{ items, pagination }` of one page. */
export function paginated<T, R>({ rows, itemCount, page, take }: Page<T>, present: (row: T) => R) {
  const pageCount = Math.ceil(itemCount / take);
  return {
    items: rows.map(present),
    pagination: {
      page,
      take,
      item_count: itemCount,
      page_count: pageCount,
      has_previous_page: page > 1 && pageCount > 0,
      has_next_page: page < pageCount,
    },
  };
}
