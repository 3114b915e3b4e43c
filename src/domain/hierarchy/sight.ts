import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import type { Node } from '../../../entities/node.js';
import type { ReachedNodes } from '../access/rights.js';
import type { EnvironmentScope } from '../scope.js';

/** What of a tree somebody sees, and where they may change it. */
export interface Sight {
  view: ReachedNodes;
  manage: ReachedNodes;
  /** End users' roles do not count at or below a node that is inactive (contract §5). */
  activeOnly: boolean;
}

export interface Access {
  /** `path_only`: it only leads to what is seen. */
  state: 'accessible' | 'path_only';
  canManage: boolean;
}

export const isIn = (reach: ReachedNodes, { path }: Pick<Node, 'path'>): boolean =>
  reach === null || path.some((id) => reach.includes(id));

/** Of a node that is shown: it is seen, or leads to what is. */
export const accessTo = ({ view, manage }: Sight, node: Pick<Node, 'path'>): Access => ({
  state: isIn(view, node) ? 'accessible' : 'path_only',
  canManage: isIn(manage, node),
});

/** Keeps to the nodes that are seen; with `leading`, also those. */
export function onlySeen(
  query: SelectQueryBuilder<Node>,
  { accountId, environmentId }: EnvironmentScope,
  { view, activeOnly }: Sight,
  leading: readonly string[] = [],
): SelectQueryBuilder<Node> {
  if (view !== null) {
    const seen = 'node.id in (select gatehouse_subtree(:accountId, :environmentId, cast(:view as uuid[])))';
    query.andWhere(leading.length > 0 ? `(${seen} or node.id = any(:leading))` : seen);
    query.setParameters({ accountId, environmentId, view, leading });
  }
  if (activeOnly) {
    query.andWhere(`not exists (select from nodes off where off.id = any(node.path) and off.status = 'inactive')`);
  }
  return query;
}

/** Every node on the way to what is seen. Nobody needs a way who sees everything. */
export async function waysTo(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { view }: Sight,
): Promise<string[]> {
  if (view === null) return [];
  const rows = await tx.query<{ id: string }[]>(
    `select distinct unnest(path) as id from nodes where account_id = $1 and environment_id = $2 and id = any($3::uuid[])`,
    [accountId, environmentId, view],
  );
  return rows.map(({ id }) => id);
}
