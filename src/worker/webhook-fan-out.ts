import type { Logger } from 'pino';
import { fanOutWebhooks, webhooksChannel } from '../domain/webhooks/fan-out.js';
import { minutes } from '../platform/clock.js';
import { answeredWithin } from '../platform/database/answered-within.js';
import type { Db } from '../platform/database/db.js';
import { listenToChannel } from '../platform/database/listen.js';
import { faultOf } from '../platform/faults.js';
import { createWakeUp } from '../platform/wake-up.js';

export interface WebhookFanOutDeps {
  db: Pick<Db, 'statement'>;
  /** For the connection that listens. */
  databaseUrl: string;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds between two looks without a notification, when there was nothing for a while. */
  pollMs?: number;
  /** Events in one transaction; each has up to two thousand deliveries. */
  batchSize?: number;
  /** Milliseconds between two looks at the whole queue. */
  wholeEveryMs?: number;
  /** How long PostgreSQL may take for a batch, in milliseconds. */
  answerWithinMs?: number;
}

/** Pauses after events were found, in milliseconds: events that are committed in the meantime notify nobody. */
const pauses = [10, 20, 50, 100, 250, 500];

/**
 * How many places before the last processed one each look begins: places are assigned before their transactions commit.
 * Looking further back would read the dead rows of processed events, which stay as long as a snapshot (such as a
 * dump's) may need them.
 */
const placesOfLateCommits = 10_000;

/** Creates the deliveries of events to the subscriptions that want them, until it is stopped. Any number may run. */
export function startWebhookFanOut(deps: WebhookFanOutDeps) {
  const { databaseUrl, log, pollMs = 1_000, batchSize = 20, wholeEveryMs = 60_000 } = deps;
  const db = answeredWithin(deps.db, deps.answerWithinMs ?? minutes(1));
  const wakeUp = createWakeUp();
  const listener = listenToChannel({ url: databaseUrl, channel: webhooksChannel, onWake: wakeUp.wake, log });
  let stopped = false;

  const running = (async () => {
    let next: number[] = [];
    let failing = false;
    let [latest, wholeAt] = [0, Number.NEGATIVE_INFINITY];
    while (!stopped) {
      try {
        const isWhole = performance.now() - wholeAt >= wholeEveryMs;
        const taken = await fanOutWebhooks(db, batchSize, isWhole ? 0 : latest - placesOfLateCommits);
        latest = Math.max(latest, taken.latest ?? 0);
        failing = false;
        if (taken.events > 0) next = [...pauses];
        if (taken.events === batchSize) continue;
        if (isWhole) wholeAt = performance.now();
      } catch (error) {
        if (!failing) log.warn({ fault: faultOf(error) }, 'events cannot be given to their subscriptions');
        failing = true;
      }
      if (!stopped) await wakeUp.wait(Math.min(next.shift() ?? pollMs, pollMs));
    }
  })();

  return {
    /** Stops after the batch under way. */
    async stop(): Promise<void> {
      stopped = true;
      wakeUp.wake();
      await running;
      await listener.stop();
    },
  };
}
