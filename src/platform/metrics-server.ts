import { createServer } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';

export const createRegistry = (process: string): Registry => {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 50 });
  return registry;
};

/**
 * Serves `/metrics` for Prometheus on a port of its own, which is not for the public.
 * @param port 0 switches it off.
 */
export async function serveMetrics(
  registry: Registry,
  port: number,
  host: string,
): Promise<{ close(): Promise<void> }> {
  if (port === 0) return { close: async () => {} };
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return { close: () => new Promise((resolve) => server.close(() => resolve())) };
}
