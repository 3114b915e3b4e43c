import type { Removals } from '../src/domain/removals/removals.js';
import { settled } from './settled.js';

export type { RemovalOutcome } from '../src/domain/removals/removals.js';
export type RemovalActivities = ReturnType<typeof createRemovalActivities>;

export const createRemovalActivities = ({ removals }: { removals: Omit<Removals, 'resume'> }) => ({
  removeEnvironmentContents: (id: string) => settled(() => removals.advance(id)),
  completeEnvironmentRemoval: (id: string) => settled(() => removals.complete(id)),
  cancelEnvironmentRemoval: (id: string) => settled(() => removals.cancel(id, 'cancelled_by_operator')),
});
