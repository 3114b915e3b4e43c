import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Stops } from '../src/dev/stops.js';
import { type EmbeddedTemporal, startTemporal } from '../src/platform/embedded/temporal.js';
import { findTemporalCli } from '../src/platform/embedded/temporal-cli.js';
import { findTemporalPrograms } from '../src/platform/embedded/temporal-programs.js';
import { startTemporalServer } from '../src/platform/embedded/temporal-server.js';
import { searchAttributes } from '../workflows/search-attributes.js';
import { cpuMs, treeCpuMs } from './cpu.js';
import type { Installation } from './installation.js';
import type { BenchWorker } from './worker.js';

/** The CLI's dev server in memory, or a server that stores everything in the installation's PostgreSQL. */
export type TemporalKind = 'in memory' | 'on PostgreSQL';

/** Starts the Temporal that is measured, for an installation. */
export type StartBenchTemporal = (installation: Installation) => Promise<EmbeddedTemporal>;

export const temporalStarter =
  (kind: TemporalKind, stops: Stops, say: (line: string) => void): StartBenchTemporal =>
  async ({ ownerUrl }) => {
    say(`starting Temporal, ${kind}`);
    const temporal = kind === 'in memory' ? await inMemory(say) : await onPostgres(ownerUrl, stops, say);
    stops.add({ name: 'Temporal', ...temporal });
    return temporal;
  };

async function inMemory(say: (line: string) => void) {
  return startTemporal({ cliPath: await findTemporalCli({ onProgress: say }), namespace: 'default', searchAttributes });
}

async function onPostgres(postgresUrl: string, stops: Stops, say: (line: string) => void) {
  const { TEMPORAL_SERVER_PATH: server, TEMPORAL_SQL_TOOL_PATH: sqlTool } = process.env;
  const programs = await findTemporalPrograms({ configured: { server, sqlTool }, onProgress: say });
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-temporal-'));
  const forever = new Promise<never>(() => {});
  stops.add({ name: 'folder', exited: forever, stop: () => rm(dataDir, { recursive: true, force: true }) });
  return startTemporalServer({ programs, databases: { postgresUrl }, namespace: 'default', dataDir });
}

/** CPU time in ms. */
export interface DurableCpu {
  worker: number;
  temporal: number;
  postgres: number;
}

/**
 * Starts measuring worker, Temporal and PostgreSQL.
 * @returns a function that returns the CPU time; null if not on Linux
 */
export function durableCpu(
  worker: BenchWorker,
  temporal: EmbeddedTemporal,
  { postgresPid }: Installation,
): () => DurableCpu | null {
  const now = () => [cpuMs([worker.pid]), cpuMs([temporal.pid]), treeCpuMs(postgresPid)];
  const before = now();
  return () => {
    const spent = now().map((ms, i) => (ms === null ? null : ms - (before[i] as number)));
    const [ofWorker, ofTemporal, ofPostgres] = spent;
    if (ofWorker == null || ofTemporal == null || ofPostgres == null) return null;
    return { worker: ofWorker, temporal: ofTemporal, postgres: ofPostgres };
  };
}

/** Returns the CPU time in ms per item, for a table. */
export const cpuOfEach = (cpu: DurableCpu | null, count: number): string =>
  cpu === null ? '–' : [cpu.worker, cpu.temporal, cpu.postgres].map((ms) => (ms / count).toFixed(1)).join(' + ');
