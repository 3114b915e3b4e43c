import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { faultOf } from '../platform/faults.js';
import type { Processes } from '../platform/processes.js';
import { ensureSchedules, hasSchedules, reconcileNow } from '../platform/schedules.js';
import { ensureSearchAttributes } from '../platform/search-attributes.js';

export interface KeptSchedules {
  processes: Pick<Processes, 'client' | 'connection'>;
  namespace: string;
  log: Pick<Logger, 'warn' | 'info'>;
  /** Milliseconds between two looks. */
  everyMs?: number;
}

/** Makes what workflows need on the server, and has the reconciler compare the rows with it, once. Safe to repeat. */
export async function prepareServer({ processes, namespace, log }: KeptSchedules): Promise<void> {
  const missing = await ensureSearchAttributes(processes.connection, namespace);
  if (missing.length > 0) log.warn({ missing }, 'not allowed to make the search attributes; an operator has to');
  await ensureSchedules(processes.client);
  // Its next run is minutes away, and no reason to work on nothing until then.
  await reconcileNow(processes.client).catch((error) => log.warn({ fault: faultOf(error) }, 'cannot reconcile now'));
}

/**
 * Looks every now and then whether the server still has our schedules. One whose database was deleted, or restored from
 * before our first start, comes back empty under a worker that only sees a short outage; and without its schedule the
 * reconciler would never run.
 */
export function keepSchedules(options: KeptSchedules, signal: AbortSignal): void {
  const { processes, log, everyMs = 15_000 } = options;
  void (async () => {
    while (await paused(everyMs, signal)) {
      try {
        if (await hasSchedules(processes.client)) continue;
        log.warn('the Temporal server has lost our schedules; making them anew and looking for processes that it lost');
        await prepareServer(options);
      } catch (error) {
        // Its absence is said where it is worked for; this only has to be tried again.
        if (!signal.aborted) log.info({ fault: faultOf(error) }, 'the schedules could not be looked at');
      }
    }
  })();
}

const paused = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal, ref: false }).catch(() => false);
