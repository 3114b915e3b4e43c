import { closedLoop, type Measurement } from './closed-loop.js';
import { connect } from './connection.js';
import { hasProc, rssMb } from './cpu.js';
import type { Seed } from './seed.js';
import type { createHolders, WorkerContext, Workload } from './workloads/index.js';

/** One line of the table: a workload under one load. */
export interface Cell extends Measurement {
  workload: string;
  processes: number;
  concurrency: number;
  /** Memory of the largest api process after the load; null if not on Linux. */
  rssMb: number | null;
}

/** Returns the label of a load in legends: api processes and connections. */
export const loadOf = ({ processes, concurrency }: Pick<Cell, 'processes' | 'concurrency'>): string =>
  `${processes}, ${String(concurrency).padStart(2)}`;

export interface Server {
  origin: string;
  pid: number;
}

export interface CellPlan {
  servers: readonly Server[];
  concurrency: number;
  warmMs: number;
  measuredMs: number;
}

export interface CellSurroundings {
  seed: Seed;
  holders: ReturnType<typeof createHolders>;
  mailedCode: WorkerContext['mailedCode'];
  postgresPid: number;
}

/** Measures one cell; its workers are assigned to the servers in turn. */
export async function measureCell(
  workload: Workload,
  { servers, concurrency, warmMs, measuredMs }: CellPlan,
  { seed, holders, mailedCode, postgresPid }: CellSurroundings,
): Promise<Cell> {
  const measurement = await closedLoop(
    {
      concurrency,
      warmMs,
      measuredMs,
      async worker(index) {
        const connection = connect((servers[index % servers.length] as Server).origin);
        const run = await workload.prepare({ index, connection, seed, holders, mailedCode });
        return { run, close: connection.close };
      },
    },
    { server: servers.map(({ pid }) => pid), postgres: postgresPid },
  );
  const memory = servers.map(({ pid }) => rssMb(pid) ?? 0);
  const largest = hasProc ? Math.max(...memory) : null;
  return { workload: workload.name, processes: servers.length, concurrency, rssMb: largest, ...measurement };
}
