import type { FastifyInstance } from 'fastify';
import type { Span } from '../platform/tracing/spans.js';
import { activeTracing } from '../platform/tracing/tracing.js';
import type { AtEnd } from './request-ends.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Only where there are traces. */
    span?: Span;
  }
}

/**
 * A span for each request, in its caller's trace if it says one. It has the route's pattern, for the reason that the log has:
 * paths, queries, headers and addresses can hold personal data and secrets. No hook is added where there are no traces.
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

/** Ends the request's span. Without a status where its caller was gone before the answer: there was none. */
export const endSpan: AtEnd = ({ span }, { raw }, status) => {
  if (!span) return;
  if (raw.headersSent) span.set({ 'http.response.status_code': status });
  if (status >= 500) span.fail(String(status));
  span.end();
};

/** As the work of the request's span, for the line in the log. */
export const withinSpan =
  (end: AtEnd): AtEnd =>
  (request, reply, status) => {
    const { span } = request;
    const tracing = activeTracing();
    if (!span || !tracing) return end(request, reply, status);
    tracing.within(span, () => end(request, reply, status));
  };

const one = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header);
