import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { faultOf } from '../faults.js';
import type { Attributes, PastSpan, Span, SpanStart, TracesOptions, Tracing } from './spans.js';

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };
const kindOf = (kind: SpanStart['kind']) => (kind ? kinds[kind] : SpanKind.INTERNAL);
/** Short, since a stopping process has more to wait for, and an orchestrator waits for the process. */
const closeWithinMs = 1_000;

class OpenSpan implements Span {
  readonly context: Context;

  constructor(
    private readonly span: OtelSpan,
    parent: Context,
  ) {
    this.context = trace.setSpan(parent, span);
  }

  set(attributes: Attributes): void {
    this.span.setAttributes(attributes);
  }

  fail(kind: string): void {
    this.span.setAttribute('error.type', kind);
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.span.end();
  }

  get ids() {
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    return { traceId, traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` };
  }
}

/** Traces by the OpenTelemetry SDK, sent by OTLP in batches. Nothing is global: two in one process stay separate. */
export async function createTracing({ serviceName, protocol, log }: TracesOptions): Promise<Tracing> {
  const ids = new GivenIds();
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': serviceName }))
      .merge(detectResources({ detectors: [envDetector] })),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(loggingOnce(await exporterOf(protocol), log))],
  });
  const tracer = provider.getTracer('gatehouse');
  const storage = new AsyncLocalStorage<OpenSpan>();

  function begin({ name, kind, attributes = {}, parent }: SpanStart): OpenSpan {
    const around = (parent ? remote(parent) : storage.getStore()?.context) ?? ROOT_CONTEXT;
    return new OpenSpan(tracer.startSpan(name, { kind: kindOf(kind), attributes }, around), around);
  }

  return {
    begin,
    within: (span, work) => storage.run(span as OpenSpan, work),
    async run(start, work) {
      const span = begin(start);
      try {
        return await storage.run(span, () => work(span));
      } catch (error) {
        span.fail(faultOf(error));
        throw error;
      } finally {
        span.end();
      }
    },
    record: (span) => record(tracer, ids, span),
    current: () => storage.getStore()?.ids ?? null,
    async close() {
      await Promise.race([provider.shutdown().catch(() => undefined), sleep(closeWithinMs, undefined, { ref: false })]);
      storage.disable();
    },
  };
}

/** Returns undefined for an invalid `traceparent`: anybody may have sent it. `tracestate` and `baggage` are ignored. */
function remote(traceparent: string): Context | undefined {
  const parsed = parseTraceParent(traceparent);
  return parsed ? trace.setSpanContext(ROOT_CONTEXT, { ...parsed, isRemote: true }) : undefined;
}

function record(tracer: Tracer, ids: GivenIds, { name, kind, attributes = {}, ...span }: PastSpan): void {
  const around = remote(span.parent);
  if (!around) return;
  const linked = span.link ? parseTraceParent(span.link) : null;
  ids.next = span.spanId;
  const made = tracer.startSpan(
    name,
    { kind: kindOf(kind), attributes, startTime: span.startedAt, ...(linked && { links: [{ context: linked }] }) },
    around,
  );
  if (span.failure) new OpenSpan(made, around).fail(span.failure);
  made.end();
}

/** Generates random ids, except for a span that already has one. */
class GivenIds implements IdGenerator {
  /** The id of the next span. */
  next: string | null = null;
  private readonly random = new RandomIdGenerator();

  generateTraceId(): string {
    return this.random.generateTraceId();
  }

  generateSpanId(): string {
    const given = this.next;
    this.next = null;
    return given ?? this.random.generateSpanId();
  }
}

async function exporterOf(protocol: TracesOptions['protocol']): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}

/** Logs once when spans cannot be sent, and when they can again; they are dropped meanwhile, and nothing waits. */
function loggingOnce(exporter: SpanExporter, log: TracesOptions['log']): SpanExporter {
  let isUnavailable = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== ExportResultCode.SUCCESS;
        if (failed && !isUnavailable)
          log.warn({ fault: faultOf(result.error) }, 'traces cannot be sent; they are given up');
        if (!failed && isUnavailable) log.info('traces are taken again');
        isUnavailable = failed;
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}
