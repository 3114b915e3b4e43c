// The step of `npm run build` after tsc: makes the workflow bundle that workers load.
import { ensureWorkflowBundle } from '../dist/src/temporal/workflow-bundle.js';

await ensureWorkflowBundle();
