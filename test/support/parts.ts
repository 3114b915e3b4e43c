import type { Exit } from '../../src/platform/embedded/children.js';

/** A piece of the running service that a test can take away and bring back. */
export interface Part {
  /** Of the process that runs now. */
  readonly pid: number;
  /**
   * Sends a signal, SIGKILL unless said otherwise, and waits for the end where the signal is one that ends.
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
  /** As it was first started; a restart keeps its addresses. */
  first: R;
  stop(): Promise<void>;
}

/** Starts something that can be killed and started again. @param launch gets what ran before, to take its place */
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
      await running.stop(); // lets go of its folder
      return exit;
    },
    async start() {
      running = await launch(running);
    },
    stop: () => running.stop(),
  };
}

/** A part that others use as well: it cannot be taken away. */
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
