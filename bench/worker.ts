import { setTimeout as sleep } from 'node:timers/promises';
import type { Stops } from '../src/dev/stops.js';
import { startChild } from '../src/platform/embedded/children.js';
import { freePair } from '../src/platform/embedded/ports.js';
import { projectRoot } from '../src/platform/root.js';
import { cpuMs, rssMb } from './cpu.js';
import type { Installation } from './installation.js';

/** One worker process, started like `npm run start:worker`. */
export interface BenchWorker {
  pid: number;
  /** From its start until it serves every queue. */
  readyMs: number;
  rssMb(): number | null;
  /**
   * Waits until it has no work left: less than a fifth of a core for five seconds. Resolves at once if not on Linux.
   */
  settles(): Promise<void>;
  stop(): Promise<void>;
}

const readyWithinMs = 60_000;
const settlesWithinMs = 600_000;

/** @param servers where Temporal and the mail server listen */
export async function startWorker(
  { databaseUrl, masterKeys }: Installation,
  servers: { temporal: string; smtpUrl: string },
  stops: Stops,
  settings: Record<string, string> = {},
): Promise<BenchWorker> {
  const metricsPort = await freePair(9_464);
  const startedAt = performance.now();
  const child = await startChild({
    command: process.execPath,
    args: ['--max-old-space-size=192', '--max-semi-space-size=4', 'dist/src/worker.js'],
    cwd: projectRoot,
    env: {
      NODE_ENV: 'development',
      BASE_URL: 'http://localhost:3000',
      DATABASE_URL: databaseUrl,
      MASTER_KEYS: masterKeys,
      TEMPORAL_ADDRESS: servers.temporal,
      SMTP_URL: servers.smtpUrl,
      METRICS_PORT: String(metricsPort),
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
      ...settings,
    },
    onLine: (line) => process.stderr.write(`worker | ${line}\n`),
  });
  const forget = stops.add({ name: 'worker', ...child });
  await untilReady(`http://localhost:${metricsPort + 1}/readyz`);
  return {
    pid: child.pid,
    readyMs: performance.now() - startedAt,
    rssMb: () => rssMb(child.pid),
    async settles() {
      for (const end = performance.now() + settlesWithinMs; performance.now() < end; ) {
        const before = cpuMs([child.pid]);
        await sleep(5_000);
        const after = cpuMs([child.pid]);
        if (before === null || after === null || after - before < 1_000) return;
      }
      throw new Error(`the worker is still at work after ${settlesWithinMs / 1000} s`);
    },
    async stop() {
      forget();
      await child.stop();
    },
  };
}

async function untilReady(url: string): Promise<void> {
  for (const end = performance.now() + readyWithinMs; performance.now() < end; await sleep(50)) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => null);
    if (answer?.ok) return;
  }
  throw new Error(`the worker is not ready after ${readyWithinMs / 1000} s`);
}

/** Returns an amount of memory for a table. */
export const megabytes = (value: number | null) => (value === null ? '–' : `${value} MB`);

interface Opening {
  worker: BenchWorker;
  /** The start, by `performance.now()`. */
  start: number;
  giveUpAfterMs: number;
  say: (line: string) => void;
  left(): Promise<number>;
}

/** Waits until a worker has opened everything. @returns how long that took, and the worker's highest memory */
export async function untilOpen({ worker, start, giveUpAfterMs, say, left }: Opening) {
  let most = worker.rssMb();
  for (let said = 0, waiting = 1; waiting > 0; await sleep(200)) {
    const ms = performance.now() - start;
    waiting = await left();
    if (ms > giveUpAfterMs) throw new Error(`${waiting} are not open after ${giveUpAfterMs / 60_000} minutes`);
    most = most === null ? null : Math.max(most, worker.rssMb() ?? 0);
    if (ms - said > 30_000) {
      said = ms;
      say(`${waiting} are still to be opened after ${Math.round(ms / 1000)} s; the worker has ${most} MB at most`);
    }
  }
  return { openedMs: performance.now() - start, openingRssMb: most };
}
