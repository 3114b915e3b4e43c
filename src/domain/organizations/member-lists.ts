import type { EntityManager } from 'typeorm';
import type { EnvironmentMembership } from '../../../entities/environment-membership.js';
import type { Identity } from '../../../entities/identity.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { type AssignedRole, type RolesInJson, rolesInJson, rolesOfOne } from '../access/assignments/assigned-roles.js';
import { DomainError } from '../errors.js';
import { isShort, searchedText } from '../lists/identity-search.js';
import { atAnyTime } from '../lists/one-plan.js';
import { containing, type Page, type PageRequest } from '../lists/paging.js';
import { columnsOf, type RowList, readCountedPage, readPageByTotal, readRows } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import { findOrganization } from './find.js';

const shownOfIdentity = ['id', 'email', 'firstName', 'lastName', 'avatarUrl'] as const satisfies (keyof Identity)[];

/** A member of an organization; `roles` are those held at its node, now or later. */
export interface ListedMember {
  identity: Pick<Identity, (typeof shownOfIdentity)[number]>;
  membership: Pick<EnvironmentMembership, 'isActive'>;
  roles: AssignedRole[];
  joinedAt: Date;
}
type Row = ListedMember['identity'] &
  ListedMember['membership'] &
  Pick<ListedMember, 'joinedAt'> & { roles: RolesInJson };

export type MemberSort = 'created_at' | 'email' | 'first_name' | 'last_name';
export type MembersPage = PageRequest<MemberSort>;

const columns: Record<MemberSort, string[]> = {
  created_at: ['member.created_at', 'member.identity_id'],
  email: ['identity.email', 'member.identity_id'],
  first_name: ['identity.first_name', 'member.identity_id'],
  last_name: ['identity.last_name', 'member.identity_id'],
};

/** Up to this many members, names are compared one by one: that takes PostgreSQL some ms for a thousand. */
const fewMembers = 20_000;

// What is shown is read by key, whatever the planner believes of an organization's size.
const person = `cross join lateral (select * from identities where id = member.identity_id and account_id = $1 offset 0) identity`;
const membership = `cross join lateral (select is_active from environment_memberships
  where account_id = $1 and environment_id = $2 and identity_id = member.identity_id offset 0) membership`;

/** @param and a condition on a row `member`, and on `identity` if `withPerson` has joined it */
const membersOf = (
  organizationId: string,
  at: Date,
  { withPerson = false, and }: { withPerson?: boolean; and?: (put: Bind) => string } = {},
): RowList => ({
  from: `organization_members member ${withPerson ? person : ''}`,
  where: (put) =>
    `member.account_id = $1 and member.environment_id = $2 and member.organization_id = ${put(organizationId)}${and ? ` and ${and(put)}` : ''}`,
  key: 'member.identity_id',
  carried: 'member.created_at',
  shownBy: `lateral (select found.key as identity_id, found.created_at) member on true ${person} ${membership}`,
  select: (put) =>
    `${columnsOf('identity', shownOfIdentity)}, membership.is_active as "isActive", member.created_at as "joinedAt", ${rolesOfOne(
      { environment: '$2', identity: 'member.identity_id', node: put(organizationId), at: put(at) },
    )} as roles`,
});

const kept = (organizationId: string) => (put: Bind) =>
  `(select member_count from organizations where account_id = $1 and environment_id = $2 and id = ${put(organizationId)})`;

/** The total of all is kept; with filters, members are counted. @throws DomainError organization.not_found */
export async function listMembers(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: EnvironmentScope,
  organizationId: string,
  { q, ...page }: MembersPage,
  at: Date,
): Promise<Page<ListedMember>> {
  const sorted = columns[page.sortBy];
  const withPerson = page.sortBy !== 'created_at';
  if (q) {
    return db.transaction(scope, async (tx) => {
      const { memberCount } = await findOrganization(tx, scope, organizationId);
      const isCompared = memberCount <= fewMembers || isShort(q);
      const and = (put: Bind) => (isCompared ? compared(q, put) : lookedUp(q, put));
      const found = membersOf(organizationId, at, { withPerson: withPerson || isCompared, and });
      return membersIn(await readCountedPage<Row>(tx, scope, found, page, sorted));
    });
  }
  const how = withPerson ? { withPerson } : { and: (put: Bind) => atAnyTime('member.created_at', put) };
  const members = { ...membersOf(organizationId, at, how), total: kept(organizationId) };
  const found = await readPageByTotal<Row>(db, scope, members, page, sorted);
  if (found.itemCount === 0) await db.transaction(scope, (tx) => findOrganization(tx, scope, organizationId));
  return membersIn(found);
}

const compared = (q: string, put: Bind) => `${searchedText('identity')} ilike ${put(containing(q))}`;
/**
 * By a function, since row-level security keeps PostgreSQL from using the trigrams, which find everybody of the
 * Environment.
 */
const lookedUp = (q: string, put: Bind) =>
  `member.identity_id in (select gatehouse_matching_identities($1, $2, ${put(containing(q))}))`;

/** @throws DomainError organization.not_found, organization.member_not_found */
export async function findOneMember(
  tx: EntityManager,
  scope: EnvironmentScope,
  { organizationId, identityId }: { organizationId: string; identityId: string },
  at: Date,
): Promise<ListedMember> {
  await findOrganization(tx, scope, organizationId);
  const one = membersOf(organizationId, at, { and: (put) => `member.identity_id = ${put(identityId)}` });
  const from = `organization_members member ${person} ${membership}`;
  const [row] = await readRows<Row>(tx, scope, { ...one, from }, '');
  if (!row) throw new DomainError('organization.member_not_found');
  return memberOf(row);
}

const membersIn = ({ rows, ...page }: Page<Row>): Page<ListedMember> => ({ ...page, rows: rows.map(memberOf) });

const memberOf = (row: Row): ListedMember => ({
  identity: row,
  membership: row,
  roles: rolesInJson(row.roles),
  joinedAt: row.joinedAt,
});
