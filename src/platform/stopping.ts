import type { Logger } from 'pino';

export interface Stopping {
  log: Logger;
  /** How long `stop` may take, in milliseconds; what hangs then is cut off. */
  withinMs: number;
  /** The process, and how it ends. */
  on?: Pick<NodeJS.Process, 'on'>;
  exit?: (code: number) => void;
}

/**
 * Has a process end at SIGTERM, SIGINT and SIGHUP (a terminal that was closed): with code 0 once `stop` is done, and with 1
 * where something did not stop in time or failed, so that whoever runs it can tell the two apart. A second signal changes
 * nothing: npm hands on the Ctrl-C that the terminal sends to everyone.
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
