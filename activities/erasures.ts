import type { Erasures } from '../src/domain/erasures/erasures.js';
import { settled } from './settled.js';

export type { StepOutcome } from '../src/domain/erasures/erasures.js';
export type ErasureActivities = ReturnType<typeof createErasureActivities>;

export const createErasureActivities = ({ erasures }: { erasures: Omit<Erasures, 'request'> }) => ({
  endErasedSessions: (id: string) => settled(() => erasures.deleteSessions(id)),
  removeErasedMemberships: (id: string) => settled(() => erasures.removeMemberships(id)),
  completeErasure: (id: string) => settled(() => erasures.complete(id)),
  /** @param onlyLook for a run that finds its row ended: if the row was resumed since, the run goes on */
  cancelErasure: (id: string, onlyLook = false) =>
    settled(() => (onlyLook ? erasures.look(id) : erasures.cancel(id, 'cancelled_by_operator'))),
});
