import type { EntityManager } from 'typeorm';
import type { Node } from '../../../entities/node.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { ReachedNodes } from '../access/rights.js';
import type { Bind } from '../lists/sql-parameters.js';
import { isActive } from './active.js';

/** The parts of a tree that a caller sees, and those that they may change. */
export interface Visibility {
  view: ReachedNodes;
  manage: ReachedNodes;
  /** End users' roles do not apply at or below a node that is inactive (contract §5). */
  activeOnly: boolean;
}

/** What a caller may do at a node that they see. */
export interface Access {
  /** False if it only leads to something that they see. */
  isVisible: boolean;
  isManaged: boolean;
}

export const isIn = (reach: ReachedNodes, { path }: Pick<Node, 'path'>): boolean =>
  reach === null || path.some((id) => reach.includes(id));

/** For a node that is shown, since they see it or it leads to something that they see. */
export const accessTo = ({ view, manage }: Visibility, node: Pick<Node, 'path'>): Access => ({
  isVisible: isIn(view, node),
  isManaged: isIn(manage, node),
});

/** SQL: the same for a row `node`, so that its path need not be read. */
export const accessColumns = ({ view, manage }: Visibility, put: Bind): string =>
  `${heldIn(view, put)} as "isVisible", ${heldIn(manage, put)} as "isManaged"`;

const heldIn = (reach: ReachedNodes, put: Bind) => (reach === null ? 'true' : `node.path && ${put(reach)}::uuid[]`);

/** SQL: the rows `node` that the caller sees; and the `leading` ones, if given. */
export function onlyVisible({ view, activeOnly }: Visibility, put: Bind, leading: readonly string[] = []): string[] {
  const conditions: string[] = [];
  if (view !== null) {
    const seen = `node.id in (select gatehouse_subtree($1, $2, ${put(view)}::uuid[]))`;
    conditions.push(leading.length > 0 ? `(${seen} or node.id = any(${put(leading)}::uuid[]))` : seen);
  }
  if (activeOnly) conditions.push(isActive('node.path'));
  return conditions;
}

/** Whether the caller sees all of the tree. */
export const isUnrestricted = ({ view, activeOnly }: Visibility): boolean => view === null && !activeOnly;

/**
 * Returns the nodes that lead to what the caller sees; none for a caller who sees everything. Only the root leads to
 * what is held at or below an inactive node, and does not count there.
 */
export async function pathsTo(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { view, activeOnly }: Visibility,
): Promise<string[]> {
  if (view === null) return [];
  const path = activeOnly ? `case when ${isActive('node.path')} then node.path else node.path[:1] end` : 'node.path';
  const rows = await tx.query<{ id: string }[]>(
    `select distinct unnest(${path}) as id from nodes node
     where node.account_id = $1 and node.environment_id = $2 and node.id = any($3::uuid[])`,
    [accountId, environmentId, view],
  );
  return rows.map(({ id }) => id);
}
