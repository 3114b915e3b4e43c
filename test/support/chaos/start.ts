import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Settings } from '../../../src/config.js';
import { projectRoot } from '../../../src/platform/root.js';
import { endingWith } from '../ending-with.js';
import { patience } from '../patience.js';
import { until } from '../until.js';

/** Settings of the developer or of this test run must not reach the processes that a test starts. */
const foreign = new Set([...Object.keys(Settings.properties), 'NODE_OPTIONS']);
const clean = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !foreign.has(name) && !name.startsWith('GATEHOUSE_TEST_')),
);

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Runs a compiled process as a person in a terminal would: as the leader of a process group. */
export function startScript(name: 'api' | 'worker' | 'dev' | 'migrate', env: Record<string, string>) {
  const script = join(projectRoot, `dist/src/${name}.js`);
  const child = spawn(process.execPath, [...endingWith(process.pid), '--enable-source-maps', script], {
    cwd: projectRoot,
    env: { ...clean, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    out.stderr += text;
  });
  const exited = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  const pid = child.pid as number;
  let exit: Exit | undefined;
  void exited.then((how) => {
    exit = how;
  });
  return {
    pid,
    out,
    exited,
    /** Waits for a text on stdout. @throws Error that shows the output if the process ends before */
    async says(text: string, timeoutMs = patience): Promise<void> {
      await until(`it says ${text}`, () => exit ?? out.stdout.includes(text), { timeoutMs });
      if (!out.stdout.includes(text)) throw new Error(`It ended (${exit?.code}):\n${out.stdout}\n${out.stderr}`);
    },
    /** Sends what Ctrl-C in its terminal sends: SIGINT to the whole group. */
    async interrupt(): Promise<Exit> {
      process.kill(-pid, 'SIGINT');
      return exited;
    },
    /** Ends what a test that failed half-way left. */
    async end(): Promise<void> {
      if (exit) return;
      process.kill(-pid, 'SIGTERM');
      await exited;
    },
  };
}

export type Script = ReturnType<typeof startScript>;
