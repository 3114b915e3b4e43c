import { cpuMs, machineCpuMs, treeCpuMs } from './cpu.js';
import { percentile } from './percentile.js';

/** One measured operation: one or more requests whose answers are all checked. */
export type Operation = () => Promise<void>;

export interface Load {
  concurrency: number;
  warmMs: number;
  measuredMs: number;
  /** Makes the operation of worker `index`, with its own connection. */
  worker(index: number): Promise<{ run: Operation; close(): Promise<void> }>;
}

/** The processes whose CPU time is charged to an operation. */
export interface Charged {
  server: readonly number[];
  postgres: number | null;
}

export interface Measurement {
  perSecond: number;
  p50: number;
  p99: number;
  errors: number;
  /** The first error's text. */
  error: string | null;
  serverCpuMs: number | null;
  postgresCpuMs: number | null;
  clientCpuMs: number;
  /** What unrelated processes used of one core, in percent; a high value invalidates the cell. */
  othersPercent: number | null;
}

/** After so many errors a phase ends: a broken service need not be called for the whole time. */
const maxErrors = 20;

/** Runs a closed loop: each worker waits for its answer before the next request, so a slow server is not flooded. */
export async function closedLoop(load: Load, charged: Charged): Promise<Measurement> {
  const workers = await Promise.all(Array.from({ length: load.concurrency }, (_, index) => load.worker(index)));
  const operations = workers.map(({ run }) => run);
  try {
    const warm = await phase(operations, load.warmMs);
    if (warm.errors.length >= maxErrors) return summary(warm, snapshot(charged), snapshot(charged));
    const before = snapshot(charged);
    const measured = await phase(operations, load.measuredMs);
    return summary(measured, before, snapshot(charged));
  } finally {
    await Promise.all(workers.map(({ close }) => close()));
  }
}

interface Phase {
  latencies: number[];
  errors: string[];
}

async function phase(operations: readonly Operation[], ms: number): Promise<Phase> {
  const end = performance.now() + ms;
  const latencies: number[] = [];
  const errors: string[] = [];
  const work = async (run: Operation) => {
    for (let at = performance.now(); at < end && errors.length < maxErrors; ) {
      try {
        await run();
        const now = performance.now();
        latencies.push(now - at);
        at = now;
      } catch (error) {
        errors.push((error as Error).message);
        at = performance.now();
      }
    }
  };
  await Promise.all(operations.map(work));
  return { latencies, errors };
}

interface Snapshot {
  at: number;
  server: number | null;
  postgres: number | null;
  client: number;
  machine: number | null;
}

function snapshot({ server, postgres }: Charged): Snapshot {
  const { user, system } = process.cpuUsage();
  return {
    at: performance.now(),
    server: cpuMs(server),
    postgres: postgres === null ? null : treeCpuMs(postgres),
    client: (user + system) / 1000,
    machine: machineCpuMs(),
  };
}

function summary({ latencies, errors }: Phase, before: Snapshot, after: Snapshot): Measurement {
  const count = latencies.length;
  const spent = (part: 'server' | 'postgres' | 'machine') =>
    before[part] === null || after[part] === null ? null : (after[part] as number) - (before[part] as number);
  const each = (ms: number | null) => (ms === null || count === 0 ? null : ms / count);
  const elapsed = Math.max(1, after.at - before.at);
  const client = after.client - before.client;
  const machine = spent('machine');
  const others = machine === null ? null : machine - client - (spent('server') ?? 0) - (spent('postgres') ?? 0);
  return {
    perSecond: (count / elapsed) * 1000,
    p50: count ? percentile(latencies, 0.5) : 0,
    p99: count ? percentile(latencies, 0.99) : 0,
    errors: errors.length,
    error: errors[0] ?? null,
    serverCpuMs: each(spent('server')),
    postgresCpuMs: each(spent('postgres')),
    clientCpuMs: each(client) ?? 0,
    othersPercent: others === null ? null : Math.max(0, (others / elapsed) * 100),
  };
}
