import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { StartError } from '../start-error.js';

const LOOPBACK = ['127.0.0.1', '::1'];
const NEXT_PORTS = 50;

/**
 * Whether a program listens on `port` of the loopback addresses, or this user may not listen there (ports below 1024).
 * On a machine without IPv6 only IPv4 counts.
 */
export async function portInUse(port: number): Promise<boolean> {
  for (const host of LOOPBACK) {
    const code = await listenOnce(port, host).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (code === 'EADDRINUSE' || code === 'EACCES') return true;
  }
  return false;
}

/** Returns `preferred` if it is free, else the next free port above it; without a preference the system picks one. */
export async function freePort(preferred?: number, except: readonly number[] = []): Promise<number> {
  for (let port = preferred ?? 0; preferred && port < Math.min(preferred + NEXT_PORTS, 65_536); port++) {
    if (!except.includes(port) && !(await portInUse(port))) return port;
  }
  return listenOnce(0, '127.0.0.1');
}

/**
 * Returns the first of two adjacent free ports, `from` or above, neither of them `except`: a worker also uses the port
 * after its METRICS_PORT.
 */
export async function freePair(from: number, except?: number): Promise<number> {
  for (let port = from; ; port++) {
    const pair = [port, port + 1];
    if (!pair.includes(except ?? -1) && !(await Promise.all(pair.map(portInUse))).includes(true)) return port;
  }
}

/**
 * Returns `port` if it is free. For a configured port, where any other one would be a surprise.
 * @throws Error in one line that names `setting` if the port is taken
 */
export async function configuredPort(port: number, setting: string): Promise<number> {
  if (!(await portInUse(port))) return port;
  const why = port < 1024 ? 'is in use or needs more rights' : 'is already in use by another program';
  throw new StartError(`${setting}=${port}: port ${port} ${why}; stop that program or set ${setting} to a free port`);
}

/**
 * Starts something on free ports, one for each preference, and retries on others when another program took one of them
 * between the check and the bind (two checkouts that start at the same time).
 */
export async function onFreePorts<T>(
  preferences: readonly (number | undefined)[],
  start: (ports: number[]) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const ports: number[] = [];
    for (const preferred of preferences) ports.push(await freePort(preferred, ports));
    try {
      return await start(ports);
    } catch (error) {
      const taken = await Promise.all(ports.map(portInUse));
      if (attempt === 5 || !(taken.includes(true) || saysInUse(error))) throw error;
    }
  }
}

/** Whether the error is about a port that the program chose, as Temporal's server does for its inner services. */
const saysInUse = (error: unknown): boolean =>
  /address already in use|failed assigning ephemeral port/i.test((error as Error).message);

/** Returns the port that `rememberPort` wrote into `folder`, so that addresses stay the same at the next start. */
export async function rememberedPort(folder: string): Promise<number | undefined> {
  const port = Number(await readFile(join(folder, 'port'), 'utf8').catch(() => ''));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** Stores the port for `rememberedPort`, so that addresses stay the same from one start to the next. */
export async function rememberPort(folder: string, port: number): Promise<void> {
  await writeFile(join(folder, 'port'), `${port}\n`);
}

function listenOnce(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port));
    });
  });
}
