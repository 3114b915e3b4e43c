import type { EntityManager } from 'typeorm';
import { Node } from '../../../entities/node.js';
import { Organization } from '../../../entities/organization.js';
import { type Db, within } from '../../platform/db.js';
import { counterTotal } from '../counters.js';
import { DomainError } from '../errors.js';
import { onlySeen, type Sight, seesAll } from '../hierarchy/sight.js';
import { columns, type ShownNode, shownOfNode } from '../hierarchy/tree.js';
import { containing, type Page, type PageRequest } from '../paging.js';
import { columnsOf, type RowList, readPart, readWhole } from '../row-pages.js';
import type { EnvironmentScope } from '../scope.js';

/** What is counted of an organization. */
type Counts = Pick<Organization, 'memberCount' | 'pendingInviteCount'>;
/** A node of type `organization` with what is counted of it. */
export type OrganizationNode = Node & Counts;
export type ShownOrganization = ShownNode & Counts;

export type OrganizationSort = 'created_at' | 'name' | 'slug';
export type OrganizationPage = PageRequest<OrganizationSort>;

/** Those that are seen; the total of all is kept, others are counted. */
export function list(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: EnvironmentScope,
  sight: Sight,
  { q, ...page }: OrganizationPage,
): Promise<Page<ShownOrganization>> {
  const organizations: RowList = {
    from: 'nodes node',
    where: (put) =>
      [
        // The type is written out, so that PostgreSQL knows the indexes of organizations by it.
        `node.account_id = $1 and node.environment_id = $2 and node.node_type = 'organization'`,
        ...onlySeen(sight, put),
        // By way of a function, since row-level security keeps PostgreSQL from using the trigrams.
        ...(q ? [`node.id in (select gatehouse_matching_organizations($1, $2, ${put(containing(q))}))`] : []),
      ].join(' and '),
    key: 'node.id',
    shownBy: 'nodes node on node.id = found.key join organizations organization on organization.id = node.id',
    select: () =>
      `${columnsOf('node', shownOfNode)}, ${columnsOf('organization', ['memberCount', 'pendingInviteCount'])}`,
  };
  const sorted = columns[page.sortBy];
  const isWhole = seesAll(sight) && !q;
  if (isWhole)
    return readWhole(db, scope, { ...organizations, total: () => counterTotal('organizations') }, page, sorted);
  return db.transaction(scope, (tx) => readPart(tx, scope, organizations, page, sorted));
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

const queryOf = (tx: EntityManager, scope: EnvironmentScope) =>
  tx
    .createQueryBuilder(Node, 'node')
    .innerJoinAndMapOne('node.organization', Organization, 'organization', 'organization.id = node.id')
    .where({ ...within(scope), nodeType: 'organization' });

function joined(row: Node): OrganizationNode {
  const { organization, ...node } = row as Node & { organization: Organization };
  const { memberCount, pendingInviteCount } = organization;
  return { ...node, memberCount, pendingInviteCount };
}
