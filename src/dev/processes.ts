import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.js';
import { startChild } from '../platform/embedded/children.js';
import { configuredPort, freePort } from '../platform/embedded/ports.js';
import { StartError } from '../platform/process.js';
import { projectRoot } from '../platform/root.js';
import type { Parts, Starting } from './parts.js';
import type { DevSecrets } from './secrets.js';

export interface RunningProcesses {
  baseUrl: string;
  relyingPartyUrl: string;
}

const relyingPartyPort = 3001;
const readyWithinMs = 30_000;

/** Starts api, worker and the example relying party as processes of their own, as they run in production. */
export async function startProcesses(
  config: Config,
  parts: Parts,
  secrets: DevSecrets,
  clientId: string,
  starting: Starting,
): Promise<RunningProcesses> {
  const port = process.env.PORT ? await configuredPort(config.listen.port, 'PORT') : await freePort(config.listen.port);
  const metricsPort = process.env.METRICS_PORT ? config.metricsPort : await freePort(config.metricsPort);
  const baseUrl = process.env.BASE_URL ? config.baseUrl : `http://localhost:${port}`;
  const env = {
    NODE_ENV: 'development',
    PORT: String(port),
    BASE_URL: baseUrl,
    DATABASE_URL: parts.databaseUrl,
    TEMPORAL_ADDRESS: parts.temporalAddress,
    SMTP_URL: parts.smtpUrl,
    MASTER_KEYS: process.env.MASTER_KEYS ?? secrets.masterKeys,
    METRICS_PORT: String(metricsPort),
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  };
  const local = `http://localhost:${port}`;
  await Promise.all([
    startNode('worker', ['dist/src/worker.js'], env, starting),
    startNode('api', ['dist/src/api.js'], env, starting),
  ]);
  await untilReady(`${local}/readyz`);
  const relyingPartyUrl = await startRelyingParty(baseUrl, clientId, starting);
  return { baseUrl, relyingPartyUrl };
}

async function startNode(name: string, args: string[], env: Record<string, string>, { stops, say }: Starting) {
  const child = await startChild({
    command: process.execPath,
    args: ['--enable-source-maps', ...args],
    cwd: projectRoot,
    env,
    ...(name !== 'example' && { onLine: (line: string) => say(`${name} | ${line}`) }), // it says only where it is, as we do
  });
  stops.add({
    name,
    ...child,
    exited: child.exited.then((exit) => ({ ...exit, tail: name === 'example' ? child.tail() : '' })),
  });
}

async function startRelyingParty(issuer: string, clientId: string, starting: Starting): Promise<string> {
  const port = await freePort(relyingPartyPort);
  const url = `http://127.0.0.1:${port}`;
  await startNode(
    'example',
    [join('examples', 'relying-party', 'server.mjs')],
    { ISSUER: issuer, PORT: String(port), CLIENT_ID: clientId },
    starting,
  );
  return url;
}

async function untilReady(url: string): Promise<void> {
  const end = Date.now() + readyWithinMs;
  let last = 'no answer';
  while (Date.now() < end) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => null);
    if (answer?.ok) return;
    if (answer) last = await answer.text();
    await sleep(100);
  }
  throw new StartError(`the api is not ready after ${readyWithinMs / 1000} s: ${last}`);
}
