import { randomInt } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { days } from '../clock.js';
import { ensureSearchAttributes } from '../search-attributes.js';
import { StartError } from '../start-error.js';
import { type Child, running, startChild, untilReady } from './children.js';
import { claimFolder } from './claims.js';
import { onFreePorts } from './ports.js';
import type { EmbeddedTemporal } from './temporal.js';
import type { TemporalPrograms } from './temporal-programs.js';
import { databaseNames, prepareTemporalDatabases, type TemporalDatabases } from './temporal-schema.js';

const DEFAULT_PORT = 7233;
/** How long an ended workflow stays readable. As in docker-compose.yml. */
export const RETENTION_MS = days(30);
/** The number of history shards, which can never be changed in a database. As in docker-compose.yml. */
export const HISTORY_SHARDS = 64;
/** Makes Accounts take turns in a task queue (docs/decisions/0102). As in docker-compose.yml. */
export const DYNAMIC_SETTINGS = { 'matching.enableFairness': [{ value: true }] };
/** The server stores the port of each of its services in a `smallint`. */
const HIGHEST_PORT = 32_767;
const services = ['frontend', 'history', 'matching', 'worker'] as const;

export interface StartTemporalServer {
  programs: TemporalPrograms;
  /** Created if they are missing. */
  databases: TemporalDatabases;
  namespace: string;
  /** Holds its configuration and ports; its data is in PostgreSQL. */
  dataDir: string;
  /** Preferred port, at most 32767; if absent, the last one, then 7233. The next free one if it is taken. */
  port?: number;
  log?: (line: string) => void;
}

/**
 * Starts a Temporal server as in production, on PostgreSQL, with its four services in one process on 127.0.0.1.
 * Resolves once the namespace and the search attributes exist. A server that an earlier, killed start left running on
 * the same `dataDir` is stopped first.
 * @throws FolderInUse when another living process has started it from the same folder; Error with the server's last
 *   lines when it does not come up
 */
export async function startTemporalServer(options: StartTemporalServer): Promise<EmbeddedTemporal> {
  const { programs, databases, dataDir, log = () => {} } = options;
  await mkdir(dataDir, { recursive: true });
  const claim = await claimFolder(dataDir);
  try {
    await prepareTemporalDatabases(databases, programs.sqlTool);
    const before = await rememberedPorts(dataDir);
    const preferred = Array.from({ length: 2 * services.length }, (_, i) => before[i] ?? randomInt(10_000, 30_000));
    preferred[0] = options.port ?? before[0] ?? DEFAULT_PORT;
    if (preferred[0] > HIGHEST_PORT) throw new StartError(`Temporal's port ${preferred[0]} is above ${HIGHEST_PORT}`);
    const { server, port } = await onFreePorts(preferred, async (ports) => {
      await writeFile(join(dataDir, 'ports.json'), JSON.stringify(ports));
      const [config, dynamicConfig] = [join(dataDir, 'server.yaml'), join(dataDir, 'dynamic.yaml')];
      await writeFile(dynamicConfig, JSON.stringify(DYNAMIC_SETTINGS));
      // The file holds the password, hence the mode. JSON is valid YAML.
      await writeFile(config, JSON.stringify(configOf(databases, ports, dynamicConfig), null, 2), { mode: 0o600 });
      return { server: await startServer(options, config, ports[0]!, claim.record), port: ports[0]! };
    });
    log(`Temporal listens on 127.0.0.1:${port}, and keeps everything in PostgreSQL`);
    return {
      address: `127.0.0.1:${port}`,
      uiUrl: null,
      port,
      ...running(server, claim.release),
    };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** Returns the ports of the last start: first the gRPC port of each service, in order, then their membership ports. */
async function rememberedPorts(folder: string): Promise<number[]> {
  return JSON.parse(await readFile(join(folder, 'ports.json'), 'utf8').catch(() => '[]'));
}

async function startServer(
  { programs, namespace }: StartTemporalServer,
  config: string,
  port: number,
  record: (pid: number) => Promise<void>,
): Promise<Child> {
  const server = await startChild({
    command: programs.server,
    args: ['--config-file', config, '--allow-no-auth', 'start'],
    withoutEnv: /^(TEMPORAL_|NODE_OPTIONS$)/,
  });
  try {
    await record(server.pid);
    await untilReady(server, { name: 'Temporal' }, () => prepare(`127.0.0.1:${port}`, namespace));
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Creates what the workers need, and throws unless every service of the server knows it. */
async function prepare(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 2000 });
  try {
    const { workflowService } = connection;
    await workflowService.describeNamespace({ namespace }).catch(async (error) => {
      if (!isGrpcServiceError(error) || error.code !== notFound) throw error;
      await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs(RETENTION_MS) });
      throw error; // the next attempt sees the namespace
    });
    await ensureSearchAttributes(connection, namespace);
    await workflowService.countWorkflowExecutions({ namespace, query: 'GatehouseState = "waiting"' });
  } finally {
    await connection.close();
  }
}
const notFound = 5;

/** The server's static configuration (docs.temporal.io/references/configuration). */
function configOf(databases: TemporalDatabases, ports: readonly number[], dynamicConfig: string) {
  const url = new URL(databases.postgresUrl);
  const { main, visibility } = databaseNames(databases);
  const store = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${url.hostname}:${url.port || 5432}`,
      connectProtocol: 'tcp',
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      numHistoryShards: HISTORY_SHARDS,
      defaultStore: 'main',
      visibilityStore: 'visibility',
      datastores: { main: store(main, 10), visibility: store(visibility, 4) },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: Object.fromEntries(
      services.map((name, i) => [
        name,
        { rpc: { grpcPort: ports[i], membershipPort: ports[i + services.length], bindOnIP: '127.0.0.1' } },
      ]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: `127.0.0.1:${ports[0]}` },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: dynamicConfig, pollInterval: '60s' },
  };
}
