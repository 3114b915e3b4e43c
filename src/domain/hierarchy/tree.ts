import { type EntityManager, In } from 'typeorm';
import { Node, type NodeStatus } from '../../../entities/node.js';
import { within } from '../../platform/db.js';
import { readCounter } from '../counters.js';
import { DomainError } from '../errors.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import type { EnvironmentScope } from '../scope.js';
import { find } from './nodes.js';
import { isIn, onlySeen, type Sight, waysTo } from './sight.js';

export type NodeSort = 'created_at' | 'name' | 'slug';
export type NodePage = PageRequest<NodeSort> & { nodeType?: string | undefined; status?: NodeStatus | undefined };

/** More than this is no answer to anybody who looks at it. */
const mostInTree = 20_000;

const columns: Record<NodeSort, string[]> = {
  created_at: ['node.createdAt', 'node.id'],
  name: ['node.name', 'node.id'],
  slug: ['node.slug', 'node.id'],
};

const selection = (
  [
    ...['id', 'accountId', 'applicationId', 'environmentId', 'parentNodeId', 'nodeType', 'name', 'description', 'slug'],
    ...['status', 'metadata', 'path', 'version', 'createdAt', 'updatedAt'],
  ] as (keyof Node)[]
).map((property) => `node.${property} as "${property}"`);

const queryOf = (tx: EntityManager, scope: EnvironmentScope) =>
  tx.createQueryBuilder(Node, 'node').where('node.accountId = :accountId and node.environmentId = :environmentId', {
    ...within(scope),
  });

/** Those that are seen. */
export async function list(
  tx: EntityManager,
  scope: EnvironmentScope,
  sight: Sight,
  page: NodePage,
): Promise<Page<Node>> {
  const isWhole = sight.view === null && !sight.activeOnly && !page.q && !page.nodeType && !page.status;
  const count = isWhole ? await readCounter(tx, scope, 'nodes') : undefined;
  return readPage(filtered(onlySeen(queryOf(tx, scope), scope, sight), page), page, columns[page.sortBy], count);
}

/**
 * A node and everything below it, as far as it is seen.
 * @throws DomainError nodes.node_not_found
 */
export async function subtree(
  tx: EntityManager,
  scope: EnvironmentScope,
  sight: Sight,
  id: string,
  page: NodePage,
): Promise<Page<Node>> {
  await find(tx, scope, id);
  const query = onlySeen(queryOf(tx, scope), scope, { ...sight, view: [id] });
  return readPage(filtered(query, page), page, columns[page.sortBy]);
}

/**
 * What stands right under a node, and is seen or leads to what is.
 * @throws DomainError nodes.node_not_found
 */
export async function children(
  tx: EntityManager,
  scope: EnvironmentScope,
  sight: Sight,
  id: string,
  page: NodePage,
): Promise<Page<Node>> {
  const { node, ways } = await look(tx, scope, sight, id);
  const view = isIn(sight.view, node) ? null : sight.view;
  const query = onlySeen(queryOf(tx, scope), scope, { ...sight, view }, ways);
  query.andWhere('node.parentNodeId = :id', { id });
  return readPage(filtered(query, page), page, columns[page.sortBy]);
}

/**
 * The nodes from the root down to a node's parent.
 * @throws DomainError nodes.node_not_found
 */
export async function ancestors(tx: EntityManager, scope: EnvironmentScope, sight: Sight, id: string): Promise<Node[]> {
  const { node } = await look(tx, scope, sight, id);
  const above = await tx.findBy(Node, { ...within(scope), id: In(node.path.slice(0, -1)) });
  return above.sort((a, b) => a.path.length - b.path.length);
}

/**
 * A node that is seen, or leads to what is.
 * @throws DomainError nodes.node_not_found
 */
export const get = async (tx: EntityManager, scope: EnvironmentScope, sight: Sight, id: string): Promise<Node> =>
  (await look(tx, scope, sight, id)).node;

/**
 * The root and what is seen below it, with what leads there, by name.
 * @param depth levels below the root; null: all of them
 * @throws DomainError nodes.tree_too_large
 */
export async function tree(
  tx: EntityManager,
  scope: EnvironmentScope,
  sight: Sight,
  depth: number | null,
): Promise<Node[]> {
  const ways = await waysTo(tx, scope, sight);
  const query = onlySeen(queryOf(tx, scope), scope, sight, ways);
  if (depth !== null) query.andWhere('cardinality(node.path) <= :levels', { levels: depth + 1 });
  // Without making entities of them: most of the time would be spent on that.
  const rows = await query
    .select(selection)
    .orderBy('node.name', 'ASC')
    .addOrderBy('node.id', 'ASC')
    .limit(mostInTree + 1)
    .getRawMany<Node>();
  if (rows.length > mostInTree) throw new DomainError('nodes.tree_too_large');
  return rows;
}

async function look(tx: EntityManager, scope: EnvironmentScope, sight: Sight, id: string) {
  const node = await find(tx, scope, id);
  const ways = isIn(sight.view, node) ? [] : await waysTo(tx, scope, sight);
  if (!isIn(sight.view, node) && !ways.includes(node.id)) throw new DomainError('nodes.node_not_found');
  return { node, ways };
}

function filtered(query: ReturnType<typeof queryOf>, { q, nodeType, status }: NodePage) {
  if (q) query.andWhere('(node.name ilike :pattern or node.slug ilike :pattern)', { pattern: containing(q) });
  if (nodeType) query.andWhere('node.nodeType = :nodeType', { nodeType });
  if (status) query.andWhere('node.status = :status', { status });
  return query;
}
