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
  const oldest = new Gauge({
    name: 'gatehouse_outbox_oldest_seconds',
    help: 'Age of the oldest message in the outbox',
    registers: [registry],
  });
  new Gauge({
    name: 'gatehouse_outbox_messages',
    help: 'Workflows that wait to be started',
    registers: [registry],
    async collect() {
      // Without PostgreSQL the last figures stay, and the other metrics are still told.
      const [row] = await db.statement<{ count: number; oldest: number }>(waiting, []).catch(() => []);
      if (!row) return;
      this.set(row.count);
      oldest.set(row.oldest);
    },
  });
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
