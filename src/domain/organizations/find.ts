import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { Node } from '../../../entities/node.js';
import { Organization } from '../../../entities/organization.js';
import { within } from '../../platform/db.js';
import { readCounter } from '../counters.js';
import { DomainError } from '../errors.js';
import { onlySeen, type Sight } from '../hierarchy/sight.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import type { EnvironmentScope } from '../scope.js';

/** A node of type `organization` with what is counted of it. */
export type OrganizationNode = Node & Pick<Organization, 'memberCount' | 'pendingInviteCount'>;

export type OrganizationSort = 'created_at' | 'name' | 'slug';
export type OrganizationPage = PageRequest<OrganizationSort>;

const columns: Record<OrganizationSort, string[]> = {
  created_at: ['node.createdAt', 'node.id'],
  name: ['node.name', 'node.id'],
  slug: ['node.slug', 'node.id'],
};

/** Those that are seen; the total of all is kept, others are counted. */
export async function list(
  tx: EntityManager,
  scope: EnvironmentScope,
  sight: Sight,
  { q, ...page }: OrganizationPage,
): Promise<Page<OrganizationNode>> {
  const query = onlySeen(queryOf(tx, scope), scope, sight);
  if (q) {
    // By way of a function, since row-level security keeps PostgreSQL from using the trigrams.
    query.andWhere('node.id in (select gatehouse_matching_organizations(:accountId, :environmentId, :pattern))', {
      pattern: containing(q),
    });
  }
  const isWhole = sight.view === null && !sight.activeOnly && !q;
  const count = isWhole ? await readCounter(tx, scope, 'organizations') : undefined;
  const { rows, ...rest } = await readPage(query, page, columns[page.sortBy], count);
  return { ...rest, rows: rows.map(joined) };
}

/** @throws DomainError organization.not_found */
export async function find(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<OrganizationNode> {
  const row = await queryOf(tx, scope).andWhere('node.id = :id', { id }).getOne();
  if (!row) throw new DomainError('organization.not_found');
  return joined(row);
}

/** What is counted of an organization whose node is at hand. @throws DomainError organization.not_found */
export async function withCounts(tx: EntityManager, scope: EnvironmentScope, node: Node): Promise<OrganizationNode> {
  const organization = await tx.findOneBy(Organization, { ...within(scope), id: node.id });
  if (!organization) throw new DomainError('organization.not_found');
  return { ...node, memberCount: organization.memberCount, pendingInviteCount: organization.pendingInviteCount };
}

// The type is written out, so that PostgreSQL knows the indexes of organizations by it.
const queryOf = (tx: EntityManager, scope: EnvironmentScope): SelectQueryBuilder<Node> =>
  tx
    .createQueryBuilder(Node, 'node')
    .innerJoinAndMapOne('node.organization', Organization, 'organization', 'organization.id = node.id')
    .where('node.accountId = :accountId and node.environmentId = :environmentId', { ...within(scope) })
    .andWhere(`node.nodeType = 'organization'`);

function joined(row: Node): OrganizationNode {
  const { organization, ...node } = row as Node & { organization: Organization };
  const { memberCount, pendingInviteCount } = organization;
  return { ...node, memberCount, pendingInviteCount };
}
