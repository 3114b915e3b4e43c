import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenForMetrics } from '../platform/listening.js';
import { type ReadinessChecks, statesOf } from '../platform/readiness.js';

export interface HealthServer {
  host: string;
  port: number;
  checks: ReadinessChecks;
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

async function ready(checks: ReadinessChecks) {
  const states = await statesOf(checks);
  const status = Object.values(states).every((state) => state === 'ok') ? 'ok' : 'unavailable';
  return { status, checks: states };
}

const json = (response: ServerResponse, status: number, body: object) =>
  send(response, status, 'application/json', JSON.stringify(body));

function send(response: ServerResponse, status: number, type: string, body: string) {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
