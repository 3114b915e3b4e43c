import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { developmentSecrets } from '../src/dev/secrets.js';
import type { Stops } from '../src/dev/stops.js';
import { migrate } from '../src/platform/database/migrations.js';
import { startPostgres } from '../src/platform/embedded/postgres.js';

/** A new PostgreSQL with our schema, durable as in production, that is deleted when the benchmark ends. */
export interface Installation {
  ownerUrl: string;
  databaseUrl: string;
  masterKeys: string;
  postgresPid: number;
}

export async function install(stops: Stops): Promise<Installation> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
  await chmod(folder, 0o755); // if we are root, PostgreSQL runs as another user; its own folder is closed
  const forever = new Promise<never>(() => {});
  stops.add({ name: 'folder', exited: forever, stop: () => rm(folder, { recursive: true, force: true }) });
  const { masterKeys, servicePassword } = await developmentSecrets(folder);
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres') });
  stops.add({ name: 'PostgreSQL', ...postgres });
  const service = new URL(postgres.url);
  service.username = 'gatehouse_service';
  service.password = servicePassword;
  await migrate(postgres.url, service.href);
  return { ownerUrl: postgres.url, databaseUrl: service.href, masterKeys, postgresPid: postgres.pid };
}

/** Creates another database with our schema on the same server; it is deleted with the server. */
export async function installBeside(installation: Installation, database: string): Promise<Installation> {
  const owner = new pg.Client({ connectionString: installation.ownerUrl });
  await owner.connect();
  await owner.query(`create database ${database}`).finally(() => owner.end());
  const inside = (url: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href;
  const [ownerUrl, databaseUrl] = [inside(installation.ownerUrl), inside(installation.databaseUrl)];
  await migrate(ownerUrl, databaseUrl);
  return { ...installation, ownerUrl, databaseUrl };
}
