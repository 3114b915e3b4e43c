import type { Logger } from 'pino';
import { DomainError } from '../domain/errors.js';
import { outboxChannel } from '../domain/outbox.js';
import type { Db, Statement } from '../platform/db.js';
import { faultOf } from '../platform/faults.js';
import { isProcessName } from '../platform/process-kinds.js';
import { activeTracing } from '../platform/tracing.js';
import { createBell, listenForever } from '../platform/wake-up.js';
import type { Processes } from './processes.js';

export interface OutboxRelayDeps {
  db: Db;
  /** For the connection that listens. */
  databaseUrl: string;
  processes: Pick<Processes, 'start'>;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds between two looks when nobody rings; a notification can be lost with its connection. */
  pollMs?: number;
  batchSize?: number;
}

interface Message {
  id: string;
  process: string;
  input: Record<string, unknown>;
  attempts: number;
  /** The trace of the change that asked; null where none was kept. */
  traceparent: string | null;
}

// A batch is leased rather than locked, so that no transaction stays open while Temporal is asked. A relay that dies
// leaves its batch to the next one when the lease ends; starting one again is harmless.
const claim = (name: string, which: string) => ({
  name,
  text: `update outbox set due_at = clock_timestamp() + interval '15 seconds', attempts = attempts + 1
    where id in (select id from outbox where ${which} and due_at <= clock_timestamp() order by due_at, id limit $1 for update skip locked)
    returning id, process, input, attempts, traceparent`,
});
// Three lanes, each with an index: one event can ask for a thousand deliveries, and a customer for a thousand invites with a process and
// a mail each. No sign-up and no emailed code waits behind them.
const awaited = `(process = 'registrationVerification' or input ? 'isAwaited')`;
const lanes = [
  claim('outbox_claim_awaited', awaited),
  claim('outbox_claim', `process <> 'webhookDelivery' and not ${awaited}`),
  claim('outbox_claim_webhooks', `process = 'webhookDelivery'`),
];
const remove = { name: 'outbox_remove', text: 'delete from outbox where id = any($1::uuid[])' };
const postpone = {
  name: 'outbox_postpone',
  text: `update outbox set due_at = clock_timestamp() + make_interval(secs => $2), last_error = $3 where id = $1`,
};

/** In the trace of the change that asked, where there is one. */
function inTraceOf<T>({ process, traceparent, attempts }: Message, start: () => Promise<T>): Promise<T> {
  const tracing = activeTracing();
  if (!tracing || traceparent === null) return start();
  const attributes = { 'gatehouse.attempt': attempts };
  return tracing.run({ name: `relay ${process}`, kind: 'consumer', attributes, parent: traceparent }, start);
}

/** Seconds until a message is tried again: soon while Temporal is away, rarely when it is the message that is wrong. */
const pauseAfter = (attempts: number, away: boolean) => Math.min(2 ** Math.min(attempts, 10), away ? 5 : 300);

/**
 * Starts the workflows that committed changes asked for, and removes each message once its workflow is there. Any number
 * of relays may run. A message that cannot be started waits by itself and holds up no other.
 */
export function startOutboxRelay({ databaseUrl, pollMs = 2_000, ...deps }: OutboxRelayDeps) {
  let stopped = false;
  const running = lanes.map((claim) => {
    const bell = createBell();
    return {
      bell,
      ended: runLane(claim, deps, async (idle) => {
        if (idle && !stopped) await bell.wait(pollMs);
        return stopped;
      }),
    };
  });
  const ring = () => {
    for (const { bell } of running) bell.ring();
  };
  const listener = listenForever({ url: databaseUrl, channel: outboxChannel, onWake: ring, log: deps.log });
  return {
    /** Lets the batches on their way finish. */
    async stop(): Promise<void> {
      stopped = true;
      ring();
      await Promise.all(running.map(({ ended }) => ended));
      await listener.stop();
    },
  };
}

type LaneDeps = Pick<OutboxRelayDeps, 'db' | 'processes' | 'log' | 'batchSize'>;

/** @param isOver waits where there is nothing to do; answers whether to end */
async function runLane(
  claim: Statement,
  { db, processes, log, batchSize = 20 }: LaneDeps,
  isOver: (idle: boolean) => boolean | Promise<boolean>,
): Promise<void> {
  let away = false;

  async function deliver(message: Message): Promise<string | null> {
    try {
      if (!isProcessName(message.process)) throw new Error(`no process ${message.process}`);
      // The input was checked by the compiler when it was written, and is stored as it was.
      const { process, input } = message;
      await inTraceOf(message, () => processes.start(process, input as never));
      return message.id;
    } catch (error) {
      const outage = error instanceof DomainError && error.code === 'service.unavailable';
      const reason = outage
        ? 'Temporal does not answer'
        : isProcessName(message.process)
          ? faultOf(error)
          : 'unknown process';
      away ||= outage;
      if (!outage)
        log.warn({ messageId: message.id, workflow: message.process, reason }, 'a workflow cannot be started');
      await db.statement(postpone, [message.id, pauseAfter(message.attempts, outage), reason]);
      return null;
    }
  }

  /** @returns whether there may be more to do at once */
  async function deliverBatch(): Promise<boolean> {
    const messages = await db.statement<Message>(claim, [batchSize]);
    const wasAway = away;
    away = false;
    const done = (await Promise.all(messages.map(deliver))).filter((id) => id !== null);
    if (done.length > 0) await db.statement(remove, [done]);
    if (messages.length === 0) away = wasAway;
    if (away && !wasAway)
      log.warn({ waiting: messages.length }, 'Temporal does not answer; workflows wait in the outbox');
    if (!away && wasAway) log.info('Temporal answers again');
    return messages.length === batchSize && !away;
  }

  for (let more = true; !(await isOver(!more)); ) {
    more = await deliverBatch().catch((error) => {
      log.warn({ fault: faultOf(error) }, 'the outbox cannot be read');
      return false;
    });
  }
}
