import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { seconds } from '../clock.js';
import { type EmbeddedTemporal, type StartTemporal, startTemporal } from './temporal.js';

export interface Watching {
  /** Whether the server at that address has lost its database. */
  isInterrupted?: (address: string, namespace: string) => Promise<boolean>;
  /** Milliseconds between two looks. */
  everyMs?: number;
}

/**
 * Temporal's dev server as `startTemporal` starts it, that is started anew, at the same address and with all that it knows, where its
 * database stays interrupted: nothing else would mend it, and everything that waits would stand still.
 */
export async function startLastingTemporal(
  options: StartTemporal,
  { isInterrupted = hasLostItsDatabase, everyMs = seconds(3) }: Watching = {},
): Promise<Omit<EmbeddedTemporal, 'pid'>> {
  let server = await startTemporal(options);
  const { address, uiUrl, port } = server;
  const stopping = new AbortController();
  const pause = () => sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);

  /** Twice in a row: a statement that was given up may be the only one. */
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
      await server.stop(); // it may be one that was just started
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
 * SQLite can answer `interrupted` to everything after statements of the server were given up, as on a busy machine or one that stood
 * still, and goes on so for as long as the server runs.
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
