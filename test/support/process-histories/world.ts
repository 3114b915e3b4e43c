import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { pino } from 'pino';
import type { createActivities } from '../../../activities/index.js';
import { openKinds } from '../../../src/domain/processes/open.js';
import { createReconciler, type ReconcilerPlace } from '../../../src/domain/processes/reconciler.js';
import { days, hours } from '../../../src/platform/clock.js';
import { projectRoot } from '../../../src/platform/root.js';
import { startOutboxRelay } from '../../../src/temporal/outbox-relay.js';
import { createProcesses } from '../../../src/temporal/processes.js';
import { startTemporalWorkers } from '../../../src/worker/temporal-workers.js';
import { emailId } from '../../../workflows/ids.js';
import { sealing } from '../administrators.js';
import { startApi } from '../api.js';
import { startDnsServer } from '../dns-server.js';
import { patient } from '../patience.js';
import type { Random } from '../random.js';
import { registrationServices } from '../registration.js';
import { rowsOf } from '../rows.js';
import { namespace, startTestTemporal } from '../temporal.js';
import { until } from '../until.js';
import { workerActivities } from '../worker-activities.js';
import type { Timed } from './told-time.js';

export type ProcessWorld = Awaited<ReturnType<typeof startProcessWorld>>;

const log = pino({ level: 'silent' });
const durations = { ttlMs: hours(24), reminderAfterMs: hours(20), intentTtlMs: hours(24) };
export const domainSchedule = { pauses: [hours(1), hours(23), hours(48)], recheckMs: hours(24), lapseAfterMs: days(3) };

/**
 * Starts the whole api, a relay and a worker beside real PostgreSQL, Temporal and DNS; only the mail server is replaced.
 * All of them, workflows included, have the test's clock, which stands still unless it is moved.
 */
export async function startProcessWorld() {
  const [temporal, dns, bundle] = await Promise.all([startTestTemporal(), startDnsServer(), bundleWithTestsClock()]);
  const api = await startApi({
    TEMPORAL_ADDRESS: temporal.address,
    DNS_SERVERS: dns.address,
    DOMAIN_POLL_SCHEDULE: '1h,23h,48h',
  });
  const { database, clock } = api;
  const server = { address: temporal.address, namespace, apiKey: null };
  const processes = createProcesses(server, patient);
  const now = () => clock.now;
  const services = registrationServices(database, durations, { sealing, now });
  let losing: Random | null = null;
  const activities = timed(
    workerActivities(database, services, processes, { domains: { ...domainSchedule, servers: [dns.server] } }),
    { now, loses: () => losing?.below(3) === 0 },
  );
  const startWorkers = () =>
    startTemporalWorkers({
      ...{ server, processes, activities, log, issuer: 'http://localhost', codePath: bundle.path },
      giveUp: () => undefined,
    });
  const startRelay = () =>
    startOutboxRelay({ db: database.db, databaseUrl: database.url, processes, log, pollMs: 200 });
  let workers: ReturnType<typeof startWorkers> | null = startWorkers();
  let relay: ReturnType<typeof startRelay> | null = startRelay();
  const query = <Row = Record<string, unknown>>(text: string, ...values: unknown[]) => rowsOf<Row>(api, text, values);
  const handleOf = (workflowId: string) => temporal.client.workflow.getHandle(workflowId);
  /** What the latest run of a workflow is; null if there was none. */
  const runOf = (workflowId: string) =>
    handleOf(workflowId)
      .describe()
      .catch(() => null);
  /** Whether something is on its way. A mail of which nobody has asked a process to send it waits for the Schedule. */
  const hasMessages = async () => {
    const text = `select exists (select from outbox) as waits, array(select id from emails where status = 'pending') as mails`;
    const [row] = await query<{ waits: boolean; mails: string[] }>(text);
    const runs = await Promise.all((row?.mails ?? []).map((id) => runOf(emailId(id))));
    return row?.waits || runs.some((run) => run?.status.name === 'RUNNING');
  };
  const reconciler = createReconciler({
    ...{ db: database.db, now, processes, settledMs: 0 },
    kinds: openKinds({ ...durations, now }),
  });

  return {
    api,
    dns,
    query,
    handleOf,
    runOf,
    client: temporal.client,
    mails: services.sent,
    now: () => clock.now.getTime(),
    isWorking: () => workers !== null,
    isRelaying: () => relay !== null,
    async stopWorkers(): Promise<void> {
      await workers?.stop();
      workers = null;
    },
    startWorkers(): void {
      workers ??= startWorkers();
    },
    async stopRelay(): Promise<void> {
      await relay?.stop();
      relay = null;
    },
    startRelay(): void {
      relay ??= startRelay();
    },
    /** From now on the results of some steps are lost after they have taken effect; null: of none. */
    loseResults(random: Random | null): void {
      losing = random;
    },
    /** Moves the clock, and tells these workflows. */
    async pass(ms: number, workflowIds: readonly string[]): Promise<void> {
      clock.advance(ms);
      await Promise.all(
        workflowIds.map(
          (id) =>
            handleOf(id)
              .signal('timeIs', clock.now.getTime())
              .catch(() => undefined), // it does not run
        ),
      );
    },
    /** Gives each waiting row without a workflow another one, as the Schedule does. */
    async heal(): Promise<void> {
      for (let place: ReconcilerPlace | null | undefined; place !== null; ) {
        const { failed, next } = await reconciler.reconcile(place ?? null, 100);
        if (failed.length > 0) throw new Error(`not healed: ${failed}`);
        place = next;
      }
    },
    /** Waits until these workflows run, and wait themselves. */
    untilTheyWait: (workflowIds: readonly string[]) =>
      until('they wait', async () => (await Promise.all(workflowIds.map(runOf))).every(isWaiting)),
    /** Waits until nothing is under way: no message, no mail, and no step of these workflows. */
    async untilAtRest(workflowIds: readonly string[]): Promise<void> {
      // Until a look finds nothing: one workflow may have told another meanwhile.
      for (let looks = 2; looks > 1; ) {
        looks = 0;
        await until('no message waits', async () => ++looks && !(await hasMessages()));
        let [busy, asked] = [workflowIds, 0];
        await until('no step is under way', async () => {
          const runs = await Promise.all(busy.map(runOf));
          busy = busy.filter((_, i) => runs[i]?.status.name === 'RUNNING' && !isWaiting(runs[i]));
          return ++asked && busy.length === 0;
        });
        looks = Math.max(looks, asked);
      }
    },
    async stop(): Promise<void> {
      await Promise.all([workers?.stop(), relay?.stop()]);
      await processes.close();
      await api.stop();
      await Promise.all([temporal.stop(), dns.stop(), bundle.remove()]);
    },
  };
}

interface Underway {
  pendingWorkflowTask?: unknown;
  pendingActivities?: unknown[] | null;
}
/** Whether a workflow runs without a step under way. */
const isWaiting = (run: { status: { name: string }; raw: Underway } | null) =>
  run?.status.name === 'RUNNING' && !run.raw.pendingWorkflowTask && !run.raw.pendingActivities?.length;

/** Builds the service's workflows with the test's clock. */
async function bundleWithTestsClock() {
  const source = (name: string) => join(projectRoot, 'workflows', name);
  const { code } = await bundleWorkflowCode({
    workflowsPath: source('index.ts'),
    workflowInterceptorModules: [
      source('tracing.ts'),
      join(projectRoot, 'test/support/process-histories/told-time.ts'),
    ],
    payloadConverterPath: source('payloads.ts'),
    logger: new DefaultLogger('WARN', ({ message }) => process.stderr.write(`${message}\n`)),
  });
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-workflows-'));
  const path = join(folder, 'bundle.js');
  await writeFile(path, code);
  return { path, remove: () => rm(folder, { recursive: true }) };
}

type Activities = ReturnType<typeof createActivities>;
interface Timing {
  now(): Date;
  /** Whether the result of a step is lost. */
  loses(): boolean;
}

/** Has steps return the time, too; what they say of the machine's clock would contradict it. */
function timed(activities: Activities, { now, loses }: Timing): Activities {
  const wrapped = (step: (...args: unknown[]) => Promise<unknown>) =>
    async function timedStep(...args: unknown[]): Promise<Timed> {
      const result = await step(...args);
      if (Context.current().info.attempt === 1 && loses()) throw ApplicationFailure.retryable('lost', 'outage');
      if (result && typeof result === 'object' && 'waitMs' in result) result.waitMs = undefined;
      return { result, now: now().getTime() };
    };
  const { webhooks: _, ...used } = activities;
  const all = Object.entries(used).map(([queue, steps]) => [
    queue,
    Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, wrapped(step as never)])),
  ]);
  return Object.fromEntries(all) as Activities;
}
