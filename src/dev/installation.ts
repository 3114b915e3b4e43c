import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { migrate } from '../platform/database/migrations.js';
import { announce } from './announcement.js';
import { demoOf, seedDemo, writeDemo } from './demo.js';
import { registerLogoutAddress } from './demo-data.js';
import { type Layout, startParts } from './parts.js';
import { startProcesses } from './processes.js';
import { developmentSecrets } from './secrets.js';
import { createStops } from './stops.js';

/**
 * Runs a whole installation on this machine until a signal, or until one of its parts ends.
 * @param folder a folder below the data folder, for an installation that shares nothing with that of `npm start`
 */
export async function runInstallation(
  configured: Config,
  { folder, ...layout }: Layout & { folder?: string },
): Promise<void> {
  const config = inFolder(configured, folder);
  const stops = createStops();
  const say = (line: string) => process.stdout.write(`${line}\n`);
  try {
    await mkdir(config.dataDir, { recursive: true, mode: 0o755 });
    const secrets = await developmentSecrets(config.dataDir);
    const parts = await startParts(config, secrets, { stops, say }, layout);
    const ran = await migrate(parts.ownerUrl, parts.databaseUrl);
    if (ran.length > 0) say(`Schema: ran ${ran.length} migrations`);
    const data = await seedDemo(config, parts, secrets);
    const installed = { parts, secrets, clientId: data.clientId };
    const processes = await startProcesses(config, installed, { stops, say }, layout);
    await registerLogoutAddress(parts.databaseUrl, data, processes.relyingPartyUrl);
    say(announce(await writeDemo(config, demoOf(data, parts, processes, secrets))));
    stops.untilSignalled();
  } catch (error) {
    await stops.all();
    if (!stops.signalled) throw error;
  }
}

function inFolder(config: Config, folder: string | undefined): Config {
  if (folder === undefined) return config;
  const dataDir = join(config.dataDir, folder);
  return { ...config, dataDir, demoFile: join(dataDir, 'demo.json') };
}
