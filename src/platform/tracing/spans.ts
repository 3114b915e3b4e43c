/** What a span says of its work: kinds, numbers and ids. Never an address, a name, a secret, or what a caller has typed. */
export type Attributes = Record<string, string | number | boolean>;

export interface SpanStart {
  name: string;
  /** Ours alone, where it is not said. */
  kind?: 'server' | 'client' | 'consumer';
  attributes?: Attributes;
  /** The `traceparent` (W3C Trace Context) that it follows, whoever sent it; else the span that runs, or nobody. */
  parent?: string | undefined;
}

export interface Span {
  set(attributes: Attributes): void;
  /** @param kind of what went wrong, as `faultOf` says it: a message could quote what was sent */
  fail(kind: string): void;
  end(): void;
}

/** One that somebody else has measured, and given an id that others name as their parent already. */
export interface PastSpan extends SpanStart {
  parent: string;
  /** Sixteen hexadecimal digits. */
  spanId: string;
  startedAt: number;
  /** Another span, in the form of a `traceparent`, that this one has to do with. */
  link?: string | undefined;
  failure?: string | undefined;
}

/** Spans and whose they are. There is one in a process where an operator asks for traces, and else none. */
export interface Tracing {
  begin(start: SpanStart): Span;
  /** Runs `work`, and whatever it awaits, as the work of a span that `begin` made. */
  within<T>(span: Span, work: () => T): T;
  /** Runs `work` in a span that ends with it. */
  run<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
  record(span: PastSpan): void;
  /** The span that runs; null where none does. */
  current(): { traceparent: string; traceId: string } | null;
  /** Sends what has ended, within a second. */
  close(): Promise<void>;
}

export interface TracesConfig {
  protocol: 'http/protobuf' | 'http/json';
}

export interface TracesOptions extends TracesConfig {
  /** Where `OTEL_SERVICE_NAME` does not say another. */
  serviceName: string;
  log: { warn(details: object, message: string): void; info(message: string): void };
}
