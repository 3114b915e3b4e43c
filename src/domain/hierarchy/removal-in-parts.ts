import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import { assertAwaited } from '../../platform/giving-up.js';
import { retryingDeadlocks } from '../../platform/retry-deadlocks.js';
import type { EnvironmentScope } from '../scope.js';
import { removeLowest } from './removal.js';

/** Nodes that one transaction takes: it has the lock on the tree's shape, and all else that changes the tree waits for it. */
const mostAtOnce = 10_000;

/**
 * Deletes what is below a node from the lowest up, some in a transaction, until what is left goes in one. Of one that is interrupted, or refused since the
 * node was changed meanwhile, the rest is left; the next request goes on with it.
 * @param removing runs work in a transaction of its own
 * @throws DomainError as `remove`
 */
export async function removeInParts(
  removing: (work: (tx: EntityManager) => Promise<void>) => Promise<void>,
  scope: EnvironmentScope,
  { id, version, now, atOnce = mostAtOnce }: { id: string; version: number; now: Clock; atOnce?: number },
): Promise<void> {
  for (let goesOn = true; goesOn; assertAwaited()) {
    await retryingDeadlocks(() =>
      removing(async (tx) => {
        goesOn = await removeLowest(tx, scope, { id, version, atOnce, at: now() });
      }),
    );
  }
}
