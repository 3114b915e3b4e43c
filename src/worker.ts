import 'reflect-metadata';
import { checkDatabase, warnOfCollation } from './check-database.js';
import { outboundGuardOptions, readinessChecks } from './compose-shared.js';
import { loadConfig } from './config.js';
import { watchClock } from './platform/clock-watch.js';
import { openDb } from './platform/database/open-db.js';
import { createMailer } from './platform/mail/mailer.js';
import { createOutbound } from './platform/outbound/fetch.js';
import type { ReadinessChecks } from './platform/readiness.js';
import { stopAtSignals } from './platform/stopping.js';
import { tracedMailer, tracedOutbound } from './platform/tracing/traced-calls.js';
import { stopTracing } from './platform/tracing/tracing.js';
import { runProcess } from './run-process.js';
import { startLog } from './start-log.js';
import { startOutboxRelay } from './temporal/outbox-relay.js';
import { createProcesses } from './temporal/processes.js';
import { ensureWorkflowBundle } from './temporal/workflow-bundle.js';
import { composeWorker } from './worker/compose.js';
import { activitiesInTurn } from './worker/connection-turns.js';
import { workerBounds } from './worker/database-bounds.js';
import { startHealthServer } from './worker/health.js';
import { installRuntime } from './worker/log.js';
import { createMetrics } from './worker/metrics.js';
import { installMeasuredRuntime } from './worker/temporal-metrics.js';
import { startTemporalWorkers } from './worker/temporal-workers.js';
import { startWebhookFanOut } from './worker/webhook-fan-out.js';

/** Longer than a drain may take; work that still hangs then is left to another worker. */
const stopWithinMs = 9_000;

const command = { usage: 'npm run start:worker', about: 'Works on what waits, until SIGTERM.' };

await runProcess('worker', command, async () => {
  const config = loadConfig('worker');
  const log = await startLog('worker', config);
  if (config.metricsPort === 0) installRuntime(log);
  const temporalMetrics = config.metricsPort === 0 ? undefined : await installMeasuredRuntime(log);
  const databaseUrl = config.database.url as string;
  const opened = await openDb({
    url: databaseUrl,
    poolSize: config.database.poolSize,
    applicationName: 'gatehouse worker',
    onError: () => log.warn('a connection to PostgreSQL was lost'),
    ...workerBounds,
  });
  const db = activitiesInTurn(opened);
  await checkDatabase(db, config);
  await warnOfCollation(db, log);
  const clock = watchClock({ db, log });
  const codePath = await ensureWorkflowBundle();
  const server = { ...config.temporal, address: config.temporal.address as string };
  const processes = createProcesses(server);
  const mailer = tracedMailer(createMailer({ smtpUrl: config.mail.smtpUrl as string, from: config.mail.from }));
  const outbound = tracedOutbound(createOutbound(outboundGuardOptions(config)));
  const metrics = createMetrics(db, temporalMetrics);
  const activities = composeWorker({ config, db, log, mailer, outbound, processes });

  const workers = startTemporalWorkers({
    server,
    processes,
    issuer: config.baseUrl,
    activities,
    codePath,
    metrics,
    log,
    giveUp: () => process.exit(1),
  });
  metrics.showWorking(workers.isWorking);
  const checks = {
    ...readinessChecks({ db, processes }),
    workers: async () => (workers.isWorking() ? 'ok' : 'unavailable'),
  } satisfies ReadinessChecks;
  metrics.showReadiness(checks);
  const health =
    config.metricsPort === 0
      ? null
      : await startHealthServer({
          host: config.production ? '::' : 'localhost',
          port: config.metricsPort + 1,
          metrics,
          checks,
        });
  const relay = startOutboxRelay({ db, databaseUrl, processes, log });
  const fanOut = startWebhookFanOut({ db, databaseUrl, log });
  log.info({ temporal: server.address }, 'started');

  stopAtSignals(
    async () => {
      await Promise.all([fanOut.stop(), relay.stop(), workers.stop()]);
      clock.stop();
      mailer.close();
      await Promise.all([health?.close(), outbound.close(), processes.close(), db.close()]);
      await stopTracing();
    },
    { log, withinMs: stopWithinMs },
  );
});
