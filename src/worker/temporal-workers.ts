import { setTimeout as sleep } from 'node:timers/promises';
import { type ActivityInterceptorsFactory, NativeConnection, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { createActivities } from '../../activities/index.js';
import { faultOf } from '../platform/faults.js';
import { mailsAtOnce } from '../platform/mail/mailer.js';
import type { TaskQueue } from '../platform/process-kinds.js';
import { credentialsOf, type TemporalServer } from '../platform/temporal-connection.js';
import type { Processes } from '../temporal/processes.js';
import type { Metrics } from './metrics.js';
import { runAll, shutDown, WorkersHang } from './run-all.js';
import { startScheduleChecks } from './schedule-checks.js';
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
  /** Ends the process: hanging workers keep their connection, and only a new process starts afresh. */
  giveUp(): void;
}

/**
 * How many activities of a queue run at once in this process. There are as many mails as connections of the mailer: one
 * that waited for a connection would only occupy a slot. Erasures never wait and keep PostgreSQL busy: with a few at
 * once there is capacity left for work that people wait for. A call of a webhook's receiver or a name server is only a
 * waiting socket; the activity itself decides which of them may be called (`src/domain/webhooks/admission.ts`,
 * `src/domain/sso-domains/checks.ts`), so that there is always a slot for one that answers.
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
 * How many workflows of a queue stay in memory between their steps, at almost half a megabyte each. Workflows that wait
 * for days need not: when their time comes, their history of some twenty events is replayed in milliseconds.
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
/** As long as the SDK itself waits: a busy server may take seconds. */
const pingWithinMs = 10_000;

/**
 * Runs a worker for each task queue until it is stopped. While Temporal is unavailable, at the start or later and for
 * however long, tries again to connect.
 */
export function startTemporalWorkers(options: TemporalWorkers) {
  const { log } = options;
  const stopping = new AbortController();
  const schedules = startScheduleChecks({ ...options, namespace: options.server.namespace }, stopping.signal);
  let workers: Worker[] = [];

  const running = (async () => {
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      let connection: NativeConnection | undefined;
      try {
        connection = await connect(options.server);
        await schedules.prepare();
        // The SDK asks for the namespace, too, but by then it has begun threads, which a failure leaves behind.
        await options.processes.ping(pingWithinMs);
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
    /** Returns whether the workers of all queues are running. */
    isWorking: () => workers.length > 0 && workers.every((worker) => worker.getState() === 'RUNNING'),
    /** Takes no new work; resolves when all running work has finished, or its time is over. */
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
        // A workflow's next task goes to the worker that has it in memory. If that one was killed, a person's
        // confirmation waits this long for another: by default ten seconds, longer than the api waits for an answer.
        stickyQueueScheduleToStartTimeout: '1s',
        maxHeartbeatThrottleInterval: '3s', // by default four fifths of the heartbeat timeout
        shutdownGraceTime: '4s',
        shutdownForceTime: '7s', // an orchestrator kills the process after ten
        interceptors: { activity: [...timed, ...activitySpans()] },
        sinks: workflowSpans(),
      }),
    ),
  );
}
