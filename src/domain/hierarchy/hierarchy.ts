import type { Node } from '../../../entities/node.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import type { Page } from '../lists/paging.js';
import { changeNode, type NodeChanges } from './changes.js';
import { createNode, type NewNode, rootOf } from './nodes.js';
import { type NodeRemoval, removeInParts } from './removal-in-parts.js';
import type { Sight } from './sight.js';
import {
  ancestors,
  children,
  getNode,
  listNodes,
  type NodeInSight,
  type NodePage,
  type PlaceFilters,
  readTree,
  subtree,
} from './tree.js';

/**
 * The tree of an Environment: each of these in a transaction of its own, except for the list of all nodes. The
 * functions that they call document their refusals.
 */
export function createHierarchy({ db, now }: { db: Db; now: Clock }) {
  const slugTaken = (error: unknown): never => {
    throw violates(error, 'nodes_slug') ? new DomainError('nodes.slug_taken') : error;
  };

  return {
    list: (scope: EnvironmentScope, sight: Sight, page: NodePage & PlaceFilters): Promise<Page<NodeInSight>> =>
      listNodes(db, scope, sight, page),
    tree: (scope: EnvironmentScope, sight: Sight, depth: number | null): Promise<NodeInSight[]> =>
      db.transaction(scope, (tx) => readTree(tx, scope, sight, depth)),
    root: (scope: EnvironmentScope): Promise<Node> => db.transaction(scope, (tx) => rootOf(tx, scope)),
    get: (scope: EnvironmentScope, sight: Sight, id: string): Promise<NodeInSight> =>
      db.transaction(scope, (tx) => getNode(tx, scope, sight, id)),
    subtree: (scope: EnvironmentScope, sight: Sight, id: string, page: NodePage): Promise<Page<NodeInSight>> =>
      db.transaction(scope, (tx) => subtree(tx, scope, sight, id, page)),
    children: (scope: EnvironmentScope, sight: Sight, id: string, page: NodePage): Promise<Page<NodeInSight>> =>
      db.transaction(scope, (tx) => children(tx, scope, sight, id, page)),
    ancestors: (scope: EnvironmentScope, sight: Sight, id: string): Promise<NodeInSight[]> =>
      db.transaction(scope, (tx) => ancestors(tx, scope, sight, id)),

    create: (scope: EnvironmentScope, input: NewNode): Promise<Node> =>
      db.transaction(scope, (tx) => createNode(tx, scope, input, now())),
    change: (scope: EnvironmentScope, id: string, version: number, changes: NodeChanges): Promise<Node> =>
      retryingDeadlocks(() =>
        db.transaction(scope, (tx) => changeNode(tx, scope, { id, version, changes, at: now() })),
      ).catch(slugTaken),
    remove: (scope: EnvironmentScope, id: string, { version, cascade }: NodeRemoval): Promise<void> =>
      removeInParts((work) => db.transaction(scope, work), scope, { id, version, cascade, now }),
  };
}

export type Hierarchy = ReturnType<typeof createHierarchy>;
