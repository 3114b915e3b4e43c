import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { minutes } from '../../src/platform/clock.js';
import { startOutboxRelay } from '../../src/temporal/outbox-relay.js';
import type { Processes } from '../../src/temporal/processes.js';
import { reconcileNow } from '../../src/temporal/schedules.js';
import { startScheduleChecks } from '../../src/worker/schedule-checks.js';
import { startTemporalWorkers } from '../../src/worker/temporal-workers.js';
import { startWebhookFanOut } from '../../src/worker/webhook-fan-out.js';
import type { TestDatabase } from './database.js';
import { registrationServices } from './registration.js';
import { namespace, type TestTemporal } from './temporal.js';
import { until } from './until.js';
import { type Healing, workerActivities } from './worker-activities.js';

const log = pino({ level: 'silent' });

/**
 * Starts the relay to Temporal and the activities, on real PostgreSQL and Temporal; only the mail server is replaced.
 */
export function startWorkerParts(
  { database, temporal, processes }: { database: TestDatabase; temporal: TestTemporal; processes: Processes },
  services: ReturnType<typeof registrationServices>,
  { pollMs = 200, ...healing }: Healing & { pollMs?: number } = {},
) {
  const activities = workerActivities(database, services, processes, healing);
  const server = { address: temporal.address, namespace, apiKey: null };
  const workers = startTemporalWorkers({
    issuer: 'http://localhost',
    server,
    processes,
    activities,
    codePath: temporal.codePath,
    log,
    giveUp: () => undefined,
  });
  const relay = startOutboxRelay({ db: database.db, databaseUrl: database.url, processes, log, pollMs });
  const fanOut = startWebhookFanOut({ db: database.db, databaseUrl: database.url, log, pollMs });
  return {
    async stop(): Promise<void> {
      await Promise.all([fanOut.stop(), relay.stop(), workers.stop()]);
    },
  };
}

/** Starts the worker process's parts with its schedules. It heals without delay. */
export function startTestWorker(
  database: TestDatabase,
  temporal: TestTemporal,
  processes: Processes,
  healing: Healing = {},
) {
  const durations = { ttlMs: minutes(30), reminderAfterMs: minutes(29), intentTtlMs: minutes(30) };
  const services = registrationServices(database, durations);
  const parts = startWorkerParts({ database, temporal, processes }, services, {
    pollMs: 500,
    settledMs: 0,
    ...healing,
  });
  const stopping = new AbortController();
  startScheduleChecks({ processes, namespace, issuer: 'http://localhost', log, everyMs: 500 }, stopping.signal); // as the worker does, but more often
  return {
    ...services,
    async stop(): Promise<void> {
      stopping.abort();
      await parts.stop();
    },
  };
}

/** Runs the reconciler now, or as soon as its schedule exists: the worker creates it beside its work. */
export const reconciled = (client: Client): Promise<true> =>
  until('the schedule of the reconciler', () => reconcileNow(client).then(() => true as const));
