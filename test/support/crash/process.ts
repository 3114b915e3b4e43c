import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../../../src/platform/root.js';
import { endingWith } from '../ending-with.js';

export interface WorkerProcess {
  kill(): boolean;
  /** Resolves at its end, with the signal that ended it, if any. */
  exited: Promise<NodeJS.Signals | null>;
  output(): string;
}

/**
 * Starts a compiled worker as a separate process, with no environment other than `env`.
 * @param script `src/worker.js`, or `test/support/crash/worker.js`, which dies as the plan in `GATEHOUSE_CRASH_FOLDER`
 * says
 */
export function startWorkerProcess(script: string, env: Record<string, string>): WorkerProcess {
  const child: ChildProcess = spawn(process.execPath, [...endingWith(process.pid), join(projectRoot, 'dist', script)], {
    env: { PATH: process.env.PATH, NODE_ENV: 'development', METRICS_PORT: '0', ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (output += data));
  return {
    kill: () => child.kill('SIGKILL'),
    exited: new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal))),
    output: () => output,
  };
}
