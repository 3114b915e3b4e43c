import type { EnvironmentMembership } from '../../../entities/environment-membership.js';
import type { Identity } from '../../../entities/identity.js';
import type { Db } from '../../platform/database/db.js';
import { inSnakeCase } from '../../platform/database/naming.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { counterTotal, inactiveTotal } from '../lists/counters.js';
import { afterCursor, notBefore, placedBy, type RowPlace } from '../lists/cursors.js';
import {
  assertFew,
  maxFound as defaultMaxFound,
  foundIn,
  isShort,
  type Totals,
  totalOfFound,
} from '../lists/identity-search.js';
import { forwardRange, isFollowing, type Page, type PageRequest, pageOf, rangeOf } from '../lists/paging.js';
import { type Ask, askIn, limitFor, statementOf } from '../lists/row-pages.js';
import { type Bind, bindInto } from '../lists/sql-parameters.js';
import { type ListedProfile, listedFields } from './profile.js';
import { fromWaymark, type Waymarked } from './waymarks.js';

export type IdentitySort = 'created_at' | 'email' | 'first_name' | 'last_name';

export type IdentitiesPage = PageRequest<IdentitySort> & { isActive: boolean | undefined };

/** What a list shows of a member. */
export interface ListedMember {
  identity: Pick<Identity, 'id' | 'email' | 'createdAt'> & ListedProfile;
  membership: Pick<EnvironmentMembership, 'isActive'>;
}

/**
 * `total` is that of the whole list, where the statement was asked for it; `found` is that of a search before filters.
 */
type Row = ListedMember['identity'] & ListedMember['membership'] & Totals & RowPlace;

const columns: Record<IdentitySort, string> = {
  created_at: 'm.created_at',
  email: 'i.email',
  first_name: 'i.first_name',
  last_name: 'i.last_name',
};
const profileOfRow = listedFields.map((field) => `i.${inSnakeCase(field)} as "${field}"`).join(', ');
const shown = `i.id, i.email, ${profileOfRow}, i.created_at as "createdAt", m.is_active as "isActive"`;
const byAge = ['m.created_at', 'm.identity_id'] as const;
const place = placedBy(...byAge);

/** The filters, as conditions on a membership `m`; their values come behind account and Environment. */
export interface Meant {
  isActive: boolean | undefined;
  /** The most that a search may find. */
  maxFound?: number;
  and?(put: Bind): string;
}

/**
 * One page of an Environment's members, as plain rows: a list of fifty costs half of what entities would. Sorted by
 * age, fifty memberships are found before any Identity is read. For that, and for a search, one plan is always right,
 * so each of their statements is one round trip with a cached plan; for everything else PostgreSQL plans as usual.
 * @throws DomainError validation.failed for a search that finds too many
 */
export function readMembers(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: EnvironmentScope,
  page: IdentitiesPage,
  meant: Meant = { isActive: page.isActive },
): Promise<Page<ListedMember>> {
  const alone: Ask = (text, values) => db.statementIn(scope, statementOf(text), values);
  if (page.q || page.sortBy === 'created_at') return readPageOfMembers(alone, scope, page, meant);
  return db.transaction(scope, (tx) => readPageOfMembers(askIn(tx), scope, page, meant));
}

/**
 * Reads a page of members as `readMembers` does, but runs its statements by `ask`, for example in a transaction.
 * @throws DomainError validation.failed for a search that finds too many
 */
export async function readPageOfMembers(
  ask: Ask,
  { accountId, environmentId }: EnvironmentScope,
  page: IdentitiesPage,
  meant: Meant,
): Promise<Page<ListedMember>> {
  const of = [accountId, environmentId];
  if (page.q || meant.and) return readFound(ask, of, page, meant);
  if (page.page === 1 || isFollowing(page)) {
    const range = forwardRange(page);
    const rows = await readSlice(ask, of, page, meant, { ...range, total: totalOf(meant) });
    const total = rows[0] ? Number(rows[0].total) : isFollowing(page) ? await countOf(ask, of, meant) : 0;
    return membersIn(pageOf(page, total, range, rows));
  }
  const itemCount = await countOf(ask, of, meant);
  const nearest = rangeOf(itemCount, page);
  const hasWaymarks = page.sortBy === 'created_at' && isEverybody(meant);
  const range = hasWaymarks ? await fromWaymark(ask, of, nearest, { ...page, itemCount }) : nearest;
  const rows = range.count === 0 ? [] : await readSlice(ask, of, page, meant, range);
  return membersIn(pageOf(page, itemCount, range, rows));
}

/** @param total SQL for the total, to read it in the same round trip */
async function readSlice(
  ask: Ask,
  of: string[],
  { sortBy }: IdentitiesPage,
  meant: Meant,
  { at, count, direction, behind: last, from: first, total }: Waymarked & { total?: string },
): Promise<Row[]> {
  const values: unknown[] = [...of];
  const put = bindInto(values);
  const following = last ? ` and ${afterCursor(last, byAge, direction, put)}` : '';
  const beginning = first ? ` and ${notBefore(first, byAge, put)}` : '';
  const members = `${conditionOf(meant, values)}${following}${beginning}`;
  const skipped = at > 0 ? ` offset ${put(at)}` : '';
  const sorted = `order by ${columns[sortBy]} ${direction}, m.identity_id ${direction}`;
  const slice = `${sorted} limit ${limitFor(count)}${skipped}`;
  const from =
    sortBy === 'created_at'
      ? `(select m.identity_id, m.is_active, m.created_at from environment_memberships m where ${members} ${slice}) m
         ${identity('m.identity_id')} ${sorted}`
      : `environment_memberships m join identities i on i.id = m.identity_id and i.account_id = $1 where ${members} ${slice}`;
  const placing = sortBy === 'created_at' ? `, ${place}` : '';
  return ask<Row>(`select ${shown}${placing}${total ? `, ${total} as total` : ''} from ${from}`, values);
}

/**
 * Reads people whom a search finds, or who match filters on other tables: found and counted in one pass, and only read
 * for the page. For a page alone, PostgreSQL would check everybody by age until it has enough.
 */
async function readFound(ask: Ask, of: string[], page: IdentitiesPage, meant: Meant): Promise<Page<ListedMember>> {
  const { q, sortBy } = page;
  const { maxFound = defaultMaxFound } = meant;
  if (q && isShort(q)) assertFew(await countOf(ask, of, { isActive: undefined }), maxFound);
  const range = forwardRange(page);
  const { at, count, direction, behind: last } = range;
  const values: unknown[] = [...of];
  const found = q
    ? `(select *, count(*) over () as found from ${foundIn(q, values, maxFound)})`
    : `(select m.identity_id, m.is_active, m.created_at, 0 as found from environment_memberships m where ${ofEnvironment})`;
  const condition = conditionOf(meant, values, 'true');
  const all = [...values];
  const put = bindInto(all);
  const sorted = `order by ${columns[sortBy]} ${direction}, m.identity_id ${direction}`;
  const slice = `${sorted} limit ${limitFor(count)}${at > 0 ? ` offset ${put(at)}` : ''}`;
  const counted = `(select *, count(*) over () as total from ${found} m where ${condition}`;
  const listed = last
    ? `(select * from ${counted}) m where ${afterCursor(last, byAge, direction, put)} ${slice}) m ${identity('m.identity_id')} ${sorted}`
    : sortBy === 'created_at'
      ? `${counted} ${slice}) m ${identity('m.identity_id')} ${sorted}`
      : `${counted}) m ${identity('m.identity_id')} ${slice}`;
  const rows = await ask<Row>(`select ${shown}, ${place}, m.total, m.found from ${listed}`, all);
  const paged = (totals: Totals) => membersIn(pageOf(page, totalOfFound(totals, maxFound), range, rows));
  if (rows[0] || (at === 0 && !last && (!q || isEverybody(meant)))) return paged(rows[0] ?? {});
  const counts = q
    ? `select count(*) as found, count(*) filter (where ${condition}) as total from ${found} m`
    : `select count(*) as total from ${found} m where ${condition}`;
  const [totals] = await ask<Totals>(counts, values);
  return paged(totals!);
}

const kept = counterTotal('identities');
const ofEnvironment = 'm.account_id = $1 and m.environment_id = $2';
const isEverybody = ({ isActive, and }: Meant) => isActive === undefined && !and;

/** A literal and not a parameter, so that PostgreSQL recognizes the index of inactive members. */
function conditionOf({ isActive, and }: Meant, values: unknown[], place = ofEnvironment): string {
  const all = [place];
  if (isActive !== undefined) all.push(isActive ? 'm.is_active' : 'not m.is_active');
  if (and) all.push(and(bindInto(values)));
  return all.join(' and ');
}

/** The active ones are everybody but the inactive: both numbers are of the same moment. */
const totalOf = ({ isActive }: Meant): string =>
  isActive === undefined ? kept : isActive ? `${kept} - ${inactiveTotal}` : inactiveTotal;

async function countOf(ask: Ask, of: string[], meant: Meant): Promise<number> {
  const [row] = await ask<Totals>(`select ${totalOf(meant)} as total`, of);
  return Number(row!.total);
}

/** Read by key, whatever the planner believes of the tables' sizes. */
const identity = (id: string) =>
  `cross join lateral (select id, email, ${listedFields.map(inSnakeCase).join(', ')}, created_at from identities
     where id = ${id} and account_id = $1 offset 0) i`;

const membersIn = (page: Page<Row>): Page<ListedMember> => ({
  ...page,
  rows: page.rows.map((row) => ({ identity: row, membership: row })),
});
