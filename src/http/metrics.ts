import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

export interface HttpMetrics {
  duration: Histogram<'method' | 'route' | 'status'>;
}

export const createHttpMetrics = (registry: Registry): HttpMetrics => ({
  duration: new Histogram({
    name: 'gatehouse_http_request_duration_seconds',
    help: 'Time to answer, by route pattern.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: [registry],
  }),
});

/** Counts every answer by its route's pattern; unknown paths share one label, so that callers cannot make new ones. */
export function countRequests(app: FastifyInstance, { duration }: HttpMetrics): void {
  app.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
    duration.labels(method, routeOptions.url ?? 'unknown', String(reply.statusCode)).observe(reply.elapsedTime / 1000);
    done();
  });
}
