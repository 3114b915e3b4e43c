import { assertAwaited } from './aborting.js';
import { retryingDeadlocks } from './retry-deadlocks.js';

/** Whether work that is done in parts goes on. */
export type Left = 'more' | 'done';

/**
 * Runs transactions that each do a part of some work, one after another, until one says that nothing is left. A part
 * that was rolled back because of a deadlock is repeated.
 * @throws RequestAborted between two parts if nobody waits any more: the next request continues with the rest
 */
export async function inParts(part: () => Promise<Left>): Promise<void> {
  while ((await retryingDeadlocks(part)) === 'more') assertAwaited();
}
