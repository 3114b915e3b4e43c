import { invalidField } from '../errors.js';
import { containing } from './paging.js';

/** A search with more matches is refused: totals are exact, and each match takes PostgreSQL some µs to count (0058). */
export const maxFound = 100_000;

/** Without three letters or digits in a row the trigram index does not help, and all members are read. */
export const isShort = (q: string): boolean => !/[\p{L}\p{N}]{3}/u.test(q);

/**
 * @param members how many would be read.
 * @throws DomainError validation.failed if they are more than `max`
 */
export function assertFew(members: number, max: number): void {
  if (members <= max) return;
  throw invalidField(
    'query.q',
    'too_short',
    `needs three consecutive letters or digits if there are more than ${max} members`,
  );
}

/** SQL: the searched text of an Identity, as in the trigram index (entities/migrations/first-release/identities.ts). */
export const searchedText = (identity: string): string =>
  `gatehouse_identity_text(${identity}.first_name, ${identity}.last_name, ${identity}.email)`;

/**
 * SQL: the members of an Environment with a text in their name or address, as a relation with `identity_id`,
 * `is_active` and `created_at`. It calls a function, since row-level security keeps PostgreSQL from using the trigrams;
 * account and Environment are `$1` and `$2`. If trigrams do not help, their whole index would be read, with all tenants
 * in it; then the members are read instead.
 * @param values receives the pattern and the limit: one more than may be found
 */
export function foundIn(q: string, values: unknown[], max: number): string {
  const [pattern, limit] = [values.push(containing(q)), values.push(max + 1)];
  if (!isShort(q)) return `gatehouse_found_members($1, $2, $${pattern}, $${limit})`;
  return `(select m.identity_id, m.is_active, m.created_at from environment_memberships m
    cross join lateral (select first_name, last_name, email from identities where id = m.identity_id and account_id = $1 offset 0) i
    where m.account_id = $1 and m.environment_id = $2 and ${searchedText('i')} ilike $${pattern} limit $${limit})`;
}

/** How many were found, and how many of them match the other filters; as PostgreSQL counts. */
export interface Totals {
  found?: string;
  total?: string;
}

/** Returns how many match. @throws DomainError validation.failed if more than `max` were found */
export function totalOfFound({ found, total }: Totals, max: number): number {
  if (Number(found ?? 0) <= max) return Number(total ?? 0);
  throw invalidField(
    'query.q',
    'too_broad',
    `has more than ${max} matches; search for a longer part of a name or email address`,
  );
}
