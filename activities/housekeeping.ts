import type { Housekeeping, SweepPlace } from '../src/domain/housekeeping/housekeeping.js';
import { settled } from './settled.js';

export type { SweepPlace } from '../src/domain/housekeeping/housekeeping.js';
export type HousekeepingActivities = ReturnType<typeof createHousekeepingActivities>;

export const createHousekeepingActivities = ({ housekeeping }: { housekeeping: Housekeeping }) => ({
  countEvents: () => settled(() => housekeeping.countEvents()),
  sweepBatch: (place: SweepPlace | null, batchSize: number) => settled(() => housekeeping.sweep(place, batchSize)),
});
