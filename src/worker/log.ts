import { DefaultLogger, type LogLevel, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { repetitions } from './repetitions.js';

const levels: Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** Buckets, in seconds, for how long tasks wait for a worker: the SDK's jump from 100 to 1000, and overstate waits. */
const waitBuckets = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/**
 * Installs the Temporal SDK's runtime, with its logs, also of its native part, in our log. We handle signals ourselves.
 * @param metricsAddress where the SDK serves its own metrics; null: nowhere
 * @throws if something listens there already; the call can be repeated
 */
export function installRuntime(log: Logger, metricsAddress: string | null = null): void {
  const temporal = log.child({ component: 'temporal' });
  const isRepeated = repetitions();
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta = {} }) => {
      if (meta.sdkComponent === 'core' && isRepeated(meta, message)) return;
      temporal[levels[level]](plain(meta), message);
    }),
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }), forward: {} },
      ...(metricsAddress !== null && {
        metrics: {
          // These give metrics the names that Prometheus expects, and that Temporal's reference lists.
          prometheus: {
            bindAddress: metricsAddress,
            countersTotalSuffix: true,
            unitSuffix: true,
            useSecondsForDurations: true,
            histogramBucketOverrides: {
              activity_schedule_to_start_latency: waitBuckets,
              workflow_task_schedule_to_start_latency: waitBuckets,
            },
          },
        },
      }),
    },
    shutdownSignals: [],
  });
}

/** Reduces an error to its name and message: the stacks of workflows and activities are only the SDK's. */
const plain = ({ error, taskToken: _, ...meta }: Record<string | symbol, unknown>) =>
  error instanceof Error ? { ...meta, error: `${error.name}: ${error.message}` } : { ...meta, error };
