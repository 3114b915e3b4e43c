import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { containing, type Page, type PageRequest } from '../lists/paging.js';
import { type RowList, readCountedPage } from '../lists/row-pages.js';

/** An organization, as shown to one of its members. */
export interface OrganizationOfPerson {
  id: string;
  name: string;
  slug: string;
  status: 'active' | 'inactive';
  joinedAt: Date;
}

export type OfPersonSort = 'created_at' | 'name' | 'slug';

const columns: Record<OfPersonSort, string[]> = {
  created_at: ['member.created_at', 'member.organization_id'],
  name: ['node.name', 'member.organization_id'],
  slug: ['node.slug', 'member.organization_id'],
};
const node = `cross join lateral (select id, name, slug, status from nodes
  where id = member.organization_id and account_id = $1 offset 0) node`;

/**
 * The organizations of an Identity, including inactive ones; age is that of the membership.
 * @throws DomainError identity.not_found
 */
export const organizationsOfPerson = (
  db: Pick<Db, 'transaction'>,
  scope: EnvironmentScope,
  identityId: string,
  { q, ...page }: PageRequest<OfPersonSort>,
): Promise<Page<OrganizationOfPerson>> =>
  db.transaction(scope, async (tx) => {
    if (!(await tx.existsBy(EnvironmentMembership, { ...within(scope), identityId })))
      throw new DomainError('identity.not_found');
    const list: RowList = {
      from: `organization_members member ${node}`,
      where: (put) =>
        `member.account_id = $1 and member.environment_id = $2 and member.identity_id = ${put(identityId)}${q ? ` and node.name ilike ${put(containing(q))}` : ''}`,
      key: 'member.organization_id',
      carried: 'member.created_at',
      shownBy: `lateral (select found.key as organization_id, found.created_at) member on true ${node}`,
      select: () => 'node.id, node.name, node.slug, node.status, member.created_at as "joinedAt"',
    };
    return readCountedPage(tx, scope, list, page, columns[page.sortBy]);
  });
