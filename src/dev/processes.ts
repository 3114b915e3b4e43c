import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.js';
import { type Exit, startChild } from '../platform/embedded/children.js';
import { configuredPort, freePort, portInUse } from '../platform/embedded/ports.js';
import { projectRoot } from '../platform/root.js';
import { StartError } from '../platform/start-error.js';
import type { Layout, Parts, Starting } from './parts.js';
import type { DevSecrets } from './secrets.js';

export interface RunningProcesses {
  baseUrl: string;
  /** Where each api is, the first one at `baseUrl` unless that was configured. What a load balancer would hide. */
  apiUrls: string[];
  relyingPartyUrl: string;
}

const relyingPartyPort = 3001;
const readyWithinMs = 30_000;

/** What processes of one installation are told alike, and a client of it. */
interface Installed {
  parts: Parts;
  secrets: DevSecrets;
  clientId: string;
}

/**
 * Starts pairs of api and worker, and the example relying party, as processes of their own, as they run in production. All apis
 * have one issuer.
 */
export async function startProcesses(
  config: Config,
  installed: Installed,
  starting: Starting,
  { copies }: Layout,
): Promise<RunningProcesses> {
  const first = await startPair(config, installed, starting);
  const baseUrl = process.env.BASE_URL ? config.baseUrl : first;
  const apiUrls = [first];
  while (apiUrls.length < copies) apiUrls.push(await startPair(config, installed, starting, first));
  return { baseUrl, apiUrls, relyingPartyUrl: await startRelyingParty(baseUrl, installed.clientId, starting) };
}

/** @param first where the first api is, for a further one @returns where the api is, once it can serve */
async function startPair(
  config: Config,
  { parts, secrets }: Installed,
  starting: Starting,
  first?: string,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const ports = await choosePorts(config, first !== undefined);
    const url = `http://localhost:${ports.api}`;
    const env = {
      NODE_ENV: 'development',
      PORT: String(ports.api),
      BASE_URL: process.env.BASE_URL ? config.baseUrl : (first ?? url),
      DATABASE_URL: parts.databaseUrl,
      TEMPORAL_ADDRESS: parts.temporalAddress,
      ...(parts.temporalUiUrl && !process.env.TEMPORAL_UI_URL && { TEMPORAL_UI_URL: parts.temporalUiUrl }),
      SMTP_URL: parts.smtpUrl,
      MASTER_KEYS: process.env.MASTER_KEYS ?? secrets.masterKeys,
      METRICS_PORT: String(ports.metrics),
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
    };
    const pair = await Promise.all([
      startNode('worker', ['--max-old-space-size=192', '--max-semi-space-size=4', 'dist/src/worker.js'], env, starting),
      startNode('api', ['--max-semi-space-size=8', '--heap-growing-percent=80', 'dist/src/api.js'], env, starting),
    ]);
    try {
      await untilReady(`${url}/readyz`, pair);
      return url;
    } catch (error) {
      for (const { stop, forget } of pair) await stop().then(forget);
      // Another start at the same moment found the same ports free, and was quicker.
      const taken = await Promise.all([ports.api, ports.metrics, ports.metrics + 1].map(portInUse));
      if (attempt === 5 || starting.stops.signalled || !taken.includes(true)) throw error;
    }
  }
}

/** @param isFurther whether what is configured belongs to another one, so that the next free ones are taken */
async function choosePorts(
  { listen, metricsPort }: Config,
  isFurther: boolean,
): Promise<{ api: number; metrics: number }> {
  const api = process.env.PORT && !isFurther ? await configuredPort(listen.port, 'PORT') : await freePort(listen.port);
  if (!process.env.METRICS_PORT || (isFurther && metricsPort !== 0))
    return { api, metrics: await freePair(metricsPort, api) };
  if (metricsPort === 0) return { api, metrics: 0 };
  // The worker uses the next one.
  await configuredPort(metricsPort + 1, 'METRICS_PORT + 1');
  return { api, metrics: await configuredPort(metricsPort, 'METRICS_PORT') };
}

/** The first of two free ports side by side, neither of them `except`. */
async function freePair(from: number, except: number): Promise<number> {
  for (let port = from; ; port++) {
    const pair = [port, port + 1];
    if (!pair.includes(except) && !(await Promise.all(pair.map(portInUse))).includes(true)) return port;
  }
}

async function startNode(name: string, args: string[], env: Record<string, string>, { stops, say }: Starting) {
  const child = await startChild({
    command: process.execPath,
    args,
    cwd: projectRoot,
    env,
    ...(name !== 'example' && { onLine: (line: string) => say(`${name} | ${line}`) }), // it says only where it is, as we do
  });
  const forget = stops.add({
    name,
    ...child,
    exited: child.exited.then((exit) => ({ ...exit, tail: name === 'example' ? child.tail() : '' })),
  });
  return { name, exited: child.exited, stop: child.stop, forget };
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

async function untilReady(url: string, needed: { name: string; exited: Promise<Exit> }[]): Promise<void> {
  const end = Date.now() + readyWithinMs;
  let last = 'no answer';
  let ended: string | undefined;
  for (const { name, exited } of needed) {
    void exited.then(({ code, signal }) => {
      ended ??= `the ${name} ended (${signal ?? `exit code ${code}`})`;
    });
  }
  while (Date.now() < end && !ended) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => null);
    if (answer?.ok) return;
    if (answer) last = await answer.text();
    await sleep(100);
  }
  throw new StartError(ended ?? `the api is not ready after ${readyWithinMs / 1000} s: ${last}`);
}
