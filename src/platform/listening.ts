import { createServer, type Server } from 'node:net';
import { StartError } from './start-error.js';

/** Listens; rejects with the error that prevents it. */
const listen = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });

/**
 * Returns `host`, except for `::` (every address of the machine) where the kernel has no IPv6: then `0.0.0.0`, as Node
 * does for a server without a host.
 * @param probe tries to listen; tests replace it
 */
export async function reachableHost(host: string, probe = listen): Promise<string> {
  if (host !== '::') return host;
  const server = createServer();
  try {
    await probe(server, 0, host);
    return host;
  } catch {
    return '0.0.0.0';
  } finally {
    server.close();
  }
}

/**
 * Listens on a port for metrics and probes only.
 * @throws StartError; Node's error with code EADDRINUSE if the port is taken
 */
export async function listenForMetrics(server: Server, port: number, host: string): Promise<void> {
  await listen(server, port, await reachableHost(host)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') throw error;
    throw new StartError(`METRICS_PORT cannot be listened on: ${error.message}`);
  });
}
