import type { Logger } from 'pino';

export interface Stopping {
  log: Logger;
  /** How long `stop` may take, in milliseconds; then the process exits regardless. */
  withinMs: number;
  /** The process, and the function that ends it; tests replace both. */
  on?: Pick<NodeJS.Process, 'on'>;
  exit?: (code: number) => void;
}

/**
 * Ends the process at SIGTERM, SIGINT and SIGHUP (a closed terminal): with code 0 once `stop` is done, and with 1 if
 * something did not stop in time or failed, so that an orchestrator can tell the two apart. A second signal changes
 * nothing: npm forwards the Ctrl-C that the terminal has already sent to every process.
 */
export function stopAtSignals(
  stop: () => Promise<void>,
  { log, withinMs, on = process, exit = (code) => process.exit(code) }: Stopping,
): void {
  let stopping = false;
  const end = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    const late = setTimeout(() => {
      log.error('something did not stop in time');
      exit(1);
    }, withinMs);
    try {
      await stop();
      log.info('stopped');
      exit(0);
    } catch (error) {
      log.error({ reason: (error as Error).message }, 'could not stop in order');
      exit(1);
    } finally {
      clearTimeout(late);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) on.on(signal, () => void end(signal));
}

/**
 * Ends the process with code 1 at an error that nothing has caught, also in a promise, after a line in the log. Node itself
 * would print the error with all its properties, and those of PostgreSQL's errors hold the statement's values.
 */
export function endAtUncaughtErrors(log: Pick<Logger, 'fatal'>): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'an error that nothing has caught; ending the process');
    process.exit(1);
  });
}
