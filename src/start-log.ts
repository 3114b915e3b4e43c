import type { Config } from './config.js';
import { reportEventFaults } from './domain/events/declarations.js';
import { createLog } from './platform/log.js';
import { endAtUncaughtErrors } from './platform/stopping.js';
import { startTracing, traceOfLine } from './platform/tracing/tracing.js';

/**
 * Starts a process's log, which also has the error that nothing catches, and its tracing if the settings ask for it; called
 * before any part is composed.
 */
export async function startLog(process: 'api' | 'worker', { logLevel, traces }: Pick<Config, 'logLevel' | 'traces'>) {
  const log = createLog(process, logLevel, traces ? traceOfLine : undefined);
  endAtUncaughtErrors(log);
  if (traces) await startTracing({ ...traces, serviceName: `gatehouse-${process}`, log });
  logEventFaults(log);
  return log;
}

/** Logs events that differ from their declaration: the service goes on, whereas a test would fail. */
const logEventFaults = (log: { error(fields: object, message: string): void }): void =>
  reportEventFaults((fault) => log.error({ fault }, 'an event is not as declared'));
