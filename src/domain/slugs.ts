import { randomInt } from 'node:crypto';
import { DomainError, type ErrorCode } from './errors.js';

const maxLength = 63;
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'; // without look-alikes: people read slugs to each other

/** Latin letters that Unicode does not decompose into one of a to z and a mark. */
const letters: Record<string, string> = {
  æ: 'ae',
  ð: 'd',
  đ: 'd',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  ŋ: 'ng',
  ø: 'o',
  œ: 'oe',
  ß: 'ss',
  þ: 'th',
  ŧ: 't',
};

/** Returns a slug made from a name (contract §1); `fallback` if the name has no Latin letter or digit. */
export function slugFrom(name: string, fallback: string): string {
  const slug = name
    .normalize('NFKD') // before the letters: it makes an æ of an ǽ
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, (one) => letters[one] ?? one)
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxLength)
    .replace(/^-+|-+$/g, '');
  return slug || fallback;
}

/** Returns the slug with a short random ending, for one that is taken. */
export function withSuffix(slug: string): string {
  const suffix = Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `${slug.slice(0, maxLength - suffix.length - 1).replace(/-+$/, '')}-${suffix}`;
}

export interface Naming {
  name: string;
  /** Without one, it is made from the name, with a random ending if that is taken. */
  slug?: string | undefined;
}

/**
 * Inserts under the given slug, or under the first free one made from the name.
 * @param insert returns false, without failing the transaction, if the slug is taken
 * @throws DomainError `taken` for a given slug
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
