import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { StartError } from '../start-error.js';
import { type Child, type Exit, runChild, running, startChild, untilReady } from './children.js';
import { type Claim, claimFolder, identityOf, stopStranger } from './claims.js';
import { onFreePorts, rememberedPort, rememberPort } from './ports.js';
import { changeOwner, type PostgresHome, postgresHome } from './postgres-home.js';

const DATABASE = 'gatehouse';
const SUPERUSER = 'postgres';
const DEFAULT_PORT = 54_320;
/** Long enough for a crash recovery. */
const START_TIMEOUT_MS = 60_000;
/** The user's own psql settings must not reach the server, and its messages must be in English. */
const FOREIGN_ENV = /^(PG|LC_|LANG|NODE_OPTIONS$)/;
/** SIGTERM would wait for every client to disconnect; SIGINT ends the sessions and closes the files properly. */
const STOP_SIGNAL = 'SIGINT';

export interface StartPostgres {
  /** Keeps the cluster, its password (mode 0600) and its port from one start to the next. */
  dataDir: string;
  /** Preferred port; if absent, the last one, then 54320. The next free one if it is taken. */
  port?: number;
  /** False for tests: faster, but a power cut may lose the data. Default true. */
  durable?: boolean;
  log?: (line: string) => void;
}

export interface EmbeddedPostgres {
  pid: number;
  /** The URL of the database `gatehouse` for its owner (the superuser). */
  url: string;
  port: number;
  /** Resolves when the server has ended, by `stop` or on its own. */
  exited: Promise<Exit & { tail: string }>;
  /** Ends all sessions and closes the files; the data stays. */
  stop(): Promise<void>;
}

interface Cluster extends PostgresHome {
  data: string;
  password: string;
  durable: boolean;
}

/**
 * Starts a PostgreSQL server for `dataDir` alone that listens only on 127.0.0.1; creates its cluster the first time.
 * A server that an earlier, killed start left running is stopped first.
 * @throws FolderInUse when another living process has started it from the same folder; Error with the server's last
 *   lines when it does not come up
 */
export async function startPostgres(options: StartPostgres): Promise<EmbeddedPostgres> {
  const { durable = true, log = () => {} } = options;
  await mkdir(options.dataDir, { recursive: true });
  const dataDir = await realpath(options.dataDir);
  const claim = await claimFolder(dataDir, STOP_SIGNAL);
  try {
    const password = await readFile(join(dataDir, 'password'), 'utf8').catch(() => '');
    const home = await postgresHome(dataDir);
    const cluster: Cluster = { ...home, data: join(home.folder, 'cluster'), password, durable };
    await clearLeftovers(cluster.data);
    if (home.folder !== dataDir) {
      log(`PostgreSQL's user cannot enter ${dataDir}: its data is in ${home.folder}`);
      // Somebody who deleted the data folder wants a fresh start, so the cluster elsewhere is deleted too.
      if (!password) await rm(cluster.data, { recursive: true, force: true });
    }
    if (!existsSync(cluster.data)) {
      log('Creating the PostgreSQL data folder');
      cluster.password = await createCluster(cluster, dataDir);
    } else if (!password) {
      throw new StartError(
        `${join(dataDir, 'password')} is missing, so its database cannot be opened; restore it or delete ${dataDir}`,
      );
    }
    const preferred = options.port ?? (await rememberedPort(dataDir)) ?? DEFAULT_PORT;
    const { server, port } = await onFreePorts([preferred], async ([port]) => {
      return { server: await startServer(cluster, port!, claim), port: port! };
    });
    await rememberPort(dataDir, port);
    log(`PostgreSQL listens on 127.0.0.1:${port}`);
    return {
      url: urlOf(cluster, port, DATABASE),
      port,
      ...running(server, claim.release),
    };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** Creates the cluster under another name, then renames it: no start leaves a half-made one. Returns its password. */
async function createCluster(cluster: Cluster, dataDir: string): Promise<string> {
  const { account, bin, data, folder, durable } = cluster;
  const draft = `${data}.new`;
  const passwordFile = join(folder, 'initial-password');
  const password = randomBytes(24).toString('hex');
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await changeOwner(account, draft);
  await rm(passwordFile, { force: true });
  await writeFile(passwordFile, password, { mode: 0o600 });
  await changeOwner(account, passwordFile);
  try {
    const args = [`--pgdata=${draft}`, `--username=${SUPERUSER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
    // The built-in locale sorts and compares the same on every machine.
    args.push('--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
    if (!durable) args.push('--no-sync');
    await runChild({ command: join(bin, 'initdb'), args, ...account, withoutEnv: FOREIGN_ENV });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rm(join(dataDir, 'password'), { force: true });
  await writeFile(join(dataDir, 'password'), password, { mode: 0o600 });
  await rename(draft, data);
  return password;
}

/**
 * Stops a server that still works on the cluster. If the process id in its lock file belongs to another program by now,
 * PostgreSQL would take that for a running server: the file then gets our id. It is not removed: PostgreSQL ignores its
 * parent's id, and still checks for sessions that outlived their server.
 */
async function clearLeftovers(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  const identity = pid > 0 ? identityOf(pid) : undefined;
  if (identity === undefined) return;
  if (identity.includes(`-D ${data} `)) return stopStranger(pid, STOP_SIGNAL);
  await writeFile(file, text.replace(/^\d+/, String(process.pid)));
}

async function startServer(cluster: Cluster, port: number, claim: Claim): Promise<Child> {
  const { account, bin, data, durable } = cluster;
  const settings: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '256MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(!durable && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const args = ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const server = await startChild({
      command: join(bin, 'postgres'),
      args,
      ...account,
      withoutEnv: FOREIGN_ENV,
      stopSignal: STOP_SIGNAL,
      stopTimeoutMs: 20_000,
    });
    await claim.record(server.pid);
    try {
      await untilReady(server, { name: 'PostgreSQL', timeoutMs: START_TIMEOUT_MS }, () => prepare(cluster, port));
      return server;
    } catch (error) {
      await server.stop();
      // The sessions of a killed server need a moment to end.
      if (!server.tail().includes('shared memory block') || Date.now() > deadline) throw error;
      await sleep(250);
    }
  }
}

/** Creates the database if it does not exist. */
async function prepare(cluster: Cluster, port: number): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(cluster, port, 'postgres'), connectionTimeoutMillis: 2000 });
  client.on('error', () => {}); // a lost connection also fails the query below
  try {
    await client.connect();
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (!rowCount) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end().catch(() => {});
  }
}

function urlOf({ password }: Cluster, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}
