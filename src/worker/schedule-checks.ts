import type { Logger } from 'pino';
import { settledMs } from '../domain/processes/reconciler.js';
import { seconds } from '../platform/clock.js';
import { faultOf } from '../platform/faults.js';
import { ensureSearchAttributes } from '../platform/search-attributes.js';
import { createWakeUp } from '../platform/wake-up.js';
import type { Processes } from '../temporal/processes.js';
import { ensureSchedules, findSchedules, reconcileNow } from '../temporal/schedules.js';

export interface ScheduleChecks {
  processes: Pick<Processes, 'client' | 'connection'>;
  namespace: string;
  /** Of this installation, which has its namespace to itself. */
  issuer: string;
  log: Pick<Logger, 'warn' | 'info'>;
  /** Milliseconds between two checks. */
  everyMs?: number;
  /** Milliseconds until a failed attempt is repeated. */
  againMs?: number;
  /** Milliseconds until the reconciler sees the rows that were too new when the schedules were created. */
  newestMs?: number;
}

/** Returns a function that creates the search attributes, without which no workflow starts; logs missing ones once. */
export function createServerPreparation({
  processes,
  namespace,
  log,
}: Pick<ScheduleChecks, 'processes' | 'namespace' | 'log'>): () => Promise<void> {
  let said = '';
  return async () => {
    const missing = await ensureSearchAttributes(processes.connection, namespace);
    if (missing.length > 0 && String(missing) !== said)
      log.warn(
        { missing },
        'search attributes are missing that we may not make, or are no Keywords: an operator has to make them',
      );
    said = String(missing);
  };
}

/**
 * Checks regularly that the server still has our schedules. A server whose database was deleted, or restored from
 * before our first start, comes back empty, while the worker only sees a short outage; and without its schedule the
 * reconciler would never run.
 *
 * No work waits for these checks: the server runs schedules by its own workers, which can lag minutes after a crash.
 */
export function startScheduleChecks(options: ScheduleChecks, signal: AbortSignal) {
  const { processes, issuer, log, everyMs = 15_000, againMs = 2_000, newestMs = settledMs + seconds(5) } = options;
  const wakeUp = createWakeUp();
  /** How often this version's schedules were requested to be written, and which request was served last. */
  let [requests, served] = [0, 0];
  let newestAt = Number.POSITIVE_INFINITY;
  let lastIssuer = issuer;
  const prepare = createServerPreparation(options);

  /** Two installations in one namespace take each other's work, and their databases have no rows for it. */
  function noteWhose(theirs: string): void {
    if (theirs !== issuer && theirs !== lastIssuer)
      log.warn(
        { issuer: theirs },
        "the schedules of this Temporal namespace are of another BASE_URL: if that is another installation, they take each other's work, and each needs a namespace of its own",
      );
    lastIssuer = theirs;
  }

  async function check(): Promise<void> {
    const requested = requests;
    // Each time: the server may have been emptied since, or somebody may have removed our search attributes.
    await prepare();
    const found = await findSchedules(processes.client);
    noteWhose(found?.issuer ?? issuer);
    if (requested === served) {
      if (found) return reconcileNewest();
      // Until a worker has connected it has created none: at the first start of all there are none, and none is lost.
      if (served > 0)
        log.warn('the Temporal server has lost our schedules; making them anew and looking for processes that it lost');
    }
    await ensureSchedules(processes.client, issuer);
    await reconcileNow(processes.client);
    served = requested;
    newestAt = performance.now() + newestMs;
  }

  /**
   * Runs the reconciler once more: its first run skips rows of the last minute before a server lost everything.
   * Somebody may be waiting for one, such as for a code, so it does not wait for the next regular run either.
   */
  async function reconcileNewest(): Promise<void> {
    if (performance.now() < newestAt) return;
    await reconcileNow(processes.client);
    newestAt = Number.POSITIVE_INFINITY;
  }

  signal.addEventListener('abort', wakeUp.wake);
  void (async () => {
    for (await wakeUp.wait(everyMs); !signal.aborted; ) {
      const isChecked = await check().then(
        () => true,
        (error) => {
          // The workers themselves log that Temporal is unavailable; here it is enough to try again.
          if (!signal.aborted) log.info({ fault: faultOf(error) }, 'the schedules could not be looked at');
          return false;
        },
      );
      if (!signal.aborted) await wakeUp.wait(isChecked || requests === served ? everyMs : againMs);
    }
  })();

  return {
    /** Creates the search attributes without which no workflow starts; for a worker before it runs them. */
    prepare,
    /**
     * Writes this version's schedules, and starts the reconciler at once, since its next run is minutes away; for a
     * worker that has just connected to the server.
     */
    renew(): void {
      requests += 1;
      wakeUp.wake();
    },
  };
}
