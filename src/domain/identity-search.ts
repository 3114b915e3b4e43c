import { invalidField } from './errors.js';
import { containing } from './paging.js';

/** A search that finds more is refused: totals are exact, and counting each person takes PostgreSQL some µs (0058). */
export const mostFound = 100_000;

/** Without three letters or digits in a row an index of trigrams does not help, and everybody is looked at. */
export const isShort = (q: string): boolean => !/[\p{L}\p{N}]{3}/u.test(q);

/**
 * @param members how many would be looked at.
 * @throws DomainError validation.failed if those are more than may be found
 */
export function assertFew(members: number, most: number): void {
  if (members <= most) return;
  throw invalidField(
    'query.q',
    'too_short',
    `needs three consecutive letters or digits if there are more than ${most} members`,
  );
}

/** SQL: the searched text of an Identity; as in the index of trigrams (migration 0088). */
export const searchedText = (identity: string): string =>
  `gatehouse_identity_text(${identity}.first_name, ${identity}.last_name, ${identity}.email)`;

/**
 * SQL: the members of an Environment with a text in their name or address, as a relation with `identity_id`,
 * `is_active` and `created_at`. By a function, since row-level security keeps PostgreSQL from using the trigrams;
 * account and Environment are `$1` and `$2`. Where trigrams do not help, their index would be read as a whole, with all
 * tenants in it; then the members are read instead.
 * @param values takes the pattern and the limit: one more than may be found
 */
export function foundIn(q: string, values: unknown[], most: number): string {
  const [pattern, limit] = [values.push(containing(q)), values.push(most + 1)];
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

/** How many match. @throws DomainError validation.failed if more were found than may be */
export function totalOfFound({ found, total }: Totals, most: number): number {
  if (Number(found ?? 0) <= most) return Number(total ?? 0);
  throw invalidField(
    'query.q',
    'too_broad',
    `has more than ${most} matches; search for a longer part of a name or email address`,
  );
}
