import { DefaultLogger, type LogLevel, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';

const levels: Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** Sends what the Temporal SDK logs, its native part included, through the same log. We handle signals ourselves. */
export function installRuntime(log: Logger): void {
  const temporal = log.child({ component: 'temporal' });
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      temporal[levels[level]](withoutStack(meta), message);
    }),
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }), forward: {} },
    },
    shutdownSignals: [],
  });
}

/** Errors of workflows and activities say their kind; their stacks are those of the SDK and say nothing more. */
const withoutStack = ({ error, ...meta }: Record<string | symbol, unknown> = {}) =>
  error instanceof Error
    ? { ...meta, error: `${error.name}: ${error.message}` }
    : { ...meta, ...(error ? { error } : {}) };
