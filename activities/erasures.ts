import type { Erasures } from '../src/domain/erasures/erasures.js';
import { settled } from './settled.js';

export type { StepOutcome } from '../src/domain/erasures/erasures.js';
export type ErasureActivities = ReturnType<typeof createErasureActivities>;

export const createErasureActivities = ({ erasures }: { erasures: Omit<Erasures, 'request'> }) => ({
  endErasedSessions: (id: string) => settled(() => erasures.endSessions(id)),
  removeErasedMemberships: (id: string) => settled(() => erasures.removeMemberships(id)),
  completeErasure: (id: string) => settled(() => erasures.complete(id)),
  cancelErasure: (id: string) => settled(() => erasures.cancel(id, 'cancelled_by_operator')),
});
