import type { Reconciler, ReconcilerPlace } from '../src/domain/processes/reconciler.js';
import { settled } from './settled.js';

export type { ReconcilerPlace } from '../src/domain/processes/reconciler.js';
export type ReconcilerActivities = ReturnType<typeof createReconcilerActivities>;

export const createReconcilerActivities = ({ reconciler }: { reconciler: Reconciler }) => ({
  reconcilePage: (place: ReconcilerPlace | null, pageSize: number) =>
    settled(() => reconciler.reconcile(place, pageSize)),
});
