/** What a span says about its work: kinds, numbers and ids. Never an address, a name, a secret, or a caller's input. */
export type Attributes = Record<string, string | number | boolean>;

export interface SpanStart {
  name: string;
  /** If absent, the span is internal. */
  kind?: 'server' | 'client' | 'consumer';
  attributes?: Attributes;
  /** The `traceparent` (W3C Trace Context) of the parent, from any sender; if absent, the running span, or none. */
  parent?: string | undefined;
}

export interface Span {
  set(attributes: Attributes): void;
  /** @param kind the kind of failure, from `faultOf`: a message could quote what was sent */
  fail(kind: string): void;
  end(): void;
}

/** A span that was measured elsewhere, with an id that other spans already name as their parent. */
export interface PastSpan extends SpanStart {
  parent: string;
  /** Sixteen hexadecimal digits. */
  spanId: string;
  startedAt: number;
  /** The `traceparent` of another span to which this one is linked. */
  link?: string | undefined;
  failure?: string | undefined;
}

/** Creates spans and tracks the running one. A process has one if its operator enables traces, otherwise none. */
export interface Tracing {
  begin(start: SpanStart): Span;
  /** Runs `work`, and everything that it awaits, as the work of a span that `begin` made. */
  within<T>(span: Span, work: () => T): T;
  /** Runs `work` in a span that ends with it. */
  run<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
  record(span: PastSpan): void;
  /** Returns the running span; null if there is none. */
  current(): { traceparent: string; traceId: string } | null;
  /** Sends the spans that have ended, within a second. */
  close(): Promise<void>;
}

export interface TracesConfig {
  protocol: 'http/protobuf' | 'http/json';
}

export interface TracesOptions extends TracesConfig {
  /** Used unless `OTEL_SERVICE_NAME` sets another. */
  serviceName: string;
  log: { warn(details: object, message: string): void; info(message: string): void };
}
