import { existsSync } from 'node:fs';
import { mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { addMissingAttributes, type SearchAttributes } from '../search-attributes.js';
import { type Exit, running, startChild, untilReady } from './children.js';
import { type Claim, claimFolder } from './claims.js';
import { onFreePorts, rememberedPort, rememberPort } from './ports.js';

const DEFAULT_PORT = 7233;

export interface StartTemporal {
  cliPath: string;
  namespace: string;
  /** Keeps the histories from one start to the next; if absent, they are in memory, which is faster. */
  dataDir?: string;
  /** Preferred port; if absent, the last one, then 7233. The next free one if it is taken. */
  port?: number;
  /** Preferred port of the web page; if absent, there is no page. */
  uiPort?: number;
  searchAttributes: SearchAttributes;
  /** Events of a history after which the server suggests a fresh one; if absent, the server's own number, some thousands. */
  eventsPerHistory?: number | undefined;
  log?: (line: string) => void;
}

export interface EmbeddedTemporal {
  pid: number;
  /** `host:port` for clients and workers. */
  address: string;
  uiUrl: string | null;
  port: number;
  /** Resolves when the server has ended, by `stop` or on its own. */
  exited: Promise<Exit & { tail: string }>;
  stop(): Promise<void>;
}

/**
 * Starts Temporal's dev server on 127.0.0.1; resolves once the namespace and the search attributes exist. A server that
 * an earlier, killed start left running on the same `dataDir` is stopped first.
 * @throws FolderInUse when another living process has started it from the same folder; Error with the server's last
 *   lines when it does not come up
 */
export async function startTemporal(options: StartTemporal): Promise<EmbeddedTemporal> {
  const { log = () => {} } = options;
  const store = options.dataDir ? await openStore(options.dataDir) : undefined;
  try {
    const preferred = options.port ?? (store && (await rememberedPort(store.folder))) ?? DEFAULT_PORT;
    const preferences = options.uiPort ? [preferred, options.uiPort] : [preferred];
    return await onFreePorts(preferences, async ([port, uiPort]) => {
      const server = await startServer(options, store, port!, uiPort);
      if (store) await rememberPort(store.folder, port!);
      const uiUrl = uiPort ? `http://127.0.0.1:${uiPort}` : null;
      log(`Temporal listens on 127.0.0.1:${port}${uiUrl ? `, its web page on ${uiUrl}` : ''}`);
      return {
        address: `127.0.0.1:${port}`,
        uiUrl,
        port: port!,
        ...running(server, async () => store?.claim.release()),
      };
    });
  } catch (error) {
    await store?.claim.release();
    throw error;
  }
}

interface Store {
  folder: string;
  file: string;
  claim: Claim;
  /** Marks the file as complete, once the server has started on it: the next start keeps it. */
  confirm(): Promise<void>;
}

/** Deletes a file whose creation was interrupted: the server would take it for a complete one. */
async function openStore(dataDir: string): Promise<Store> {
  await mkdir(dataDir, { recursive: true });
  const folder = await realpath(dataDir);
  const claim = await claimFolder(folder);
  const complete = join(folder, 'complete');
  if (!existsSync(complete)) {
    const leftovers = (await readdir(folder)).filter((name) => name.startsWith('temporal.db'));
    await Promise.all(leftovers.map((name) => rm(join(folder, name))));
  }
  return { folder, file: join(folder, 'temporal.db'), claim, confirm: () => writeFile(complete, '') };
}

async function startServer(options: StartTemporal, store: Store | undefined, port: number, uiPort?: number) {
  const { cliPath, namespace, searchAttributes, eventsPerHistory } = options;
  const attributes = Object.entries(searchAttributes).flatMap(([name, type]) => [
    '--search-attribute',
    `${name}=${type}`,
  ]);
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace];
  args.push('--log-level', 'error', ...attributes);
  args.push('--dynamic-config-value', 'frontend.enableServerVersionCheck=false'); // by default it asks a public server
  args.push('--dynamic-config-value', 'matching.enableFairness=true'); // Accounts take turns (docs/decisions/0102)
  if (eventsPerHistory)
    args.push('--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${eventsPerHistory}`);
  args.push(...(uiPort ? ['--ui-port', String(uiPort)] : ['--headless']));
  // In WAL mode NORMAL (1) loses nothing when the process is killed, and only the last moment in a power cut.
  if (store) args.push('--db-filename', store.file, '--sqlite-pragma', 'synchronous=1');
  // Without a stack trace, the last lines of a panic, such as over a taken port, say what happened.
  const env = { GOTRACEBACK: 'none' };
  const server = await startChild({ command: cliPath, args, env, withoutEnv: /^(TEMPORAL_|NODE_OPTIONS$)/ });
  try {
    await store?.claim.record(server.pid);
    await untilReady(server, { name: 'Temporal', announces: `:${port}` }, async () => {
      await prepare(options, `127.0.0.1:${port}`);
      if (uiPort) await fetch(`http://127.0.0.1:${uiPort}`, { signal: AbortSignal.timeout(2000) });
    });
    await store?.confirm();
    await store?.claim.record(server.pid); // a wrapper script may have replaced itself with the server meanwhile
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Checks that the namespace exists, and adds missing search attributes. */
async function prepare({ namespace, searchAttributes }: StartTemporal, address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 2000 });
  try {
    await connection.workflowService.describeNamespace({ namespace });
    // On an existing file the server ignores `--search-attribute`, so attributes of a newer release are added here.
    await addMissingAttributes(connection, namespace, searchAttributes);
  } finally {
    await connection.close();
  }
}
