import type { Headers } from '@temporalio/common';
import {
  AsyncLocalStorage,
  ContinueAsNew,
  isCancellation,
  proxySinks,
  type Sinks,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { payloadConverter } from './payloads.js';
import { traceHeader } from './trace-header.js';

/** A workflow's span as it leaves the sandbox; the worker adds the workflow and when the span ended. */
export interface WorkflowSpan {
  name: string;
  spanId: string;
  /** A `traceparent`, as is `link`. */
  parent: string;
  link?: string;
  startedAt: number;
  failure?: string;
}
export interface TracingSinks extends Sinks {
  tracing: { record(span: WorkflowSpan): void };
}
const { tracing } = proxySinks<TracingSinks>();

/**
 * Carries a trace from the caller that started or signalled a workflow to its activities. Without a trace it changes
 * nothing; with one it adds no command and no turn of the event loop, so that histories replay either way
 * (docs/decisions/0054).
 */
export const interceptors = (): WorkflowInterceptors => {
  const running = new AsyncLocalStorage<string>();
  let run: string | undefined;
  let made = 0;

  /** Returns a span id that is the same in each replay: from the run id's random half and the number of spans. */
  function newSpanId(): string {
    const random = workflowInfo().runId.replaceAll('-', '').slice(16);
    return (BigInt(`0x${random}`) ^ BigInt(made++)).toString(16).padStart(16, '0');
  }

  /**
   * Runs `work` within a span that begins now.
   * @param ended gets the error, if any, but not the result
   */
  function within<T>(parent: string, work: () => Promise<T>, ended: (spanId: string, error?: unknown) => void) {
    const spanId = newSpanId();
    const result = running.run(parent.replace(/[0-9a-f]{16}(?=-..$)/, spanId), work);
    result.then(
      () => ended(spanId),
      (error) => ended(spanId, error),
    );
    return result;
  }

  return {
    inbound: [
      {
        execute(input, next) {
          const parent = parentIn(input.headers);
          if (!parent) return next(input);
          const { workflowType, runStartTime } = workflowInfo();
          return within(
            parent,
            () => {
              run = running.getStore();
              // Recorded as soon as the workflow runs: it may wait for days, and the trace is to show it meanwhile.
              tracing.record({
                name: `RunWorkflow:${workflowType}`,
                spanId: idOf(run as string),
                parent,
                startedAt: +runStartTime,
              });
              return next(input);
            },
            (_, error) => {
              if (error instanceof ContinueAsNew) return;
              const failure = error && !isCancellation(error) ? { failure: 'failed' } : {};
              const name = `CompleteWorkflow:${workflowType}`;
              tracing.record({ name, spanId: newSpanId(), parent: run as string, startedAt: Date.now(), ...failure });
            },
          );
        },
        handleSignal: (input, next) => handled(`HandleSignal:${input.signalName}`, input, next),
        handleUpdate: (input, next) => handled(`HandleUpdate:${input.name}`, input, next),
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(carrying(input)),
        continueAsNew: (input, next) => next(carrying(input)),
        signalWorkflow: (input, next) => next(carrying(input)),
      },
    ],
  };

  /** Runs a handler in its caller's trace, which is not the run's. */
  function handled<I extends { headers: Headers }, T>(
    name: string,
    input: I,
    next: (input: I) => Promise<T>,
  ): Promise<T> {
    const parent = parentIn(input.headers);
    if (!parent) return next(input);
    const startedAt = Date.now();
    return within(
      parent,
      () => next(input),
      (spanId, error) => {
        const failure = error ? { failure: 'refused' } : {};
        tracing.record({ name, spanId, parent, startedAt, ...(run && { link: run }), ...failure });
      },
    );
  }

  function carrying<I extends { headers: Headers }>(input: I): I {
    const traceparent = running.getStore();
    if (!traceparent) return input;
    return {
      ...input,
      headers: { ...input.headers, [traceHeader]: payloadConverter.toPayload({ traceparent }) },
    };
  }
};

function parentIn(headers: Headers): string | undefined {
  const payload = headers[traceHeader];
  if (!payload) return undefined;
  const traceparent = payloadConverter.fromPayload<{ traceparent?: unknown } | null>(payload)?.traceparent;
  return typeof traceparent === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent)
    ? traceparent
    : undefined;
}

const idOf = (traceparent: string): string => traceparent.slice(36, 52);
