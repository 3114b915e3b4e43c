import type { Config } from './config.js';
import { reportEventFaults } from './domain/events/declarations.js';
import { createLog } from './platform/log.js';
import { startTracing, traceOfLine } from './platform/tracing/tracing.js';

/** The log of a process, and its traces where the settings ask for them: before any part of it is put together. */
export async function startLog(process: 'api' | 'worker', { logLevel, traces }: Pick<Config, 'logLevel' | 'traces'>) {
  const log = createLog(process, logLevel, traces ? traceOfLine : undefined);
  if (traces) await startTracing({ ...traces, serviceName: `gatehouse-${process}`, log });
  logEventFaults(log);
  return log;
}

/** A process of the service goes on where a test would fail. */
const logEventFaults = (log: { error(fields: object, message: string): void }): void =>
  reportEventFaults((fault) => log.error({ fault }, 'an event is not as declared'));
