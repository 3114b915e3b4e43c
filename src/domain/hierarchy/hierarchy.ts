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
import {
  ancestors,
  children,
  getNode,
  listNodes,
  type NodePage,
  type PlaceFilters,
  readTree,
  subtree,
  type VisibleNode,
} from './tree.js';
import type { Visibility } from './visibility.js';

/**
 * The tree of an Environment: each of these in a transaction of its own, except for the list of all nodes. The
 * functions that they call document their refusals.
 */
export function createHierarchy({ db, now }: { db: Db; now: Clock }) {
  const slugTaken = (error: unknown): never => {
    throw violates(error, 'nodes_slug') ? new DomainError('nodes.slug_taken') : error;
  };

  return {
    list: (
      scope: EnvironmentScope,
      visibility: Visibility,
      page: NodePage & PlaceFilters,
    ): Promise<Page<VisibleNode>> => listNodes(db, scope, visibility, page),
    tree: (scope: EnvironmentScope, visibility: Visibility, depth: number | null): Promise<VisibleNode[]> =>
      db.transaction(scope, (tx) => readTree(tx, scope, visibility, depth)),
    root: (scope: EnvironmentScope): Promise<Node> => db.transaction(scope, (tx) => rootOf(tx, scope)),
    get: (scope: EnvironmentScope, visibility: Visibility, id: string): Promise<VisibleNode> =>
      db.transaction(scope, (tx) => getNode(tx, scope, visibility, id)),
    subtree: (
      scope: EnvironmentScope,
      visibility: Visibility,
      id: string,
      page: NodePage,
    ): Promise<Page<VisibleNode>> => db.transaction(scope, (tx) => subtree(tx, scope, visibility, id, page)),
    children: (
      scope: EnvironmentScope,
      visibility: Visibility,
      id: string,
      page: NodePage,
    ): Promise<Page<VisibleNode>> => db.transaction(scope, (tx) => children(tx, scope, visibility, id, page)),
    ancestors: (scope: EnvironmentScope, visibility: Visibility, id: string): Promise<VisibleNode[]> =>
      db.transaction(scope, (tx) => ancestors(tx, scope, visibility, id)),

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
