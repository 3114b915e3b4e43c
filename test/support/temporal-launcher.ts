import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedTemporal, startTemporal } from '../../src/platform/embedded/temporal.js';
import { findTemporalCli } from '../../src/platform/embedded/temporal-cli.js';
import { findTemporalPrograms } from '../../src/platform/embedded/temporal-programs.js';
import { databaseNames } from '../../src/platform/embedded/temporal-schema.js';
import { startTemporalServer } from '../../src/platform/embedded/temporal-server.js';
import { searchAttributes } from '../../workflows/search-attributes.js';
import { asOwner } from './database.js';

export const namespace = 'default';

/**
 * Whether Temporal runs on PostgreSQL (`GATEHOUSE_TEST_TEMPORAL=server`), as in production, instead of the dev server,
 * which starts faster.
 */
export const onPostgres = process.env.GATEHOUSE_TEST_TEMPORAL === 'server';

export interface TemporalLauncher {
  /** Starts it on this port, or on a rarely used one, with the data that an earlier server of this launcher kept. */
  launch(port?: number): Promise<EmbeddedTemporal>;
  /** Removes its data. */
  remove(): Promise<void>;
}

/**
 * @param dataDir keeps the histories of the dev server, which otherwise are in memory
 * @param postgresUrl where a server on PostgreSQL creates its databases for them
 * @param eventsPerHistory after how many the dev server suggests a fresh history
 */
export async function temporalLauncher({
  dataDir,
  postgresUrl = process.env.GATEHOUSE_TEST_SERVER,
  eventsPerHistory,
}: {
  dataDir?: string;
  postgresUrl?: string;
  eventsPerHistory?: number | undefined;
} = {}): Promise<TemporalLauncher> {
  if (!onPostgres) {
    const cliPath = await findTemporalCli({ onProgress: () => {} });
    return {
      launch: (port) =>
        startTemporal({ cliPath, namespace, port, searchAttributes, eventsPerHistory, ...(dataDir && { dataDir }) }),
      remove: async () => {},
    };
  }
  if (!postgresUrl) throw new Error('there is no PostgreSQL for Temporal');
  const { TEMPORAL_SERVER_PATH: server, TEMPORAL_SQL_TOOL_PATH: sqlTool } = process.env;
  const programs = await findTemporalPrograms({ configured: { server, sqlTool }, onProgress: () => {} });
  const databases = { postgresUrl, name: `temporal_${randomBytes(6).toString('hex')}` };
  const usual = randomInt(10_000, 30_000); // a killed server returns to its port, which nothing else should take
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-temporal-'));
  return {
    launch: (port = usual) => startTemporalServer({ programs, databases, namespace, dataDir: folder, port }),
    async remove() {
      await asOwner(async (client) => {
        for (const name of Object.values(databaseNames(databases)))
          await client.query(`drop database if exists ${name} with (force)`);
      }, postgresUrl);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
