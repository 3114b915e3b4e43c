import type { FastifyInstance } from 'fastify';
import { Gauge, Histogram, type Registry } from 'prom-client';
import type { Line } from '../domain/turns.js';

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

/** Shows how many run and wait in lines that have turns. */
export function watchLines(registry: Registry, lines: Record<'passwords' | 'broadReads', () => Line>): void {
  const show = (name: string, help: string, line: () => Line) =>
    new Gauge({
      name,
      help,
      labelNames: ['state'],
      registers: [registry],
      collect() {
        for (const [state, count] of Object.entries(line())) this.set({ state }, count);
      },
    });
  show('gatehouse_password_hashes', 'Passwords that are hashed now, and that wait for their turn.', lines.passwords);
  show(
    'gatehouse_broad_reads',
    'Searches and counts that are made now, and that wait for their turn.',
    lines.broadReads,
  );
}

/** Counts every answer by its route's pattern; unknown paths share one label, so that callers cannot make new ones. */
export function countRequests(app: FastifyInstance, { duration }: HttpMetrics): void {
  app.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
    duration.labels(method, routeOptions.url ?? 'unknown', String(reply.statusCode)).observe(reply.elapsedTime / 1000);
    done();
  });
}
