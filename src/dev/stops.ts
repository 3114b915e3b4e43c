interface Stoppable {
  name: string;
  exited: Promise<{ code: number | null; signal: string | null; tail?: string }>;
  stop(): Promise<void>;
}

export interface Stops {
  /**
   * Adds a part, which is stopped before all that were started earlier. If it ends by itself, everything is stopped.
   * @returns a function that removes the part again, once it has ended
   */
  add(part: Stoppable): () => void;
  /** Whether a signal has asked for the end, so that failures from then on are expected. */
  readonly signalled: boolean;
  /** Stops everything, the last started first. Safe to call twice. */
  all(): Promise<void>;
  /** From now on, the end of a part, like a signal, stops everything and ends this process. */
  untilSignalled(): void;
}

/** Creates the list of what has to be stopped, and listens for the signals that end this process. */
export function createStops(): Stops {
  const parts: Stoppable[] = [];
  let stopping: Promise<void> | undefined;
  let signalled = false;
  const all = () => {
    stopping ??= (async () => {
      for (const part of parts.reverse()) await part.stop();
    })();
    return stopping;
  };
  const end = async (code: number) => {
    await all();
    process.exit(code);
  };
  // Registered at once: a signal during the start must not leave children behind either.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      signalled = true;
      process.stdout.write('Stopping…\n');
      void end(0);
    });
  }
  return {
    all,
    get signalled() {
      return signalled;
    },
    add(part) {
      parts.push(part);
      return () => void parts.splice(parts.indexOf(part), 1);
    },
    untilSignalled() {
      for (const { name, exited } of parts) {
        void exited.then(({ code, signal, tail }) => {
          if (stopping) return;
          process.stderr.write(
            `${name} ended by itself (${signal ?? `exit code ${code}`})${tail ? `:\n${tail}` : ''}\n`,
          );
          void end(1);
        });
      }
    },
  };
}
