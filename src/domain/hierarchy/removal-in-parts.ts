import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import { inParts, type Left } from '../../platform/database/in-parts.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { removeSomeOf } from './removal.js';
import { maxAtOnce } from './surplus-roles.js';

/** How a node is to be deleted: as it was read, and with everything below it or only if there is nothing. */
export interface NodeRemoval {
  version: number;
  cascade: boolean;
}

/**
 * Deletes a node, with `cascade` everything below it too, from the bottom up: in several transactions, until what is
 * left fits in one. If that is interrupted, or refused since the node was changed meanwhile, the rest is left; the next
 * request continues with it.
 * @param removing runs work in a transaction of its own
 * @throws DomainError nodes.node_not_found, version.conflict with the node as it is now, nodes.root_fixed,
 *   nodes.has_children
 */
export async function removeInParts(
  removing: (work: (tx: EntityManager) => Promise<Left>) => Promise<Left>,
  scope: EnvironmentScope,
  { now, atOnce = maxAtOnce, ...what }: NodeRemoval & { id: string; now: Clock; atOnce?: number },
): Promise<void> {
  await inParts(() => removing((tx) => removeSomeOf(tx, scope, { ...what, atOnce, at: now() })));
}
