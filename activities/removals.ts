import type { EnvironmentRemovals } from '../src/domain/environment-removals/removals.js';
import { settled } from './settled.js';

export type RemovalActivities = ReturnType<typeof createRemovalActivities>;

export const createRemovalActivities = ({ removals }: { removals: Omit<EnvironmentRemovals, 'resume'> }) => ({
  removeEnvironmentContents: (id: string) => settled(() => removals.advance(id)),
  completeEnvironmentRemoval: (id: string) => settled(() => removals.complete(id)),
  /** @param onlyLook for a run that finds its row ended: if the row was resumed since, the run goes on */
  cancelEnvironmentRemoval: (id: string, onlyLook = false) =>
    settled(() => (onlyLook ? removals.look(id) : removals.cancel(id, 'cancelled_by_operator'))),
});
