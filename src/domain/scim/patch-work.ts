import type { Filter } from './filters/syntax.js';
import { ScimRefused } from './refusal.js';

/**
 * The limit of values that are compared, each counted once for each term of a filter: a few tenths of a second, in
 * which the process answers nobody else.
 */
const maxComparisons = 1_000_000;

/** The amount of work for all operations of one PATCH. */
export interface PatchWork {
  /** Counts values that are compared, by a filter or without one. @throws ScimRefused tooMany */
  count(values: number, filter: Filter | null): void;
}

export function createPatchWork(): PatchWork {
  let left = maxComparisons;
  return {
    count(values, filter) {
      left -= values * (1 + termsOf(filter));
      if (left < 0) throw new ScimRefused('tooMany', 'The operations examine too many values: send fewer at once');
    },
  };
}

function termsOf(filter: Filter | null): number {
  if (filter === null) return 0;
  if ('filters' in filter) return filter.filters.reduce((sum, one) => sum + termsOf(one), 0);
  return 'filter' in filter ? 1 + termsOf(filter.filter) : 1;
}
