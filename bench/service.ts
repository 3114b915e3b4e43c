import { setTimeout as sleep } from 'node:timers/promises';
import type { Stops } from '../src/dev/stops.js';
import { startChild } from '../src/platform/embedded/children.js';
import { freePort } from '../src/platform/embedded/ports.js';
import { projectRoot } from '../src/platform/root.js';
import { rssMb } from './cpu.js';
import type { Installation } from './installation.js';

/** One api process, started like `npm run start:api`. */
export interface Api {
  origin: string;
  pid: number;
  /** The port of its inspector; null if it has none. */
  inspectorPort: number | null;
  /** From its start to its first answer that reads the database. */
  readyMs: number;
  /** Waits until `afterMs` after it was ready, and returns its memory; null if not on Linux. */
  rssAfter(afterMs: number): Promise<number | null>;
}

export interface ApiOptions {
  /** Whether the process has an inspector. */
  isInspected?: boolean;
  /** Whether each password hash is computed only once, and remembered. */
  isHashingAside?: boolean;
}

const readyWithinMs = 30_000;
/** What Node.js prints about its inspector. */
const isOfInspector = /^(Debugger |For help, see: )/;

/**
 * Starts one api process after the other on free ports, with one database and one issuer, as behind a load balancer.
 * There is no Temporal: nothing that is measured needs it.
 */
export async function startApis(
  count: number,
  { databaseUrl, masterKeys }: Installation,
  stops: Stops,
  { isInspected = false, isHashingAside = false }: ApiOptions = {},
) {
  const apis: Api[] = [];
  const ports: number[] = [];
  for (let i = 0; i < count; i++) ports.push(await freePort(undefined, ports));
  const closedPort = await freePort(undefined, ports);
  for (const port of ports) {
    const env = {
      NODE_ENV: 'development',
      PORT: String(port),
      HOST: '127.0.0.1',
      BASE_URL: `http://127.0.0.1:${ports[0]}`,
      DATABASE_URL: databaseUrl,
      MASTER_KEYS: masterKeys,
      TEMPORAL_ADDRESS: `127.0.0.1:${closedPort}`,
      RATE_LIMITS: 'off',
      BREACH_CHECK_URL: 'off',
      METRICS_PORT: '0',
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
    };
    const inspectorPort = isInspected ? await freePort(undefined, [...ports, closedPort]) : null;
    apis.push(await startApi(port, { env, inspectorPort, isHashingAside }, stops));
  }
  return apis;
}

interface ApiProcess {
  env: Record<string, string>;
  inspectorPort: number | null;
  isHashingAside: boolean;
}

async function startApi(port: number, { env, inspectorPort, isHashingAside }: ApiProcess, stops: Stops): Promise<Api> {
  const inspected =
    inspectorPort === null ? [] : [`--inspect=127.0.0.1:${inspectorPort}`, '--inspect-publish-uid=http'];
  const remembering = isHashingAside ? ['--import=./dist/bench/remembered-hashes.js'] : [];
  const startedAt = performance.now();
  const child = await startChild({
    command: process.execPath,
    args: [...inspected, ...remembering, '--max-semi-space-size=8', '--heap-growing-percent=80', 'dist/src/api.js'], // like `npm run start:api`
    cwd: projectRoot,
    env,
    onLine: (line) => isOfInspector.test(line) || process.stderr.write(`api | ${line}\n`),
  });
  stops.add({ name: 'api', ...child });
  const origin = `http://127.0.0.1:${port}`;
  await untilAnswers(`${origin}/.well-known/jwks.json`, child.exited);
  const readyAt = performance.now();
  await fetch(`${origin}/readyz`).then((answer) => answer.arrayBuffer()); // like a load balancer, before any request
  return {
    origin,
    pid: child.pid,
    inspectorPort,
    readyMs: readyAt - startedAt,
    async rssAfter(afterMs) {
      await sleep(Math.max(0, readyAt + afterMs - performance.now()));
      return rssMb(child.pid);
    },
  };
}

/** Waits for the key set, which is read from the database: a process that returns it is ready for sign-ins. */
async function untilAnswers(url: string, exited: Promise<unknown>): Promise<void> {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const end = performance.now() + readyWithinMs;
  while (performance.now() < end && !ended) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => null);
    if (answer?.ok) return;
    await sleep(10);
  }
  throw new Error(ended ? 'the api ended before it was ready' : 'the api is not ready after 30 s');
}
