import type { FastifyInstance } from 'fastify';
import type { Span } from '../../platform/tracing/spans.js';
import { activeTracing } from '../../platform/tracing/tracing.js';
import type { AtEnd } from './request-ends.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Only if tracing is on. */
    span?: Span;
  }
}

/**
 * Begins a span for each request, in its caller's trace if it names one. The span has the route's pattern, for the same
 * reason as the log: paths, queries, headers and addresses can hold personal data and secrets. If tracing is off, no
 * hook is added.
 */
export function traceRequests(app: FastifyInstance): void {
  const tracing = activeTracing();
  if (!tracing) return;
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, headers, routeOptions } = request;
    const { url: route, config } = routeOptions;
    if (config?.neverShed) return done(); // probes, every few seconds
    const attributes = { 'http.request.method': method, 'gatehouse.request_id': request.id };
    request.span = tracing.begin({
      name: route ? `${method} ${route}` : method,
      kind: 'server',
      attributes: route ? { ...attributes, 'http.route': route } : attributes,
      parent: one(headers.traceparent),
    });
    tracing.within(request.span, done);
  });
  // Reading a body leaves the context, as in `carryContext`.
  app.addHook('preValidation', ({ span }, _reply, done) => (span ? tracing.within(span, done) : done()));
}

/** Ends the request's span; without a status if the caller was gone before the answer began. */
export const endSpan: AtEnd = ({ span }, { raw }, status) => {
  if (!span) return;
  if (raw.headersSent) span.set({ 'http.response.status_code': status });
  if (status >= 500) span.fail(String(status));
  span.end();
};

/** Runs the end of a request within its span, so that the line in the log has the span's ids. */
export const withinSpan =
  (end: AtEnd): AtEnd =>
  (request, reply, status) => {
    const { span } = request;
    const tracing = activeTracing();
    if (!span || !tracing) return end(request, reply, status);
    tracing.within(span, () => end(request, reply, status));
  };

const one = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header);
