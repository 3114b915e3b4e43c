import { setTimeout as sleep } from 'node:timers/promises';
import { type ActivityInterceptorsFactory, NativeConnection, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { createActivities } from '../../activities/index.js';
import { faultOf } from '../platform/faults.js';
import { mailsAtOnce } from '../platform/mail/mailer.js';
import type { TaskQueue } from '../platform/process-kinds.js';
import { credentialsOf, type TemporalServer } from '../platform/temporal-connection.js';
import type { Processes } from '../temporal/processes.js';
import { keepSchedules } from './kept-schedules.js';
import type { Metrics } from './metrics.js';
import { runAll, shutDown, WorkersHang } from './run-all.js';
import { activitySpans, workflowSpans } from './tracing.js';

export interface TemporalWorkers {
  server: TemporalServer;
  processes: Processes;
  /** Of this installation. */
  issuer: string;
  activities: ReturnType<typeof createActivities>;
  /** The workflow bundle. */
  codePath: string;
  metrics?: Pick<Metrics, 'interceptor'>;
  log: Logger;
  /** Ends the process: workers that hang hold on to their connection, and another process begins anew. */
  giveUp(): void;
}

/**
 * How many activities of a queue run at once in this process. A mail that waited for a connection of the mailer would hold a slot for
 * nothing. An erasure waits for nobody and keeps PostgreSQL busy: a few at once leave room for what people wait for. A call of a webhook's receiver, or of a name server, is a socket that waits; which of them may be called is decided in there
 * (`src/domain/webhooks/admission.ts`, `src/domain/sso-domains/checks.ts`), so that there is always room for an answer.
 */
const atOnce: Record<TaskQueue, number> = {
  processes: 20,
  registrations: 20,
  removals: 4,
  email: mailsAtOnce,
  'awaited-email': mailsAtOnce,
  webhooks: 400,
  dns: 100,
};
/**
 * How many workflows of a queue stay in memory between their steps, at almost half a megabyte each. Those that wait for days
 * need not: their history of some twenty events is replayed in milliseconds when the moment comes.
 */
const inMemory: Record<TaskQueue, number> = {
  processes: 100,
  registrations: 60,
  removals: 20,
  email: 60,
  'awaited-email': 60,
  webhooks: 100,
  dns: 60,
};
const reconnectMs = 2_000;

/**
 * Runs a worker for each task queue until it is stopped. Temporal may be away at the start, or for as long as it likes:
 * it is asked again until it is there.
 */
export function startTemporalWorkers(options: TemporalWorkers) {
  const { log } = options;
  const stopping = new AbortController();
  const schedules = keepSchedules({ ...options, namespace: options.server.namespace }, stopping.signal);
  let workers: Worker[] = [];

  const running = (async () => {
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      let connection: NativeConnection | undefined;
      try {
        connection = await connect(options.server);
        await schedules.prepare();
        workers = await createWorkers(options, connection);
        failures = 0;
        schedules.renew();
        log.info({ queues: workers.map((worker) => worker.options.taskQueue) }, 'working');
        if (!stopping.signal.aborted) await runAll(workers);
      } catch (error) {
        if (error instanceof WorkersHang) {
          log.fatal('workers that Temporal has refused do not end; ending the process, so that another one takes over');
          return options.giveUp();
        }
        const details = { fault: faultOf(error), reason: (error as Error).message };
        if (failures % 15 === 0) log.warn(details, 'Temporal cannot be reached; trying on');
        await sleep(reconnectMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      } finally {
        workers = [];
        await connection?.close().catch(() => undefined);
      }
    }
  })();

  return {
    /** Whether every queue is being worked on. */
    isWorking: () => workers.length > 0 && workers.every((worker) => worker.getState() === 'RUNNING'),
    /** Takes no new work and lets what runs finish; resolves when it has, or when its time is over. */
    async stop(): Promise<void> {
      stopping.abort();
      for (const worker of workers) shutDown(worker);
      await running;
    },
  };
}

const connect = (server: TemporalServer) =>
  NativeConnection.connect({ address: server.address, ...credentialsOf(server) });

function createWorkers(options: TemporalWorkers, connection: NativeConnection): Promise<Worker[]> {
  const { server, activities, codePath, metrics } = options;
  const timed: ActivityInterceptorsFactory[] = metrics
    ? [(context) => ({ inbound: metrics.interceptor(context.info.activityType) })]
    : [];
  return Promise.all(
    (Object.keys(activities) as TaskQueue[]).map((taskQueue) =>
      Worker.create({
        connection,
        namespace: server.namespace,
        taskQueue,
        workflowBundle: { codePath },
        activities: activities[taskQueue],
        maxConcurrentActivityTaskExecutions: atOnce[taskQueue],
        maxCachedWorkflows: inMemory[taskQueue],
        // A workflow's next task goes to the worker that has it in memory. Where that one was killed, a person's
        // confirmation waits this long for another: by default ten seconds, longer than the api waits for an answer.
        stickyQueueScheduleToStartTimeout: '1s',
        maxHeartbeatThrottleInterval: '3s', // by default four fifths of the time after which a worker counts as dead
        shutdownGraceTime: '4s',
        shutdownForceTime: '7s', // an orchestrator kills after ten
        interceptors: { activity: [...timed, ...activitySpans()] },
        sinks: workflowSpans(),
      }),
    ),
  );
}
