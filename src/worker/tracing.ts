import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { TracingSinks } from '../../workflows/tracing.js';
import type { Tracing } from '../platform/tracing/spans.js';
import { activeTracing } from '../platform/tracing/tracing.js';
import { traceparentIn } from '../temporal/tracing-client.js';

/** Returns the sink for workflows' spans. It exists without tracing, too: a workflow may have begun with it. */
export function workflowSpans(): InjectedSinks<TracingSinks> {
  const tracing = activeTracing();
  return {
    tracing: {
      record: {
        fn({ workflowId, runId }, span) {
          tracing?.record({ ...span, attributes: { temporalWorkflowId: workflowId, run_id: runId } });
        },
      },
    },
  };
}

/**
 * Makes a span for each attempt of an activity, in its caller's trace, or in one of its own if a schedule started it.
 */
export function activitySpans(): ActivityInterceptorsFactory[] {
  const tracing = activeTracing();
  return tracing ? [(context) => ({ inbound: inbound(tracing, context) })] : [];
}

type Parts = Parameters<ActivityInterceptorsFactory>[0];

const inbound = (tracing: Tracing, { info }: Parts): ReturnType<ActivityInterceptorsFactory>['inbound'] => ({
  execute(input, next) {
    const attributes = {
      temporalWorkflowId: info.workflowExecution?.workflowId ?? '',
      run_id: info.workflowExecution?.runId ?? '',
      temporalActivityId: info.activityId,
      'gatehouse.attempt': info.attempt,
    };
    return tracing.run(
      { name: `RunActivity:${info.activityType}`, attributes, parent: traceparentIn(input.headers) },
      () => next(input),
    );
  },
});
