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

/** In seconds, how long tasks wait for a worker: the SDK's go from 100 to 1000 in a step, which told of waits that nobody had. */
const waitBuckets = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/**
 * Sends what the Temporal SDK logs, its native part included, through the same log. We handle signals ourselves.
 * @param metricsAddress where it serves its own metrics; null: nowhere
 * @throws where something listens there already; it can be tried again
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
          // As Prometheus names things; the names are those of Temporal's reference.
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

/** Errors of workflows and activities say their kind; their stacks are those of the SDK and say nothing more. */
const plain = ({ error, taskToken: _, ...meta }: Record<string | symbol, unknown>) =>
  error instanceof Error ? { ...meta, error: `${error.name}: ${error.message}` } : { ...meta, error };
