import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DomainError } from '../domain/errors.js';
import { minutes } from '../platform/clock.js';
import { answeredWithin } from '../platform/database/answered-within.js';
import type { Db } from '../platform/database/db.js';
import { faultOf } from '../platform/faults.js';
import { isProcessName } from '../platform/process-kinds.js';
import { activeTracing } from '../platform/tracing/tracing.js';
import { grpcStatusOf } from './errors.js';
import { createClaims, type Lane, type Message } from './outbox-claims.js';
import type { Processes } from './processes.js';

export interface LaneDeps {
  db: Db;
  processes: Pick<Processes, 'start'>;
  log: Pick<Logger, 'info' | 'warn'>;
  batchSize?: number;
  /** How long PostgreSQL may take for a statement, in milliseconds. */
  answerWithinMs?: number;
}

const remove = { name: 'outbox_remove', text: 'delete from outbox where id = any($1::uuid[])' };
const postpone = {
  name: 'outbox_postpone',
  text: `update outbox set due_at = clock_timestamp() + make_interval(secs => $2), last_error = $3, attempts = $4 where id = $1`,
};

/** How long the next batch waits for this one. A start can take seconds if a part of Temporal is unavailable. */
const batchMs = 500;
/** How many starts of earlier batches may still be under way. */
const maxSlow = 100;
/** For how long after an accepted start Temporal is considered available, even if another message meets an outage. */
const availableForMs = 10_000;

/** Seconds until a message is tried again while all of Temporal is unavailable; that does not count as an attempt. */
const unavailablePauseS = 5;
/** Returns the seconds until a message is tried again whose own start has failed. */
const pauseAfter = (attempts: number) => Math.min(2 ** Math.min(attempts, 10), 300);

/** Runs a start in the trace of the change that asked for it, if there is one. */
function inTraceOf<T>({ process, traceparent, attempts }: Message, start: () => Promise<T>): Promise<T> {
  const tracing = activeTracing();
  if (!tracing || traceparent === null) return start();
  const attributes = { 'gatehouse.attempt': attempts };
  return tracing.run({ name: `relay ${process}`, kind: 'consumer', attributes, parent: traceparent }, start);
}

/**
 * Starts the processes of a lane's messages, batch by batch.
 * @param isOver returns whether to end; waits first if there is nothing to do
 */
export async function runLane(
  lane: Lane,
  { db: anyDb, processes, log, batchSize = 20, answerWithinMs = minutes(1) }: LaneDeps,
  isOver: (idle: boolean) => boolean | Promise<boolean>,
): Promise<void> {
  const db = answeredWithin(anyDb, answerWithinMs);
  const claims = createClaims(db, lane, batchSize);
  let isUnavailable = false;
  let takenAt = -availableForMs;
  let backAt = -availableForMs;
  const slow = new Set<Promise<void>>();

  function noteTaken(): void {
    takenAt = performance.now();
    if (!isUnavailable) return;
    backAt = takenAt;
    isUnavailable = false;
    log.info('Temporal answers again');
  }
  /** @returns whether Temporal as a whole was unavailable for a start that began then */
  function noteOutage(begunAt: number, status: string | undefined): boolean {
    if (begunAt < backAt) return true;
    if (performance.now() - takenAt < availableForMs) return false;
    if (!isUnavailable) log.warn({ status }, 'Temporal does not answer; workflows wait in the outbox');
    isUnavailable = true;
    return true;
  }

  /** @returns whether the message's workflow exists */
  async function deliver(message: Message): Promise<boolean> {
    const begunAt = performance.now();
    try {
      if (!isProcessName(message.process)) throw new Error(`no process ${message.process}`);
      // The input was checked by the compiler when it was written, and is stored as it was.
      const { process, input } = message;
      await inTraceOf(message, () => processes.start(process, input as never));
      noteTaken();
      return true;
    } catch (error) {
      const outage = error instanceof DomainError && error.code === 'service.unavailable';
      const status = outage ? grpcStatusOf(error) : undefined;
      const reason = outage
        ? ['Temporal does not answer', status].filter(Boolean).join(': ')
        : isProcessName(message.process)
          ? faultOf(error)
          : 'unknown process';
      const isOutageOfAll = outage && noteOutage(begunAt, status);
      if (!outage)
        log.warn({ messageId: message.id, workflow: message.process, reason }, 'a workflow cannot be started');
      const { id, attempts } = message;
      await db.statement(
        postpone,
        isOutageOfAll ? [id, unavailablePauseS, reason, attempts - 1] : [id, pauseAfter(attempts), reason, attempts],
      );
      return false;
    }
  }

  const noteFault = (error: unknown) => log.warn({ fault: faultOf(error) }, 'the outbox cannot be read');

  /** Waits for the quick deliveries, and removes them together; each slow one removes itself when it is done. */
  async function deliverAll(messages: readonly Message[]): Promise<void> {
    let quick: string[] | null = [];
    const over = new AbortController();
    const deliveries = messages.map(async (message) => {
      if (!(await deliver(message))) return;
      if (quick) quick.push(message.id);
      else await db.statement(remove, [[message.id]]);
    });
    for (const delivery of deliveries) {
      const settled: Promise<void> = delivery.catch(noteFault).finally(() => slow.delete(settled));
      slow.add(settled);
    }
    const time = sleep(batchMs, undefined, { signal: over.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled(deliveries), time]);
    over.abort();
    const done = quick;
    quick = null;
    if (done.length > 0) await db.statement(remove, [done]);
  }

  /** @returns whether there may be more to do at once */
  async function deliverBatch(): Promise<boolean> {
    if (slow.size >= maxSlow) await Promise.race(slow);
    const { messages, more } = await claims.next();
    await deliverAll(messages);
    return more && !isUnavailable;
  }

  for (let more = true; !(await isOver(!more)); ) {
    more = await deliverBatch().catch((error) => {
      noteFault(error);
      return false;
    });
  }
  await Promise.all(slow);
}
