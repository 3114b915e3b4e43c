import { sizeNames } from '../sized/sizes.js';
import { decisionWorkloads } from './decisions.js';
import { listWorkloads } from './lists.js';
import { managementWorkloads } from './management.js';
import type { SizedContext, Workload } from './workload.js';

/** Each beside itself, so that both are measured in the same minute. */
export const sizedWorkloads: Workload[] = [...decisionWorkloads, ...managementWorkloads, ...listWorkloads].flatMap(
  (workload) =>
    sizeNames.map((size) => ({
      ...workload,
      size,
      name: `${workload.name}@${size}`,
      // The Environment that belongs to the size was seeded with what SizedSeed has.
      prepare: (context) => workload.prepare(context as SizedContext),
    })),
);
