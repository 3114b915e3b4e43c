import { type EntityManager, In } from 'typeorm';
import { Identity } from '../../../entities/identity.js';
import { afterCursor, placedBy, type RowPlace } from '../lists/cursors.js';
import { assertFew, isShort, searchedText, type Totals, totalOfFound } from '../lists/identity-search.js';
import { containing, forwardRange, type Page, type PageRequest, pageOf } from '../lists/paging.js';
import { readRowCount } from '../lists/row-counts.js';
import { type Bind, bindInto } from '../lists/sql-parameters.js';

export type DirectorySort = 'created_at' | 'email';
export type DirectoryPage = PageRequest<DirectorySort> & {
  /**
   * The Environments whose memberships count, or are looked for; null: people without any, who are only in the
   * directory.
   */
  environmentId: string | null | undefined;
  /** Whether they may sign in to at least one of those Environments. */
  isActive: boolean | undefined;
};

const columns: Record<DirectorySort, string> = { created_at: 'i.created_at', email: 'i.email' };
const byAge = ['i.created_at', 'i.id'] as const;

/**
 * Returns the people whom a search finds in an Account's directory, and their number, in one statement; at most as many
 * as a search in an Environment may find (0058).
 * @param meantBy SQL: which of the Identities `i` match the other filters
 * @throws DomainError validation.failed for a search that finds too many
 */
export async function searchDirectory(
  tx: EntityManager,
  accountId: string,
  page: DirectoryPage & { q: string },
  { meantBy, maxFound }: { meantBy(put: Bind): string[]; maxFound: number },
): Promise<Page<Identity>> {
  if (isShort(page.q)) assertFew(await readRowCount(tx, { accountId }, 'identities'), maxFound);
  const range = forwardRange(page);
  const { at, count, direction, behind: last } = range;
  const values: unknown[] = [accountId];
  const put = bindInto(values);
  const found = `(select id, count(*) over () as found from (${foundBy(page.q, put, maxFound)}) each) f
    join identities i on i.id = f.id and i.account_id = $1`;
  const meant = meantBy(put).join(' and ') || 'true';
  const counted = `(select i.id, i.created_at, i.email, found, count(*) over () as total from ${found} where ${meant}) i`;
  const inAll = [...values];
  const following = last ? `where ${afterCursor(last, byAge, direction, put)}` : '';
  const rows = await tx.query<(RowPlace & Totals)[]>(
    `select ${placedBy(...byAge)}, total, found from ${counted} ${following}
     order by ${columns[page.sortBy]} ${direction}, i.id ${direction} limit ${put(count)} offset ${put(at)}`,
    values,
  );
  const [totals] = rows[0]
    ? rows
    : await tx.query<Totals[]>(
        `select max(found) as found, count(*) filter (where ${meant}) as total from ${found}`,
        inAll,
      );
  const { rows: shown, ...rest } = pageOf(page, totalOfFound(totals ?? {}, maxFound), range, rows);
  const people = await tx.findBy(Identity, { accountId, id: In(shown.map(({ placeId }) => placeId)) });
  const byId = new Map(people.map((identity) => [identity.id, identity]));
  return { ...rest, rows: shown.flatMap(({ placeId }) => byId.get(placeId) ?? []) };
}

/**
 * The limit is one more than may be found: the function stops there. If trigrams do not help, all people of the Account
 * are read.
 */
function foundBy(q: string, put: Bind, max: number): string {
  const pattern = put(containing(q));
  const found = isShort(q)
    ? `select i.id from identities i where i.account_id = $1 and ${searchedText('i')} ilike ${pattern}`
    : `select gatehouse_matching_directory($1, ${pattern}) as id`;
  return `${found} limit ${put(max + 1)}`;
}
