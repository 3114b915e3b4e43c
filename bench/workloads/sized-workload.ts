import type { SizedContext, Workload } from './workload.js';

/** A workload that is measured in both the small and the large Environment. */
export interface SizedWorkload extends Omit<Workload, 'prepare' | 'size'> {
  prepare(context: SizedContext): ReturnType<Workload['prepare']>;
}
