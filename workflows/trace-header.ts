/** The header in which the interceptors of Temporal's SDKs send a trace: `{ "traceparent": "00-…" }`. */
export const traceHeader = '_tracer-data';
