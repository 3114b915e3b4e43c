import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import { assertAwaited } from '../../platform/database/giving-up.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { type Left, removeSomeOf } from './removal.js';

/** Nodes, or roles held at them, that one transaction takes: it has the lock on the tree's shape, and all else that changes the tree waits for it. */
const mostAtOnce = 10_000;

/**
 * Deletes a node, with `cascade` everything below it too, from the lowest up: some in a transaction, until what is left goes in one. Of one that is interrupted, or
 * refused since the node was changed meanwhile, the rest is left; the next request goes on with it.
 * @param removing runs work in a transaction of its own
 * @throws DomainError nodes.node_not_found, version.conflict with the node as it is now, nodes.root_fixed, nodes.has_children
 */
export async function removeInParts(
  removing: (work: (tx: EntityManager) => Promise<Left>) => Promise<Left>,
  scope: EnvironmentScope,
  { now, atOnce = mostAtOnce, ...what }: { id: string; version: number; cascade: boolean; now: Clock; atOnce?: number },
): Promise<void> {
  const some = () => removing((tx) => removeSomeOf(tx, scope, { ...what, atOnce, at: now() }));
  while ((await retryingDeadlocks(some)) === 'more') assertAwaited();
}
