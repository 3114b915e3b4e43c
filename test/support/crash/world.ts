import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seconds } from '../../../src/platform/clock.js';
import { createSealing } from '../../../src/platform/crypto/sealing.js';
import { createProcesses } from '../../../src/temporal/processes.js';
import { newDatabase, rowsAsOwner } from '../database.js';
import { startDnsServer } from '../dns-server.js';
import { patience } from '../patience.js';
import { namespace, startTestTemporal } from '../temporal.js';
import { until } from '../until.js';
import { startMailSink } from './mail-sink.js';
import { crashFolder, type Death, stillPlanned } from './plan.js';
import { startWorkerProcess, type WorkerProcess } from './process.js';

/** One run of a workflow. */
export interface CrashRun {
  workflowId: string;
  /** The activities after which its worker is to die, in order. */
  deaths: readonly string[];
  /** What people do meanwhile; repeated until it succeeds. */
  act?(): Promise<unknown>;
  /** Waits for its end. @returns what it left, without ids */
  left(): Promise<object>;
}
/** Writes what the run starts from. No worker runs before all have begun. */
export type Begin = (world: CrashWorld) => Promise<CrashRun>;
export type CrashWorld = Awaited<ReturnType<typeof startCrashWorld>>;

/** A run ended before a worker could die for it: the machine was slower than it had seemed. */
export class TooLate extends Error {}

/** How long before its end a grace's reminder is sent, and a role is reported as expiring. */
export const graceReminderMs = seconds(35);
/** The wait before the first and the last check of a domain claim. */
export const domainPauseMs = seconds(25);
/** The time from a worker's start to its first mail, if nothing else runs. The tests' times are made for it. */
const firstMailMs = seconds(2);

/**
 * Starts PostgreSQL, Temporal, a mail server and a name server, which stay while workers come and go as separate
 * processes.
 * @param slowness how many times as long as on an idle machine everything takes, if that was measured already
 */
export async function startCrashWorld(slowness = 1) {
  const [database, temporal, mails, dns, folder] = await Promise.all([
    newDatabase(),
    startTestTemporal(),
    startMailSink(),
    startDnsServer(),
    mkdtemp(join(tmpdir(), 'gatehouse-crash-')),
  ]);
  const key = randomBytes(32);
  const processes = createProcesses({ address: temporal.address, namespace, apiKey: null });
  const settings = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    SMTP_URL: mails.url,
    DNS_SERVERS: dns.address,
    MASTER_KEYS: `k1:${key.toString('base64')}`,
    LOG_LEVEL: 'warn',
  };
  const workers: WorkerProcess[] = [];
  let stopping = false;
  /** Returns how long something takes here and now that takes this long on an idle machine, in milliseconds. */
  const paced = (ms: number) => Math.round(ms * slowness);

  function startWorker(script = 'src/worker.js'): WorkerProcess {
    const worker = startWorkerProcess(script, {
      ...settings,
      DOMAIN_POLL_SCHEDULE: `${paced(domainPauseMs)}ms`,
      MFA_GRACE_REMINDERS: `${paced(graceReminderMs)}ms`,
      ROLE_ASSIGNMENT_NOTICES: `${paced(graceReminderMs)}ms`,
      GATEHOUSE_CRASH_FOLDER: folder,
    });
    workers.push(worker);
    return worker;
  }

  /** Returns a workflow's status; NOT_FOUND until the relay has started it. */
  const statusOf = (workflowId: string) =>
    temporal.client.workflow
      .getHandle(workflowId)
      .describe()
      .then(
        ({ status }) => status.name,
        () => 'NOT_FOUND',
      );

  const told = crashFolder(folder);
  const stillToDie = (runs: readonly CrashRun[]) =>
    runs
      .map(({ workflowId, deaths }) => ({ workflowId, missing: stillPlanned(deaths, workflowId, told.deaths()) }))
      .filter(({ missing }) => missing.length > 0);

  /**
   * Lets one worker after another die, until each of these runs has had all its deaths.
   * @throws TooLate as soon as a run has ended before
   */
  async function killAtEachStep(runs: readonly CrashRun[], withinMs = 8 * patience): Promise<Death[]> {
    told.write(Object.fromEntries(runs.map(({ workflowId, deaths }) => [workflowId, deaths])));
    const over = Date.now() + withinMs;
    while (stillToDie(runs).length > 0) {
      const worker = startWorker('test/support/crash/worker.js');
      let signal: NodeJS.Signals | null | undefined;
      void worker.exited.then((how) => {
        signal = how;
      });
      while (signal === undefined) {
        await sleep(500);
        await assertOnTheirWay(runs, over).catch((error) => {
          worker.kill();
          throw error;
        });
      }
      if (signal !== 'SIGKILL') throw new Error(`The worker ended by itself:\n${worker.output()}`);
    }
    const ours = new Set(runs.map(({ workflowId }) => workflowId));
    return told.deaths().filter(({ workflowId }) => ours.has(workflowId));
  }

  async function assertOnTheirWay(runs: readonly CrashRun[], over: number): Promise<void> {
    for (const { workflowId, missing } of stillToDie(runs)) {
      const status = await statusOf(workflowId);
      const ended = status !== 'RUNNING' && status !== 'NOT_FOUND';
      const message = `${workflowId} is ${status}, and no worker has died after ${missing}`;
      if (ended) throw new TooLate(message);
      if (Date.now() > over) throw new Error(message);
    }
  }

  /** Waits across the deaths of workers. @throws Error after minutes, or when the test has ended */
  async function awaits<T>(what: string, look: () => Promise<T>): Promise<NonNullable<T>> {
    const seen = await until(what, async () => (stopping ? 'over' : look()), {
      timeoutMs: 8 * patience, // dying workers restart some fifty times, each as slowly as the machine does
      everyMs: 200,
    });
    if (stopping) throw new Error(`The test is over: ${what}`);
    return seen as NonNullable<T>;
  }

  return {
    database,
    temporal,
    processes,
    mails,
    sealing: createSealing([{ id: 'k1', key }]),
    startWorker,
    statusOf,
    awaits,
    paced,
    slowness: () => slowness,
    /** Gives everything more time on a busy machine, so that no deadline passes too early. */
    sawFirstMailAfter(ms: number): void {
      slowness = Math.min(6, Math.max(1, ms / firstMailMs));
    },
    /** Doubles the time for everything from now on. */
    slower(): void {
      slowness *= 2;
    },
    killAtEachStep,
    query: (text: string, ...values: unknown[]) => rowsAsOwner(database.ownerUrl, text, values),
    async stop(): Promise<void> {
      stopping = true;
      for (const worker of workers) worker.kill();
      await processes.close();
      await temporal.stop();
      await database.close();
      await mails.stop();
      await dns.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
