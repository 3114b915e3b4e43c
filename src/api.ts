import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkDatabase, warnOfCollation } from './check-database.js';
import { loadConfig } from './config.js';
import { watchClock } from './platform/clock-watch.js';
import { openDb } from './platform/database/open-db.js';
import { reachableHost } from './platform/listening.js';
import { serveMetrics } from './platform/metrics/server.js';
import { StartError } from './platform/start-error.js';
import { stopAtSignals } from './platform/stopping.js';
import { stopTracing } from './platform/tracing/tracing.js';
import { runProcess } from './run-process.js';
import { startLog } from './start-log.js';

/** Long enough for a login's hashing and a slow database; by then, a load balancer uses other processes. */
const drainWithinMs = 10_000;

const command = { usage: 'npm run start:api', about: 'Serves HTTP until SIGTERM.' };

await runProcess('api', command, async () => {
  const config = loadConfig('api');
  const log = await startLog('api', config);
  const db = await openDb({
    url: config.database.url as string,
    poolSize: config.database.poolSize,
    applicationName: 'gatehouse api',
    onError: () => log.warn('a connection to PostgreSQL was lost'),
    answerWithinMs: 0.6 * config.requestTimeoutMs, // with the wait for a connection, less than a request may take
  });
  await checkDatabase(db, config);
  await warnOfCollation(db, log);
  const clock = watchClock({ db, log });

  // Imported only now: a wrong setting or database is reported without this import, which takes most of a start.
  const { composeApi } = await import('./compose.js');
  const { app, registry, leave, close } = await composeApi(config, db, log);
  const { port } = config.listen;
  const host = await reachableHost(config.listen.host);
  // The public port is opened last, so that no process answers requests and then fails to start.
  const metrics = await serveMetrics(registry, config.metricsPort, config.production ? '::' : 'localhost');
  await app.listen({ port, host }).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall !== 'getaddrinfo') throw error;
    throw new StartError(`HOST is not known: ${error.message}`); // otherwise it would look like PostgreSQL's
  });
  log.info({ port, baseUrl: config.baseUrl }, 'listening');

  stopAtSignals(
    async () => {
      leave();
      await sleep(config.shutdownDelayMs); // still serves connections that wait to be accepted
      await app.close(); // takes no more requests, and waits for those under way
      await metrics.close();
      clock.stop();
      await close();
      await stopTracing();
    },
    { log, withinMs: config.shutdownDelayMs + drainWithinMs },
  );
});
