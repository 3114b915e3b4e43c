import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { Gauge, Histogram } from 'prom-client';
import type { Db } from '../platform/database/db.js';
import { createRegistry, watchPools } from '../platform/metrics/server.js';
import { type ReadinessChecks, watchReadiness } from '../platform/readiness.js';
import { watchBacklog } from './backlog.js';

/**
 * Creates the metrics that a worker's `/metrics` shows.
 * @param more returns metrics from elsewhere, in Prometheus' text format
 */
export function createMetrics(
  db: Pick<Db, 'pools' | 'statement' | 'waiting'>,
  more: () => Promise<string> = async () => '',
) {
  const registry = createRegistry('worker');
  watchPools(registry, db);
  watchBacklog(registry, db);
  const activities = new Histogram({
    name: 'gatehouse_activity_seconds',
    help: 'Duration of activity attempts',
    labelNames: ['activity', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [registry],
  });
  return {
    /** Adds the gauge of whether the worker takes work from every queue; called once the workers exist. */
    showWorking(isWorking: () => boolean): void {
      new Gauge({
        name: 'gatehouse_worker_working',
        help: '1 if the worker takes work of every queue from Temporal, otherwise 0',
        registers: [registry],
        collect() {
          this.set(isWorking() ? 1 : 0);
        },
      });
    },
    /** Adds the gauge of what `/readyz` says. */
    showReadiness: (checks: ReadinessChecks): void => watchReadiness(registry, checks),
    text: async () => (await Promise.all([registry.metrics(), more()])).join('\n'),
    contentType: registry.contentType,
    /** Measures each attempt of an activity. */
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
