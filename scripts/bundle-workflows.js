// The part of `npm run build` that follows tsc: the bundle that workers load.
import { ensureWorkflowBundle } from '../dist/src/temporal/workflow-bundle.js';

await ensureWorkflowBundle();
