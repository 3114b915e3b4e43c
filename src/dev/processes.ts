import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { levels } from 'pino';
import type { Config } from '../config.js';
import { untilReady as childReady, type Exit, startChild } from '../platform/embedded/children.js';
import { configuredPort, freePair, freePort, onFreePorts, portInUse } from '../platform/embedded/ports.js';
import { projectRoot } from '../platform/root.js';
import { StartError } from '../platform/start-error.js';
import type { Layout, Parts, Starting } from './parts.js';
import type { DevSecrets } from './secrets.js';

export interface RunningProcesses {
  baseUrl: string;
  /** The URL of each api; the first one is `baseUrl` unless that was configured. A load balancer would hide these. */
  apiUrls: string[];
  relyingPartyUrl: string;
}

const relyingPartyPort = 3001;
const readyWithinMs = 60_000;

/** What all processes of an installation share, and the client of the example. */
interface Installed {
  parts: Parts;
  secrets: DevSecrets;
  clientId: string;
}

/**
 * Starts pairs of api and worker, and the example relying party, each as a separate process, as in production. All apis
 * have the same issuer.
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

/** Starts a pair. @param first the first api's URL, for a further pair @returns the api's URL, once it is ready */
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
      LOG_LEVEL: ['debug', 'trace'].find((level) => level === process.env.LOG_LEVEL) ?? 'info', // they announce at info
    };
    const pair = await Promise.all([
      startLogging('worker', ['--max-old-space-size=192', '--max-semi-space-size=4'], env, starting),
      startLogging('api', ['--max-semi-space-size=8', '--heap-growing-percent=80'], env, starting),
    ]);
    try {
      await untilReady(`${url}/readyz`, pair);
      return url;
    } catch (error) {
      for (const { stop, forget } of pair) await stop().then(forget);
      // Another start at the same moment found the same ports free, and took them first.
      const taken = await Promise.all([ports.api, ports.metrics, ports.metrics + 1].map(portInUse));
      if (attempt === 5 || starting.stops.signalled || !taken.includes(true)) throw error;
    }
  }
}

/** @param isFurther whether another pair has the configured ports, so that this one gets the next free ports */
async function choosePorts(
  { listen, metricsPort }: Config,
  isFurther: boolean,
): Promise<{ api: number; metrics: number }> {
  const api = process.env.PORT && !isFurther ? await configuredPort(listen.port, 'PORT') : await freePort(listen.port);
  if (!process.env.METRICS_PORT || (isFurther && metricsPort !== 0))
    return { api, metrics: await freePair(metricsPort, api) };
  if (metricsPort === 0) return { api, metrics: 0 };
  // The worker uses the next port.
  await configuredPort(metricsPort + 1, 'METRICS_PORT + 1');
  return { api, metrics: await configuredPort(metricsPort, 'METRICS_PORT') };
}

/**
 * What each logs once it listens: an earlier answer at its port may come from another program that took the port first.
 */
const announcements = { api: 'listening', worker: 'started' };

async function startLogging(
  name: keyof typeof announcements,
  options: string[],
  env: Record<string, string>,
  starting: Starting,
) {
  const shown = levels.values[process.env.LOG_LEVEL ?? 'warn'] ?? Number.POSITIVE_INFINITY; // silent
  let isListening = false;
  const child = await startNode(name, [...options, `dist/src/${name}.js`], env, starting, (line) => {
    const { level = Number.POSITIVE_INFINITY, msg } = entryOf(line);
    isListening ||= msg === announcements[name];
    if (level >= shown) starting.say(`${name} | ${line}`);
  });
  return { ...child, isListening: () => isListening };
}

/** Parses a line of a log; any other line has neither field, and is shown. */
function entryOf(line: string): { level?: number; msg?: string } {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

async function startNode(
  name: string,
  args: string[],
  env: Record<string, string>,
  { stops }: Starting,
  onLine?: (line: string) => void,
) {
  const child = await startChild({ command: process.execPath, args, cwd: projectRoot, env, ...(onLine && { onLine }) });
  const forget = stops.add({
    name,
    ...child,
    exited: child.exited.then((exit) => ({ ...exit, tail: name === 'example' ? child.tail() : '' })),
  });
  return { ...child, name, forget };
}

async function startRelyingParty(issuer: string, clientId: string, starting: Starting): Promise<string> {
  return await onFreePorts([relyingPartyPort], async ([port]) => {
    const url = `http://127.0.0.1:${port}`;
    const env = { ISSUER: issuer, PORT: String(port), CLIENT_ID: clientId };
    const example = await startNode('example', [join('examples', 'relying-party', 'server.mjs')], env, starting);
    try {
      await childReady(example, { name: 'the example', announces: 'The example relying party is at' }, () =>
        fetch(url),
      );
    } catch (error) {
      await example.stop().then(example.forget);
      throw error;
    }
    return url;
  });
}

interface Needed {
  name: string;
  exited: Promise<Exit>;
  isListening(): boolean;
}

async function untilReady(url: string, needed: Needed[]): Promise<void> {
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
    if (answer?.ok && needed.every((one) => one.isListening())) return;
    if (answer) last = answer.ok ? 'somebody else answers at its port' : await answer.text();
    await sleep(100);
  }
  throw new StartError(ended ?? `the api is not ready after ${readyWithinMs / 1000} s: ${last}`);
}
