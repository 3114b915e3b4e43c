import type { EnvironmentMembership } from '../../../entities/environment-membership.js';
import type { Identity } from '../../../entities/identity.js';
import type { Db, Statement } from '../../platform/db.js';
import { inSnakeCase } from '../../platform/naming.js';
import { counterTotal } from '../counters.js';
import { containing, type Page } from '../paging.js';
import type { EnvironmentScope } from '../scope.js';
import type { IdentitiesPage, IdentitySort } from './lists.js';
import { type ListedProfile, listedFields } from './profile.js';

/** What a list shows of a member. */
export interface ListedMember {
  identity: Pick<Identity, 'id' | 'email' | 'createdAt'> & ListedProfile;
  membership: Pick<EnvironmentMembership, 'isActive'>;
}

/** `total` is that of the whole list, where the statement was asked for it. */
type Row = ListedMember['identity'] & ListedMember['membership'] & { total?: string };

const columns: Record<IdentitySort, string> = {
  created_at: 'm.created_at',
  email: 'i.email',
  first_name: 'i.first_name',
  last_name: 'i.last_name',
};
const profileOfRow = listedFields.map((field) => `i.${inSnakeCase(field)} as "${field}"`).join(', ');
const shown = `i.id, i.email, ${profileOfRow}, i.created_at as "createdAt", m.is_active as "isActive"`;
const kept = counterTotal('identities');

/** Runs one statement in the scope of the list. */
type Ask = (text: string, values: unknown[]) => Promise<Row[]>;

/**
 * One page of an Environment's members, as plain rows: a list of fifty costs half of what entities would. Sorted by age, fifty
 * memberships are found before any Identity is read. That and a search have one way to go whatever they are asked, so that
 * each of their statements is one round trip with a plan that is kept; for all else PostgreSQL chooses a plan, as ever.
 */
export function readMembers(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: EnvironmentScope,
  page: IdentitiesPage,
): Promise<Page<ListedMember>> {
  const hasOnePlan = page.q || (page.sortBy === 'created_at' && page.isActive === undefined);
  if (hasOnePlan) return read((text, values) => db.statementIn(scope, statementOf(text), values), scope, page);
  return db.transaction(scope, (tx) => read((text, values) => tx.query(text, values), scope, page));
}

async function read(
  ask: Ask,
  { accountId, environmentId }: EnvironmentScope,
  page: IdentitiesPage,
): Promise<Page<ListedMember>> {
  const of = [accountId, environmentId];
  if (page.q) return readFound(ask, of, page);
  if (page.page === 1 && page.isActive === undefined) {
    const rows = await readSlice(ask, of, page, { at: 0, count: page.take, fromBack: false, total: kept });
    return pageOf(page, rows, rows[0] ? Number(rows[0].total) : 0);
  }
  const itemCount = await total(ask, of, page.isActive);
  const before = (page.page - 1) * page.take;
  const count = Math.max(0, Math.min(page.take, itemCount - before));
  if (count === 0) return pageOf(page, [], itemCount);
  // A page in the back half is read from the back, so that the last page costs like the first.
  const behind = itemCount - before - count;
  const fromBack = behind < before;
  const rows = await readSlice(ask, of, page, { at: fromBack ? behind : before, count, fromBack });
  return pageOf(page, fromBack ? rows.reverse() : rows, itemCount);
}

interface Slice {
  at: number;
  count: number;
  fromBack: boolean;
  /** An expression for the total, to read it in the same round trip. */
  total?: string;
}

async function readSlice(
  ask: Ask,
  of: string[],
  { isActive, sortBy, order }: IdentitiesPage,
  { at, count, fromBack, total }: Slice,
): Promise<Row[]> {
  const direction = (order === 'asc') === fromBack ? 'desc' : 'asc';
  const values: unknown[] = [...of];
  let members = 'm.account_id = $1 and m.environment_id = $2';
  if (isActive !== undefined) members += ` and m.is_active = $${values.push(isActive)}`;
  let skipped = '';
  if (at > 0) skipped = ` offset $${values.push(at)}`;
  const sorted = `order by ${columns[sortBy]} ${direction}, m.identity_id ${direction}`;
  const slice = `${sorted} limit ${limitFor(count)}${skipped}`;
  const from =
    sortBy === 'created_at'
      ? `(select m.identity_id, m.is_active, m.created_at from environment_memberships m where ${members} ${slice}) m
         ${identity('m.identity_id')} ${sorted}`
      : `environment_memberships m join identities i on i.id = m.identity_id and i.account_id = $1 where ${members} ${slice}`;
  const rows: Row[] = await ask(`select ${shown}${total ? `, ${total} as total` : ''} from ${from}`, values);
  return rows.slice(0, count);
}

/** What a search finds, by way of a function, since row-level security keeps PostgreSQL from using the trigrams. */
async function readFound(ask: Ask, of: string[], page: IdentitiesPage): Promise<Page<ListedMember>> {
  const { isActive, sortBy, order, take } = page;
  const values: unknown[] = [...of, containing(page.q as string)];
  let from = `(select id from gatehouse_matching_identities($1, $2, $3) as id offset 0) found
    cross join lateral (select identity_id, is_active, created_at from environment_memberships
      where environment_id = $2 and identity_id = found.id and account_id = $1 offset 0) m
    ${identity('found.id')}`;
  if (isActive !== undefined) from += ` where m.is_active = $${values.push(isActive)}`;
  const at = (page.page - 1) * take;
  const slice = `order by ${columns[sortBy]} ${order}, m.identity_id ${order} limit ${limitFor(take)}`;
  const skipped = at > 0 ? ` offset $${values.length + 1}` : '';
  const text = `select ${shown}, count(*) over () as total from ${from} ${slice}${skipped}`;
  const rows: Row[] = await ask(text, at > 0 ? [...values, at] : values);
  if (rows[0] || at === 0) return pageOf(page, rows.slice(0, take), Number(rows[0]?.total ?? 0));
  const [counted] = await ask(`select count(*) as total from ${from}`, values);
  return pageOf(page, [], Number(counted!.total));
}

async function total(ask: Ask, of: string[], isActive: boolean | undefined): Promise<number> {
  const counting =
    'select count(*) as total from environment_memberships where account_id = $1 and environment_id = $2';
  const [row] =
    isActive === undefined
      ? await ask(`select ${kept} as total`, of)
      : await ask(`${counting} and is_active = $3`, [...of, isActive]);
  return Number(row!.total);
}

/** Read by its key, whatever the planner believes of the tables' sizes. */
const identity = (id: string) =>
  `cross join lateral (select id, email, ${listedFields.map(inSnakeCase).join(', ')}, created_at from identities
     where id = ${id} and account_id = $1 offset 0) i`;

/** In the text, since PostgreSQL plans for few rows only when it knows that they are few; and in steps, so that texts are. */
const limitFor = (count: number) => (count <= 20 ? 20 : count <= 50 ? 50 : 100);

/** There are as many as there are ways to sort, limit and filter. */
const statements = new Map<string, Statement>();

function statementOf(text: string): Statement {
  const known = statements.get(text);
  if (known) return known;
  const made = { name: `list_members_${statements.size + 1}`, text };
  statements.set(text, made);
  return made;
}

const pageOf = ({ page, take }: IdentitiesPage, rows: Row[], itemCount: number): Page<ListedMember> => ({
  rows: rows.map((row) => ({ identity: row, membership: row })),
  itemCount,
  page,
  take,
});
