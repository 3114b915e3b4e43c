import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import type { Db } from '../database/db.js';
import { listenForMetrics } from '../listening.js';
import { projectRoot } from '../root.js';
import { showCounts } from './metrics.js';

let ofNode: Metric[] | undefined;
/** Node's metrics are of the process: what measures them runs until it ends, and once is enough. */
function nodeMetrics(): Metric[] {
  if (ofNode) return ofNode;
  const own = new Registry();
  collectDefaultMetrics({ register: own, eventLoopMonitoringPrecision: 50 });
  ofNode = own.getMetricsAsArray().flatMap(({ name }) => own.getSingleMetric(name) ?? []);
  return ofNode;
}

/** Creates the registry of a process: Node's own metrics, the version, and what the process counts. */
export const createRegistry = (process: string): Registry => {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  for (const metric of nodeMetrics()) registry.registerMetric(metric);
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  new Gauge({
    name: 'gatehouse_build_info',
    help: 'Always 1; labelled with the version.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  showCounts(registry);
  return registry;
};

/** Adds the metrics of the connection pools, for transactions and for single statements. */
export function watchPools(registry: Registry, db: Pick<Db, 'pools' | 'waiting'>): void {
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_postgres_pool_connections',
    help: 'Connections to PostgreSQL, in use or idle.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { totalCount, idleCount }] of Object.entries(db.pools())) {
        this.set({ pool, state: 'idle' }, idleCount);
        this.set({ pool, state: 'active' }, totalCount - idleCount);
      }
    },
  });
  new Gauge({
    name: 'gatehouse_postgres_pool_waiting',
    help: 'Transactions or statements waiting for a connection.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, count] of Object.entries(db.waiting())) this.set({ pool }, count);
    },
  });
  new Gauge({
    name: 'gatehouse_postgres_pool_limit',
    help: 'Maximum number of connections that a pool opens.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { options }] of Object.entries(db.pools())) this.set({ pool }, options.max);
    },
  });
}

/**
 * Serves `/metrics` for Prometheus on a separate port, which must not be public.
 * @param port 0 switches it off
 */
export async function serveMetrics(
  registry: Registry,
  port: number,
  host: string,
): Promise<{ close(): Promise<void> }> {
  if (port === 0) return { close: async () => {} };
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return response.writeHead(404).end();
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(503).end(),
    );
  });
  await listenForMetrics(server, port, host);
  return { close: () => new Promise((resolve) => server.close(() => resolve())) };
}
