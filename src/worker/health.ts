import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenForMetrics } from '../platform/listening.js';

export type Checks = Record<string, () => Promise<void>>;

export interface HealthServer {
  host: string;
  port: number;
  /** The parts by name; one that throws is unavailable. */
  checks: Checks;
  metrics: { text(): Promise<string>; contentType: string };
}

/**
 * Serves the worker's `/healthz`, `/readyz` and `/metrics`.
 * @throws an error with the code EADDRINUSE
 */
export async function startHealthServer({ host, port, checks, metrics }: HealthServer) {
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0];
    const answer =
      path === '/healthz'
        ? Promise.resolve(json(response, 200, { status: 'ok' }))
        : path === '/readyz'
          ? ready(checks).then((state) => json(response, state.status === 'ok' ? 200 : 503, state))
          : path === '/metrics'
            ? metrics.text().then((text) => send(response, 200, metrics.contentType, text))
            : Promise.resolve(json(response, 404, { error: { code: 'route.not_found', message: 'No such path' } }));
    answer.catch(() => json(response, 503, { status: 'unavailable' }));
  });
  await listenForMetrics(server, port, host);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const checkMs = 3_000;

async function ready(checks: Checks) {
  const states = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const ok = await inTime(check).then(
        () => true,
        () => false,
      );
      return [name, ok ? 'ok' : 'unavailable'] as const;
    }),
  );
  const status = states.every(([, state]) => state === 'ok') ? 'ok' : 'unavailable';
  return { status, checks: Object.fromEntries(states) };
}

async function inTime(check: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), checkMs);
  });
  await Promise.race([check(), late]).finally(() => clearTimeout(timer));
}

const json = (response: ServerResponse, status: number, body: object) =>
  send(response, status, 'application/json', JSON.stringify(body));

function send(response: ServerResponse, status: number, type: string, body: string) {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
