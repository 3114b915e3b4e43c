import type { ClientInterceptors, Headers, WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { traceHeader } from '../../workflows/trace-header.js';
import type { Tracing } from '../platform/tracing/spans.js';
import { activeTracing, traceparent } from '../platform/tracing/tracing.js';

/** Returns the interceptor by which calls of Temporal carry the trace; nothing if tracing is off. */
export function tracedClient(): { interceptors?: ClientInterceptors } {
  const tracing = activeTracing();
  return tracing ? { interceptors: { workflow: [interceptor(tracing)] } } : {};
}

/** Returns the `traceparent` in the headers of a call by Temporal; undefined if there is none. */
export function traceparentIn(headers: Headers): string | undefined {
  const payload = headers[traceHeader];
  return payload && defaultPayloadConverter.fromPayload<{ traceparent?: string }>(payload).traceparent;
}

/** Names and attributes are the same as those of Temporal's own interceptors (docs/decisions/0054). */
function interceptor(tracing: Tracing): WorkflowClientInterceptor {
  const carried = <T>(name: string, workflowId: string, call: (header: Headers) => Promise<T>): Promise<T> =>
    tracing.run({ name, kind: 'client', attributes: { temporalWorkflowId: workflowId } }, () =>
      call({ [traceHeader]: defaultPayloadConverter.toPayload({ traceparent: traceparent() }) }),
    );
  return {
    startWithDetails: (input, next) =>
      carried(`StartWorkflow:${input.workflowType}`, input.options.workflowId, (header) =>
        next({ ...input, headers: { ...input.headers, ...header } }),
      ),
    signal: (input, next) =>
      carried(`SignalWorkflow:${input.signalName}`, input.workflowExecution.workflowId ?? '', (header) =>
        next({ ...input, headers: { ...input.headers, ...header } }),
      ),
    signalWithStart: (input, next) =>
      carried(`SignalWithStartWorkflow:${input.workflowType}`, input.options.workflowId, (header) =>
        next({ ...input, headers: { ...input.headers, ...header } }),
      ),
    startUpdateWithStart: (input, next) =>
      carried(`UpdateWithStartWorkflow:${input.workflowType}`, input.workflowStartOptions.workflowId, (header) =>
        next({
          ...input,
          workflowStartHeaders: { ...input.workflowStartHeaders, ...header },
          updateHeaders: { ...input.updateHeaders, ...header },
        }),
      ),
  };
}
