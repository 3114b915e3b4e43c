import { createServer, type Server } from 'node:net';
import { StartError } from './start-error.js';

/** Listens, and throws what keeps it from that. */
const listen = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });

/**
 * `host`, but for `::`, which means every address of the machine: where its kernel has no IPv6, those are the addresses of `0.0.0.0`,
 * as Node has it for a server that is given no host.
 * @param probe what listens; another one in tests
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
 * Listens where only metrics and probes are served.
 * @throws StartError; with code EADDRINUSE where the port is taken
 */
export async function listenForMetrics(server: Server, port: number, host: string): Promise<void> {
  await listen(server, port, await reachableHost(host)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') throw error;
    throw new StartError(`METRICS_PORT cannot be listened on: ${error.message}`);
  });
}
