import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * For tests: the worker kills itself after the n-th activity that it completes. Its effect is committed, and Temporal never
 * hears of it, which is the worst moment to die.
 * @param after `<n>` counts all activities; `<name>:<n>` those of that name, or of the workflow with that id
 */
export function crashHook(after: string): ActivityInterceptorsFactory {
  const colon = after.lastIndexOf(':');
  const which = after.slice(0, Math.max(0, colon));
  let left = Number(after.slice(colon + 1));
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const result = await next(input);
        const counts = which === '' || which === info.activityType || which === info.workflowExecution?.workflowId;
        if (!counts || --left !== 0) return result;
        process.kill(process.pid, 'SIGKILL');
        return new Promise(() => undefined); // the signal takes a moment; no answer may leave before it
      },
    },
  });
}
