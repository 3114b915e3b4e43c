import { sizeNames } from '../sized/sizes.js';
import { decisionWorkloads } from './decisions.js';
import { listWorkloads } from './lists.js';
import { managementWorkloads } from './management.js';
import type { SizedContext, Workload } from './workload.js';

/** Each workload in both sizes, next to each other, so that both are measured in the same minute. */
export const sizedWorkloads: Workload[] = [...decisionWorkloads, ...managementWorkloads, ...listWorkloads].flatMap(
  (workload) =>
    sizeNames.map((size) => ({
      ...workload,
      size,
      name: `${workload.name}@${size}`,
      // The Environment of this size has the data of a SizedSeed.
      prepare: (context) => workload.prepare(context as SizedContext),
    })),
);
