import type { EntityManager } from 'typeorm';
import type { Node, NodeStatus } from '../../../entities/node.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { counterTotal } from '../lists/counters.js';
import { atAnyTime, inEnvironmentsOrder } from '../lists/one-plan.js';
import type { Page, PageRequest } from '../lists/paging.js';
import {
  columnsOf,
  type RowList,
  readCountedPage,
  readManyRows,
  readPageByTotal,
  readRows,
} from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import { findNode } from './nodes.js';
import { havingText } from './search.js';
import {
  type Access,
  accessColumns,
  accessTo,
  isIn,
  isUnrestricted,
  onlyVisible,
  pathsTo,
  type Visibility,
} from './visibility.js';

export type NodeSort = 'created_at' | 'name' | 'slug';
export type NodePage = PageRequest<NodeSort> & { nodeType?: string | undefined; status?: NodeStatus | undefined };
/** A node in a list: its place, and its name there. */
export interface PlaceFilters {
  slug?: string | undefined;
  parentNodeId?: string | undefined;
}

/** SQL: the rows `node` of the tenant. */
export const placedAt = ({ slug, parentNodeId }: PlaceFilters, put: Bind): string[] => [
  ...(slug !== undefined ? [`node.slug = ${put(slug)}`] : []),
  ...(parentNodeId !== undefined ? [`node.parent_node_id = ${put(parentNodeId)}`] : []),
];

/** The columns of a node that are shown. */
export const shownOfNode = [
  'id',
  'applicationId',
  'parentNodeId',
  'nodeType',
  'name',
  'description',
  'slug',
  'status',
  'metadata',
  'version',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof Node)[];
export type ShownNode = Pick<Node, (typeof shownOfNode)[number]>;
export type VisibleNode = ShownNode & Access;

/**
 * More nodes than this are of no use to a reader; nor is a response of 50 MB, which stays in memory until it is sent.
 */
const maxInTree = 20_000;
const maxLengthInTree = 16_000_000;
const lengthOf = ({ description, metadata }: VisibleNode) =>
  (description?.length ?? 0) + JSON.stringify(metadata).length;

/** The sort columns of lists of nodes. */
export const columns: Record<NodeSort, string[]> = {
  created_at: ['node.created_at', 'node.id'],
  name: ['node.name', 'node.id'],
  slug: ['node.slug', 'node.id'],
};

/**
 * How all nodes, or all organizations, are read in an order: as one plan for all tenants needs it. No index matches the
 * Account, since PostgreSQL would read all nodes by it and by the Environment, of which it expects next to none.
 */
export const wholeIn = (sortBy: NodeSort) => ({
  where: (put: Bind): string =>
    `(node.account_id = $1) is true and ${
      sortBy === 'created_at'
        ? `node.environment_id = $2 and ${atAnyTime('node.created_at', put)}`
        : inEnvironmentsOrder('node.environment_id')
    }`,
  columns: sortBy === 'created_at' ? columns.created_at : ['node.environment_id', ...columns[sortBy]],
});

/** @param conditions on a row `node`, besides its tenant */
const nodesIn = (visibility: Visibility, conditions: (put: Bind) => string[]): RowList => ({
  from: 'nodes node',
  where: (put) => ['node.account_id = $1 and node.environment_id = $2', ...conditions(put)].join(' and '),
  key: 'node.id',
  shownBy: 'nodes node on node.id = found.key',
  select: (put) => `${columnsOf('node', shownOfNode)}, ${accessColumns(visibility, put)}`,
});

/**
 * Lists the nodes that the caller sees. If these are all nodes, a counter has the total; otherwise they are counted.
 */
export function listNodes(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: EnvironmentScope,
  visibility: Visibility,
  page: NodePage & PlaceFilters,
): Promise<Page<VisibleNode>> {
  const { q, nodeType, status, slug, parentNodeId } = page;
  const isWhole =
    isUnrestricted(visibility) && [q, nodeType, status, slug, parentNodeId].every((filter) => filter === undefined);
  if (isWhole) {
    const { where, columns } = wholeIn(page.sortBy);
    const all = { ...nodesIn(visibility, () => []), where, total: () => counterTotal('nodes') };
    return readPageByTotal(db, scope, all, page, columns);
  }
  return db.transaction(scope, async (tx) => {
    const filters = await filtersOf(tx, scope, page);
    const nodes = nodesIn(visibility, (put) => [
      ...onlyVisible(visibility, put),
      ...placedAt(page, put),
      ...filters(put),
    ]);
    return readCountedPage(tx, scope, nodes, page, columns[page.sortBy]);
  });
}

/**
 * Returns a node and everything below it, as far as the caller sees it.
 * @throws DomainError nodes.node_not_found
 */
export async function subtree(
  tx: EntityManager,
  scope: EnvironmentScope,
  visibility: Visibility,
  id: string,
  page: NodePage,
): Promise<Page<VisibleNode>> {
  await findNode(tx, scope, id);
  const filters = await filtersOf(tx, scope, page);
  const nodes = nodesIn(visibility, (put) => [...onlyVisible({ ...visibility, view: [id] }, put), ...filters(put)]);
  return readCountedPage(tx, scope, nodes, page, columns[page.sortBy]);
}

/**
 * Returns the children of a node that the caller sees, or that lead to what they see.
 * @throws DomainError nodes.node_not_found
 */
export async function children(
  tx: EntityManager,
  scope: EnvironmentScope,
  visibility: Visibility,
  id: string,
  page: NodePage,
): Promise<Page<VisibleNode>> {
  const { node, paths } = await look(tx, scope, visibility, id);
  const view = isIn(visibility.view, node) ? null : visibility.view;
  const filters = await filtersOf(tx, scope, page);
  const nodes = nodesIn(visibility, (put) => [
    ...onlyVisible({ ...visibility, view }, put, paths),
    `node.parent_node_id = ${put(id)}`,
    ...filters(put),
  ]);
  return readCountedPage(tx, scope, nodes, page, columns[page.sortBy]);
}

/**
 * Returns the nodes from the root down to a node's parent.
 * @throws DomainError nodes.node_not_found
 */
export async function ancestors(
  tx: EntityManager,
  scope: EnvironmentScope,
  visibility: Visibility,
  id: string,
): Promise<VisibleNode[]> {
  const { node } = await look(tx, scope, visibility, id);
  const above = nodesIn(visibility, (put) => [`node.id = any(${put(node.path.slice(0, -1))}::uuid[])`]);
  return readRows(tx, scope, above, 'order by cardinality(node.path)');
}

/**
 * Returns a node that the caller sees, or that leads to what they see.
 * @throws DomainError nodes.node_not_found
 */
export async function getNode(
  tx: EntityManager,
  scope: EnvironmentScope,
  visibility: Visibility,
  id: string,
): Promise<VisibleNode> {
  const { node } = await look(tx, scope, visibility, id);
  return { ...node, ...accessTo(visibility, node) };
}

/**
 * Reads the root and what the caller sees below it, with the nodes that lead there, by name.
 * @param depth levels below the root; null: all of them
 * @throws DomainError nodes.tree_too_large
 */
export async function readTree(
  tx: EntityManager,
  scope: EnvironmentScope,
  visibility: Visibility,
  depth: number | null,
): Promise<VisibleNode[]> {
  const paths = await pathsTo(tx, scope, visibility);
  const nodes = nodesIn(visibility, (put) => [
    ...onlyVisible(visibility, put, paths),
    ...(depth === null ? [] : [`cardinality(node.path) <= ${put(depth + 1)}`]),
  ]);
  const ending = `order by node.name, node.id limit ${maxInTree + 1}`;
  const rows = await readManyRows(tx, scope, nodes, ending, { lengthOf, maxLength: maxLengthInTree });
  if (rows === null || rows.length > maxInTree) throw new DomainError('nodes.tree_too_large');
  return rows;
}

async function look(tx: EntityManager, scope: EnvironmentScope, visibility: Visibility, id: string) {
  const node = await findNode(tx, scope, id);
  const paths = isIn(visibility.view, node) ? [] : await pathsTo(tx, scope, visibility);
  if (!isIn(visibility.view, node) && !paths.includes(node.id)) throw new DomainError('nodes.node_not_found');
  return { node, paths };
}

async function filtersOf(tx: EntityManager, scope: EnvironmentScope, { q, nodeType, status }: NodePage) {
  const named = q ? await havingText(tx, scope, q) : null;
  return (put: Bind): string[] => {
    const conditions = named ? [named(put)] : [];
    if (nodeType !== undefined) conditions.push(`node.node_type = ${put(nodeType)}`);
    if (status !== undefined) conditions.push(`node.status = ${put(status)}`);
    return conditions;
  };
}
