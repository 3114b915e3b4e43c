import type { EntityManager } from 'typeorm';
import type { Node } from '../../../entities/node.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { ReachedNodes } from '../access/rights.js';
import type { Bind } from '../sql-parameters.js';
import { isActive } from './active.js';

/** What of a tree somebody sees, and where they may change it. */
export interface Sight {
  view: ReachedNodes;
  manage: ReachedNodes;
  /** End users' roles do not count at or below a node that is inactive (contract §5). */
  activeOnly: boolean;
}

/** What somebody may do at a node that is shown to them. */
export interface Access {
  /** False where it only leads to what is seen. */
  isSeen: boolean;
  isManaged: boolean;
}

export const isIn = (reach: ReachedNodes, { path }: Pick<Node, 'path'>): boolean =>
  reach === null || path.some((id) => reach.includes(id));

/** Of a node that is shown: it is seen, or leads to what is. */
export const accessTo = ({ view, manage }: Sight, node: Pick<Node, 'path'>): Access => ({
  isSeen: isIn(view, node),
  isManaged: isIn(manage, node),
});

/** SQL: the same of a row `node`, so that nobody reads its path. */
export const accessColumns = ({ view, manage }: Sight, put: Bind): string =>
  `${heldIn(view, put)} as "isSeen", ${heldIn(manage, put)} as "isManaged"`;

const heldIn = (reach: ReachedNodes, put: Bind) => (reach === null ? 'true' : `node.path && ${put(reach)}::uuid[]`);

/** SQL: keeps to the rows `node` that are seen; with `leading`, also those. */
export function onlySeen({ view, activeOnly }: Sight, put: Bind, leading: readonly string[] = []): string[] {
  const conditions: string[] = [];
  if (view !== null) {
    const seen = `node.id in (select gatehouse_subtree($1, $2, ${put(view)}::uuid[]))`;
    conditions.push(leading.length > 0 ? `(${seen} or node.id = any(${put(leading)}::uuid[]))` : seen);
  }
  if (activeOnly) conditions.push(isActive('node.path'));
  return conditions;
}

/** Whether all of the tree is seen. */
export const seesAll = ({ view, activeOnly }: Sight): boolean => view === null && !activeOnly;

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
