import { DomainError, type ErrorCode } from './errors.js';
import { slugFrom, withSuffix } from './slugs.js';

export interface Naming {
  name: string;
  /** Without one, the name gives it, with an ending where that is taken. */
  slug?: string | undefined;
}

/**
 * Inserts under the slug that was asked for, or under the first free one that the name gives.
 * @param insert answers false, without failing the transaction, where the slug is taken
 * @throws DomainError `taken` for a slug that was asked for
 */
export async function underFreeSlug<T>(
  { name, slug }: Naming,
  { fallback, taken, insert }: { fallback: string; taken: ErrorCode; insert: (slug: string) => Promise<T | false> },
): Promise<T> {
  const wanted = slug ?? slugFrom(name, fallback);
  for (let candidate = wanted; ; candidate = withSuffix(wanted)) {
    const inserted = await insert(candidate);
    if (inserted !== false) return inserted;
    if (slug !== undefined) throw new DomainError(taken);
  }
}
