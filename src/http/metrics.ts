import { Gauge, Histogram, type Registry } from 'prom-client';
import type { QueueLoad } from '../domain/limits/fair-queue.js';
import type { AtEnd } from './server/request-ends.js';

export interface HttpMetrics {
  duration: Histogram<'method' | 'route' | 'status'>;
}

export const createHttpMetrics = (registry: Registry): HttpMetrics => ({
  duration: new Histogram({
    name: 'gatehouse_http_request_duration_seconds',
    help: 'Response time, by route pattern.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: [registry],
  }),
});

/** Registers gauges of how much is running and waiting in queues with turns. */
export function watchQueues(registry: Registry, loads: Record<'passwords' | 'broadReads', () => QueueLoad>): void {
  const show = (name: string, help: string, load: () => QueueLoad) =>
    new Gauge({
      name,
      help,
      labelNames: ['state'],
      registers: [registry],
      collect() {
        for (const [state, count] of Object.entries(load())) this.set({ state }, count);
      },
    });
  show('gatehouse_password_hashes', 'Passwords being hashed, and waiting for their turn.', loads.passwords);
  show('gatehouse_broad_reads', 'Searches and counts being executed, and waiting for their turn.', loads.broadReads);
}

/**
 * Counts every request by its route's pattern; unknown paths share one label, so that callers cannot create new ones.
 */
export const countRequest =
  ({ duration }: HttpMetrics): AtEnd =>
  ({ method, routeOptions }, { elapsedTime }, status) =>
    duration.labels(method, routeOptions.url ?? 'unknown', String(status)).observe(elapsedTime / 1000);
