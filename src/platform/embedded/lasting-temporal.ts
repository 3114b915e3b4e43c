import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { seconds } from '../clock.js';
import { type EmbeddedTemporal, type StartTemporal, startTemporal } from './temporal.js';

export interface Watching {
  /** Whether the server at that address has lost its database. */
  isInterrupted?: (address: string, namespace: string) => Promise<boolean>;
  /** Milliseconds between two checks. */
  everyMs?: number;
}

/**
 * Starts Temporal's dev server like `startTemporal`, and restarts it, at the same address and with the same data, when
 * its database stays interrupted: nothing else repairs that, and no workflow would go on.
 */
export async function startLastingTemporal(
  options: StartTemporal,
  { isInterrupted = hasLostItsDatabase, everyMs = seconds(3) }: Watching = {},
): Promise<Omit<EmbeddedTemporal, 'pid'>> {
  let server = await startTemporal(options);
  const { address, uiUrl, port } = server;
  const stopping = new AbortController();
  const pause = () => sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);

  /** Checks twice in a row: the first answer may be about a single statement that was given up. */
  async function staysInterrupted(): Promise<boolean> {
    if (!(await isInterrupted(address, options.namespace))) return false;
    await pause();
    return !stopping.signal.aborted && isInterrupted(address, options.namespace);
  }

  async function startAnew(): Promise<void> {
    options.log?.("Temporal's database stays interrupted: it is started anew");
    await server.stop();
    server = await startTemporal({ ...options, port, uiPort: uiUrl ? Number(new URL(uiUrl).port) : undefined });
  }

  const exited = (async () => {
    for (;;) {
      const ended = await Promise.race([server.exited, pause().then(staysInterrupted)]);
      if (typeof ended === 'object') return ended;
      if (ended && !stopping.signal.aborted) {
        const failed = await startAnew().catch((error: Error) => ({ code: 1, signal: null, tail: error.message }));
        if (failed) return failed;
      }
      if (!stopping.signal.aborted) continue;
      await server.stop(); // `startAnew` may have started it after `stop` was called
      return server.exited;
    }
  })();

  return {
    address,
    uiUrl,
    port,
    exited,
    async stop() {
      stopping.abort();
      await server.stop();
      await exited;
    },
  };
}

/**
 * Whether the server's SQLite database answers `interrupted`. After the server gave up statements, as on a busy or
 * suspended machine, SQLite can answer so to every statement for as long as the server runs.
 */
export async function hasLostItsDatabase(address: string, namespace: string): Promise<boolean> {
  const connection = await Connection.connect({ address, connectTimeout: seconds(5) }).catch(() => null);
  if (!connection) return false;
  return connection
    .withDeadline(Date.now() + seconds(5), () => connection.workflowService.describeNamespace({ namespace }))
    .then(
      () => false,
      (error: Error) => /interrupted \(9\)/.test(error.message),
    )
    .finally(() => connection.close());
}
