import { apiWorkloads, documentWorkloads } from './documents.js';
import { samlWorkloads } from './saml.js';
import { sizedWorkloads } from './sized.js';
import { tokenWorkloads } from './tokens.js';

export { hello } from './documents.js';
export { createHolders } from './holders.js';
export type { WorkerContext, Workload } from './workload.js';

export const workloads = [
  ...documentWorkloads,
  ...tokenWorkloads,
  ...samlWorkloads,
  ...apiWorkloads,
  ...sizedWorkloads,
];
export const workloadNames = workloads.map(({ name }) => name);
