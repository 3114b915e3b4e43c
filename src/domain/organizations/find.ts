import type { EntityManager } from 'typeorm';
import { Node } from '../../../entities/node.js';
import { Organization } from '../../../entities/organization.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { organizationType } from '../hierarchy/rules.js';
import { columns, type PlaceFilters, placedAt, type ShownNode, shownOfNode, wholeIn } from '../hierarchy/tree.js';
import { isUnrestricted, onlyVisible, type Visibility } from '../hierarchy/visibility.js';
import { counterTotal } from '../lists/counters.js';
import { containing, type Page, type PageRequest } from '../lists/paging.js';
import { columnsOf, type RowList, readCountedPage, readPageByTotal } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';

/** The counts of an organization. */
type Counts = Pick<Organization, 'memberCount' | 'pendingInviteCount'>;
/** A node of type `organization` with its counts. */
export type OrganizationNode = Node & Counts;
export type ShownOrganization = ShownNode & Counts;

export type OrganizationSort = 'created_at' | 'name' | 'slug';
export type OrganizationPage = PageRequest<OrganizationSort> & PlaceFilters;

/**
 * SQL: how many invitations into an organization are pending. The kept count includes expired ones until a worker has
 * recorded their end, and no reader waits for a worker.
 * @param at the moment
 */
const waiting = (at: string): string => `organization.pending_invite_count - (
  select count(*)::int from identity_invites invite where invite.organization_id = organization.id
    and invite.account_id = organization.account_id and invite.status = 'pending' and invite.expires_at <= ${at})`;

/**
 * Lists the organizations that the caller sees. For all of them a counter has the total; otherwise they are counted.
 */
export function listOrganizations(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: EnvironmentScope,
  visibility: Visibility,
  { q, slug, parentNodeId, ...page }: OrganizationPage,
  at: Date,
): Promise<Page<ShownOrganization>> {
  // A literal, so that PostgreSQL recognizes the indexes of organizations.
  const isOne = `node.node_type = 'organization'`;
  const organizations: RowList = {
    from: 'nodes node',
    where: (put) =>
      [
        `node.account_id = $1 and node.environment_id = $2 and ${isOne}`,
        ...onlyVisible(visibility, put),
        ...placedAt({ slug, parentNodeId }, put),
        // By a function, since row-level security keeps PostgreSQL from using the trigrams.
        ...(q ? [`node.id in (select gatehouse_matching_organizations($1, $2, ${put(containing(q))}))`] : []),
      ].join(' and '),
    key: 'node.id',
    shownBy: 'nodes node on node.id = found.key join organizations organization on organization.id = node.id',
    select: (put) =>
      `${columnsOf('node', shownOfNode)}, organization.member_count as "memberCount",
        ${waiting(`${put(at)}::timestamptz`)} as "pendingInviteCount"`,
  };
  const isWhole = isUnrestricted(visibility) && [q, slug, parentNodeId].every((filter) => filter === undefined);
  if (!isWhole)
    return db.transaction(scope, (tx) => readCountedPage(tx, scope, organizations, page, columns[page.sortBy]));
  const whole = wholeIn(page.sortBy);
  const where = (put: Bind) => `${isOne} and ${whole.where(put)}`;
  const total = () => counterTotal('organizations');
  return readPageByTotal(db, scope, { ...organizations, where, total }, page, whole.columns);
}

/** @throws DomainError organization.not_found */
export async function findOrganization(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
): Promise<Omit<OrganizationNode, 'pendingInviteCount'>> {
  const row = await tx
    .createQueryBuilder(Node, 'node')
    .innerJoinAndMapOne('node.organization', Organization, 'organization', 'organization.id = node.id')
    .where({ ...within(scope), id, nodeType: organizationType })
    .getOne();
  if (!row) throw new DomainError('organization.not_found');
  const { organization, ...node } = row as Node & { organization: Organization };
  return { ...node, memberCount: organization.memberCount };
}

/** Adds its counts to an organization whose node was read already. @throws DomainError organization.not_found */
export async function withCounts(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  node: Node,
  at: Date,
): Promise<OrganizationNode> {
  const [counts] = await tx.query<Counts[]>(
    `select organization.member_count as "memberCount", ${waiting('$4')} as "pendingInviteCount" from organizations organization
     where organization.account_id = $1 and organization.environment_id = $2 and organization.id = $3`,
    [accountId, environmentId, node.id, at],
  );
  if (!counts) throw new DomainError('organization.not_found');
  return { ...node, ...counts };
}
