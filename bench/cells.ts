import { closedLoop, type Measurement } from './closed-loop.js';
import { connect } from './connection.js';
import type { Seed } from './seed.js';
import type { createHolders, Workload } from './workloads/index.js';

/** One line of the table: a workload under one load. */
export interface Cell extends Measurement {
  workload: string;
  processes: number;
  concurrency: number;
}

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

export interface Surroundings {
  seed: Seed;
  holders: ReturnType<typeof createHolders>;
  postgresPid: number;
}

/** Measures one cell; its workers are dealt to the servers in turn. */
export async function measureCell(
  workload: Workload,
  { servers, concurrency, warmMs, measuredMs }: CellPlan,
  { seed, holders, postgresPid }: Surroundings,
): Promise<Cell> {
  const measurement = await closedLoop(
    {
      concurrency,
      warmMs,
      measuredMs,
      async worker(index) {
        const connection = connect((servers[index % servers.length] as Server).origin);
        const run = await workload.prepare({ index, connection, seed, holders });
        return { run, close: connection.close };
      },
    },
    { server: servers.map(({ pid }) => pid), postgres: postgresPid },
  );
  return { workload: workload.name, processes: servers.length, concurrency, ...measurement };
}
