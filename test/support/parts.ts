import type { Exit } from '../../src/platform/embedded/children.js';

/** A part of the running service that a test can kill and start again. */
export interface Part {
  /** Process id of the current process. */
  readonly pid: number;
  /**
   * Sends a signal (default SIGKILL), and waits for the process to end if the signal ends it.
   * @returns how it ended
   */
  kill(signal?: NodeJS.Signals): Promise<Exit | null>;
  /** Starts it again at the same address, with the same data. */
  start(): Promise<void>;
}

export interface Running {
  pid: number;
  exited: Promise<Exit>;
  stop(): Promise<void>;
}

export interface Restartable<R extends Running> extends Part {
  /** What `launch` first returned; a restart keeps its addresses. */
  first: R;
  stop(): Promise<void>;
}

/** Starts a part that can be killed and restarted. @param launch receives the previous run, whose place it takes */
export async function restartable<R extends Running>(launch: (before?: R) => Promise<R>): Promise<Restartable<R>> {
  const first = await launch();
  let running = first;
  return {
    first,
    get pid() {
      return running.pid;
    },
    async kill(signal = 'SIGKILL') {
      process.kill(running.pid, signal);
      if (signal === 'SIGSTOP' || signal === 'SIGCONT') return null;
      const exit = await running.exited;
      await running.stop(); // releases its folder
      return exit;
    },
    async start() {
      running = await launch(running);
    },
    stop: () => running.stop(),
  };
}

/** Returns a part that other runs share: it cannot be killed. */
export const sharedPart = (name: string, hint: string): Part => {
  const refuse = () => {
    throw new Error(`${name} is shared with other tests; ${hint}`);
  };
  return {
    get pid() {
      return refuse();
    },
    kill: async () => refuse(),
    start: async () => refuse(),
  };
};
