import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { Gauge, Histogram } from 'prom-client';
import type { Db } from '../platform/db.js';
import { createRegistry } from '../platform/metrics-server.js';

const waiting = {
  name: 'outbox_waiting',
  text: `select count(*)::int as count, coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float as oldest from outbox`,
};

/** What `/metrics` of a worker shows. */
export function createMetrics(db: Db) {
  const registry = createRegistry('worker');
  const activities = new Histogram({
    name: 'gatehouse_activity_seconds',
    help: 'Duration of activity attempts',
    labelNames: ['activity', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [registry],
  });
  const read = async () => (await db.statement<{ count: number; oldest: number }>(waiting, []).catch(() => []))[0];
  // Without PostgreSQL the last figures stay, and the other metrics are still told.
  const gauge = (name: string, help: string, of: (row: { count: number; oldest: number }) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const row = await read();
        if (row) this.set(of(row));
      },
    });
  gauge('gatehouse_outbox_messages', 'Workflows that wait to be started', ({ count }) => count);
  gauge('gatehouse_outbox_oldest_seconds', 'Age of the oldest message in the outbox', ({ oldest }) => oldest);
  return {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    /** Times each attempt of an activity. */
    interceptor: (activity: string): ActivityInboundCallsInterceptor => ({
      async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>) {
        const stop = activities.startTimer({ activity });
        try {
          const result = await next(input);
          stop({ outcome: 'completed' });
          return result;
        } catch (error) {
          stop({ outcome: 'failed' });
          throw error;
        }
      },
    }),
  };
}
export type Metrics = ReturnType<typeof createMetrics>;
