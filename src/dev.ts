import 'reflect-metadata';
import { mkdir } from 'node:fs/promises';
import { loadConfig } from './config.js';
import { announce } from './dev/announcement.js';
import { demoOf, seedDemo, writeDemo } from './dev/demo.js';
import { startParts } from './dev/parts.js';
import { startProcesses } from './dev/processes.js';
import { keptSecrets } from './dev/secrets.js';
import { createStops } from './dev/stops.js';
import { migrate } from './platform/migrations.js';
import { runProcess } from './platform/process.js';

/** `npm start`: the whole service on one machine, with what it needs embedded unless it is configured elsewhere. */
await runProcess('start', async () => {
  const config = loadConfig('dev');
  const stops = createStops();
  const say = (line: string) => process.stdout.write(`${line}\n`);
  try {
    await mkdir(config.dataDir, { recursive: true, mode: 0o755 });
    const secrets = await keptSecrets(config.dataDir);
    const parts = await startParts(config, secrets, { stops, say });
    const ran = await migrate(parts.ownerUrl, parts.databaseUrl);
    if (ran.length > 0) say(`Schema: ran ${ran.length} migrations`);
    const data = await seedDemo(config, parts, secrets);
    const processes = await startProcesses(config, parts, secrets, data.clientId, { stops, say });
    say(announce(await writeDemo(config, demoOf(data, parts, processes, secrets))));
    stops.untilSignalled();
  } catch (error) {
    await stops.all();
    if (!stops.signalled) throw error;
  }
});
