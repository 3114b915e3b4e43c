import type { Erasures } from '../../src/domain/erasures/erasures.js';

/** Runs all steps of the process of an erasure that was requested. */
export async function finishErasure({ deleteSessions, removeMemberships, complete }: Erasures, id: string) {
  for (const step of [deleteSessions, removeMemberships]) while ((await step(id)) === 'more');
  return complete(id);
}
