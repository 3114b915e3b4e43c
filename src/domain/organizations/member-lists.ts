import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { OrganizationMember } from '../../../entities/organization-member.js';
import { within } from '../../platform/db.js';
import { type AssignedRole, assignedRolesOf } from '../access/assigned-roles.js';
import { DomainError } from '../errors.js';
import type { IdentityInEnvironment } from '../identities/identities.js';
import { isShort, searchedText } from '../identity-search.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import type { EnvironmentScope } from '../scope.js';
import { find } from './find.js';

/** A member of an organization; `roles` are those held at its node, now or at a time to come. */
export interface Member extends IdentityInEnvironment {
  roles: AssignedRole[];
  joinedAt: Date;
}

export type MemberSort = 'created_at' | 'email' | 'first_name' | 'last_name';
export type MembersPage = PageRequest<MemberSort>;

const columns: Record<MemberSort, string[]> = {
  created_at: ['member.createdAt', 'member.identityId'],
  email: ['identity.email', 'member.identityId'],
  first_name: ['identity.firstName', 'member.identityId'],
  last_name: ['identity.lastName', 'member.identityId'],
};

/** Whose names are compared one by one: it takes PostgreSQL some ms for a thousand. */
const fewMembers = 20_000;

/** The total of all is kept, others are counted. @throws DomainError organization.not_found */
export async function listMembers(
  tx: EntityManager,
  scope: EnvironmentScope,
  organizationId: string,
  { q, ...page }: MembersPage,
  at: Date,
): Promise<Page<Member>> {
  const { memberCount } = await find(tx, scope, organizationId);
  const query = queryOf(tx, scope, organizationId);
  const pattern = q && containing(q);
  if (pattern && (memberCount <= fewMembers || isShort(q))) {
    // The trigrams would find everybody of the Environment first.
    query.andWhere(`${searchedText('identity')} ilike :pattern`, { pattern });
  } else if (pattern) {
    // By way of a function, since row-level security keeps PostgreSQL from using the trigrams.
    query.andWhere(
      'member.identityId in (select gatehouse_matching_identities(:accountId, :environmentId, :pattern))',
      { ...within(scope), pattern },
    );
  }
  const { rows, ...rest } = await readPage(query, page, columns[page.sortBy], q ? undefined : memberCount);
  return { ...rest, rows: await withRoles(tx, scope, rows, at) };
}

/** @throws DomainError organization.not_found, organization.member_not_found */
export async function findOneMember(
  tx: EntityManager,
  scope: EnvironmentScope,
  { organizationId, identityId }: { organizationId: string; identityId: string },
  at: Date,
): Promise<Member> {
  await find(tx, scope, organizationId);
  const query = queryOf(tx, scope, organizationId).andWhere('member.identityId = :identityId', { identityId });
  const [member] = await withRoles(tx, scope, await query.getMany(), at);
  if (!member) throw new DomainError('organization.member_not_found');
  return member;
}

const queryOf = (tx: EntityManager, scope: EnvironmentScope, organizationId: string) =>
  tx
    .createQueryBuilder(OrganizationMember, 'member')
    .innerJoinAndMapOne('member.identity', Identity, 'identity', 'identity.id = member.identityId')
    .innerJoinAndMapOne(
      'member.membership',
      EnvironmentMembership,
      'membership',
      'membership.environmentId = member.environmentId and membership.identityId = member.identityId',
    )
    .where({ ...within(scope), organizationId });

async function withRoles(
  tx: EntityManager,
  scope: EnvironmentScope,
  rows: readonly OrganizationMember[],
  at: Date,
): Promise<Member[]> {
  const found = rows as (OrganizationMember & IdentityInEnvironment)[];
  const nodeId = found[0]?.organizationId;
  if (nodeId === undefined) return [];
  const ids = found.map(({ identityId }) => identityId);
  const roles = await assignedRolesOf(tx, scope, ids, { nodeId, at });
  return found.map(({ identity, membership, createdAt }) => ({
    identity,
    membership,
    joinedAt: createdAt,
    roles: roles.get(identity.id) ?? [],
  }));
}
