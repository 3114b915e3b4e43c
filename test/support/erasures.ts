import type { Erasures } from '../../src/domain/erasures/erasures.js';

/** Does what the process of an erasure that was asked for does, to its end. */
export async function finishErasure({ deleteSessions, removeMemberships, complete }: Erasures, id: string) {
  for (const step of [deleteSessions, removeMemberships]) while ((await step(id)) === 'more');
  return complete(id);
}
