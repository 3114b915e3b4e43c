import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Child {
  pid: number;
  /** Resolves when the process has ended, for whatever reason; never rejects. */
  exited: Promise<Exit>;
  /** Returns its last lines of output, for an error message. */
  tail(): string;
  /** Asks the process to end, and kills it after the time-out. Safe to call twice, and after it has ended. */
  stop(): Promise<void>;
}

export interface StartChild {
  command: string;
  args: readonly string[];
  cwd?: string;
  /** Variables that the child must not inherit. */
  withoutEnv?: RegExp;
  env?: Record<string, string>;
  uid?: number;
  gid?: number;
  stopSignal?: NodeJS.Signals;
  stopTimeoutMs?: number;
  onLine?: (line: string) => void;
}

const TAIL_LINES = 20;

/**
 * Starts a child process whose lifetime is under our control.
 *
 * The child leads a session of its own, because a terminal sends Ctrl-C to every process of the foreground group: the
 * database would end before the api has finished its requests. The child cannot outlive this process either: when this
 * process ends without stopping it, even by SIGKILL, a shell that reads from our pipe sees it close and signals it.
 *
 * @throws Error when the command cannot be run at all
 */
export async function startChild(options: StartChild): Promise<Child> {
  const { command, args, stopSignal = 'SIGTERM', stopTimeoutMs = 10_000, onLine } = options;
  const spawnOptions: SpawnOptions = {
    cwd: options.cwd ?? '/', // the child's user may not be allowed to enter our own folder
    env: { ...inheritedEnv(options.withoutEnv), ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.uid !== undefined && { uid: options.uid, gid: options.gid }),
  };
  const child = spawn(command, args, spawnOptions);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream! }).on('line', (line) => {
      if (lines.push(line) > TAIL_LINES) lines.shift();
      onLine?.(line);
    });
  }
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(new Error(`${command} cannot be started: ${error.message}`)));
  });
  const pid = child.pid!;
  const guard = startGuard(pid, stopSignal);
  const exited = whenEnded(child).then((exit) => {
    guard.kill('SIGKILL'); // the process id may soon belong to another process
    return exit;
  });
  return {
    pid,
    exited,
    tail: () => lines.join('\n'),
    stop: () => stopGroup(pid, exited, stopSignal, stopTimeoutMs),
  };
}

/**
 * Repeats `attempt` until it succeeds.
 * @param announces what the child prints once it listens. `attempt` may have reached another program that took the port
 *   first; the child then ends. A child that prints something else counts as ready two seconds after the answer.
 * @throws Error with the child's last lines when it ends, or does not come up in time
 */
export async function untilReady(
  child: Child,
  { name, announces = '', timeoutMs = 60_000 }: { name: string; announces?: string; timeoutMs?: number },
  attempt: () => Promise<unknown>,
): Promise<void> {
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  const deadline = Date.now() + timeoutMs;
  for (let answeredAt = 0; ; ) {
    try {
      if (!answeredAt) await attempt();
      answeredAt ||= Date.now();
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`${name} does not answer: ${(error as Error).message}\n${child.tail()}`);
    }
    if (ended) throw new Error(`${name} did not start:\n${child.tail()}`);
    if (answeredAt && (child.tail().includes(announces) || Date.now() > answeredAt + 2000)) return;
    await sleep(50);
  }
}

/** Runs a command to its end. @throws Error with its last lines when it fails */
export async function runChild(options: StartChild): Promise<void> {
  const child = await startChild(options);
  const { code, signal } = await child.exited;
  if (code !== 0) throw new Error(`${options.command} ended with ${signal ?? `code ${code}`}:\n${child.tail()}`);
}

/** Signals the process group that `pid` leads, or `pid` alone. Returns false if there is none, or it is not ours. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, signal);
      return true;
    } catch {
      // `target` is not a group leader, or has ended.
    }
  }
  return false;
}

async function stopGroup(pid: number, exited: Promise<Exit>, signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
  const ended = exited.then(() => true);
  if (await Promise.race([ended, sleep(0, false)])) return;
  signalGroup(pid, signal);
  const timer = new AbortController();
  const late = sleep(timeoutMs, false, { signal: timer.signal }).catch(() => false);
  if (!(await Promise.race([ended, late]))) signalGroup(pid, 'SIGKILL');
  timer.abort();
  await exited;
}

function startGuard(pid: number, signal: NodeJS.Signals): ChildProcess {
  const script = 'read -r _; kill -s "$2" -- "-$1"';
  const guard = spawn('/bin/sh', ['-c', script, 'sh', String(pid), signal.replace('SIG', '')], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.once('error', () => {}); // without a shell, only an orderly stop ends the child
  guard.stdin?.once('error', () => {});
  guard.unref();
  (guard.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  return guard;
}

/** Resolves at 'exit', plus a moment for the last lines: 'close' never comes while a grandchild holds the pipe. */
function whenEnded(child: ChildProcess): Promise<Exit> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      void Promise.race([closed, sleep(500, undefined, { ref: false })]).then(() => resolve({ code, signal }));
    });
  });
}

/** Returns the environment for the child. Settings are not read from it: they come from config.ts. */
function inheritedEnv(without: RegExp = /^$/): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !without.test(name)));
}

/**
 * Returns a running server for its caller: `exited` adds its last lines, and `stop` also releases, with `letGo`, what
 * was held for it.
 */
export const running = (server: Child, letGo: () => Promise<void>) => ({
  pid: server.pid,
  exited: server.exited.then((exit) => ({ ...exit, tail: server.tail() })),
  async stop(): Promise<void> {
    await server.stop();
    await letGo();
  },
});
