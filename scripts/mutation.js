// `npm run mutation -- access`: runs mutation tests of one area of stryker.config.js, on one migrated database.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import 'reflect-metadata';
import { migrate } from '../dist/src/platform/database/migrations.js';
import { startPostgres } from '../dist/src/platform/embedded/postgres.js';
import { serviceUrl } from '../dist/test/support/database.js';

const [area, ...options] = process.argv.slice(2);
const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-mutation-'));
const postgres = await startPostgres({ dataDir, durable: false });
const { pathname } = new URL(postgres.url);
try {
  await migrate(postgres.url, serviceUrl(postgres.url));
  const server = new URL(postgres.url);
  server.pathname = '/postgres'; // nothing may be connected to the database that is copied
  const env = {
    ...process.env,
    ...(area && { AREA: area }),
    GATEHOUSE_TEST_SERVER: server.href,
    GATEHOUSE_TEST_TEMPLATE: pathname.slice(1),
    GATEHOUSE_TEST_DOCUMENTS: dataDir,
  };
  const stryker = spawn('node_modules/.bin/stryker', ['run', ...options], { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stryker.kill(signal));
  process.exitCode = await new Promise((resolve) => stryker.once('exit', resolve));
} finally {
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
