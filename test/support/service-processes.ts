import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Settings } from '../../src/config.js';
import { startChild } from '../../src/platform/embedded/children.js';
import { freePair, freePort } from '../../src/platform/embedded/ports.js';
import { projectRoot } from '../../src/platform/root.js';
import { type Part, type Running, restartable } from './parts.js';
import { patience } from './patience.js';

export interface ProcessPart extends Part {
  /** Its whole output since its first start. */
  readonly lines: readonly string[];
  /** The base URL of this process's `/healthz` and `/readyz`. */
  readonly healthUrl: string;
  /** @param until `alive`: it answers at all; `ready` (the default): its `/readyz` reports that it can serve */
  start(options?: { until?: 'alive' | 'ready' }): Promise<void>;
}

interface Process {
  name: 'api' | 'worker';
  env: Record<string, string>;
  healthUrl: string;
  /** The folder of the version that the process runs. */
  root: string;
}

/** A developer's own settings must not reach the tests' processes. */
const foreignEnv = new RegExp(`^(NODE_OPTIONS|GATEHOUSE_TEST_.*|${Object.keys(Settings.properties).join('|')})$`);
const readyWithinMs = patience;

/** A process that can be killed and restarted, until `stop` ends it for good. */
export type StoppablePart = ProcessPart & { stop(): Promise<void> };

/** @param root the folder of another, built version */
export const startApi = (env: Record<string, string>, root = projectRoot) =>
  startProcess({ name: 'api', env: { METRICS_PORT: '0', ...env }, healthUrl: `http://localhost:${env.PORT}`, root });

/**
 * Starts a worker on its own ports, which it keeps after a restart. They are below the system's ephemeral ports (32768
 * and more), so that no connection and nobody asking for any port takes one before the worker does.
 */
export async function startWorker(env: Record<string, string>, root = projectRoot) {
  const metricsPort = await freePair(20_000 + 2 * randomInt(6_000));
  return startProcess({
    name: 'worker',
    env: { METRICS_PORT: String(metricsPort), ...env },
    healthUrl: `http://localhost:${metricsPort + 1}`,
    root,
  });
}

async function startProcess({ name, env, healthUrl, root }: Process): Promise<StoppablePart> {
  const script = join(root, `dist/src/${name}.js`);
  if (!existsSync(script)) throw new Error(`${script} is missing: run npm run build first`);
  const lines: string[] = [];
  const launch = async (until: 'alive' | 'ready') => {
    const child = await startChild({
      command: process.execPath,
      args: ['--enable-source-maps', script],
      cwd: root,
      withoutEnv: foreignEnv,
      env: { NODE_ENV: 'development', LOG_LEVEL: process.env.TEST_LOG ?? 'warn', ...env },
      onLine(line) {
        lines.push(line);
        if (process.env.TEST_LOG) process.stdout.write(`${name} | ${line}\n`);
      },
    });
    let ended = false;
    void child.exited.then(() => {
      ended = true;
    });
    const answered = await answers(`${healthUrl}/${until === 'ready' ? 'readyz' : 'healthz'}`, () => ended);
    if (answered === true) return child;
    await child.stop();
    throw new Error(`The ${name} did not start (${answered}):\n${child.tail()}`);
  };
  let until: 'alive' | 'ready' = 'ready';
  const part = await restartable<Running>(() => launch(until));
  return {
    get pid() {
      return part.pid;
    },
    kill: part.kill,
    stop: part.stop,
    lines,
    healthUrl,
    async start(options = {}) {
      until = options.until ?? 'ready';
      await part.start();
    },
  };
}

/** Returns true once `url` answers with success; otherwise what it last answered. */
async function answers(url: string, ended: () => boolean): Promise<true | string> {
  let last = 'no answer';
  for (const end = Date.now() + readyWithinMs; Date.now() < end && !ended(); await sleep(50)) {
    const response = await fetch(url, { signal: AbortSignal.timeout(2500) }).catch(() => null);
    if (response?.ok) return true;
    if (response) last = await response.text();
  }
  return last;
}

/** Starts the example as its readers run it, with a client of the service. */
export async function startRelyingParty(env: { ISSUER: string; CLIENT_ID: string; CLIENT_SECRET?: string }) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = await startChild({
    command: process.execPath,
    args: [join(projectRoot, 'examples/relying-party/server.mjs')],
    withoutEnv: foreignEnv,
    env: { ...env, PORT: String(port) },
  });
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  if ((await answers(url, () => ended)) !== true) throw new Error(`The example did not start:\n${child.tail()}`);
  return { url, stop: child.stop };
}
