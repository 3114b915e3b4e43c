import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { countWaitingProcesses } from '../domain/processes/counts.js';
import { seconds } from '../platform/clock.js';
import type { Db, Statement } from '../platform/database/db.js';

/** On a connection whose other end is gone the figures would stay as they are, and no alert would fire. */
const withinMs = seconds(10);

const queues: Statement = {
  name: 'count_queues',
  withinMs,
  text: `
select outbox.count as outbox, outbox.oldest as "outboxAge", events.count as events, events.oldest as "eventsAge"
from (select count(*)::int, coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float as oldest from outbox) outbox,
  (select count(*)::int, coalesce(extract(epoch from clock_timestamp() - min(event_created_at)), 0)::float as oldest
   from webhook_queue) events`,
};
interface Queues {
  outbox: number;
  outboxAge: number;
  events: number;
  eventsAge: number;
}

const keysAndSize: Statement = {
  name: 'read_keys_and_size',
  withinMs,
  text: `select (select extract(epoch from max(signs_until)) from signing_keys)::float as "keysEnd",
  pg_database_size(current_database())::float as size`,
};
interface KeysAndSize {
  /** Null before the first key. */
  keysEnd: number | null;
  size: number;
}

/** Queries that are too expensive for each scrape run once in this time, however many scrapes there are. */
const slowlyMs = 60_000;

/** Registers gauges of what waits in the database. All workers show the same: aggregate with `max`, not with `sum`. */
export function watchBacklog(registry: Registry, db: Pick<Db, 'statement'>): void {
  const registers = [registry];
  const waiting = remembered(500, async () => (await db.statement<Queues>(queues, []))[0]);
  const gauge = (name: string, help: string, of: (row: Queues) => number) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const row = await waiting();
        if (row) this.set(of(row));
      },
    });
  gauge('gatehouse_outbox_messages', 'Workflows waiting to be started', ({ outbox }) => outbox);
  gauge('gatehouse_outbox_oldest_seconds', 'Age of the oldest message in the outbox', ({ outboxAge }) => outboxAge);
  gauge('gatehouse_webhook_events', 'Events waiting to be passed on to their subscriptions', ({ events }) => events);
  gauge('gatehouse_webhook_events_oldest_seconds', 'Age of the oldest of these events', ({ eventsAge }) => eventsAge);
  watchProcesses(registers, db);
  watchKeysAndSize(registers, db);
}

function watchProcesses(registers: Registry[], db: Pick<Db, 'statement'>): void {
  const processes = remembered(slowlyMs, () => countWaitingProcesses(db, withinMs));
  new Gauge({
    name: 'gatehouse_processes',
    help: 'Waiting durable processes, by kind and state; at most 20000 of a kind are counted.',
    labelNames: ['kind', 'state'],
    registers,
    async collect() {
      for (const { kind, state, count } of (await processes()) ?? []) this.set({ kind, state }, count);
    },
  });
  new Gauge({
    name: 'gatehouse_processes_overdue',
    help: 'Those that should have continued by themselves more than five minutes ago.',
    labelNames: ['kind', 'state'],
    registers,
    async collect() {
      for (const { kind, state, overdue } of (await processes()) ?? []) this.set({ kind, state }, overdue);
    },
  });
}

function watchKeysAndSize(registers: Registry[], db: Pick<Db, 'statement'>): void {
  const read = remembered(slowlyMs, async () => (await db.statement<KeysAndSize>(keysAndSize, []))[0]);
  new Gauge({
    name: 'gatehouse_signing_keys_end_timestamp_seconds',
    help: 'When the last signing key stops signing; a running rotation keeps it a week ahead.',
    registers,
    async collect() {
      const row = await read();
      if (row && row.keysEnd !== null) this.set(row.keysEnd);
    },
  });
  new Gauge({
    name: 'gatehouse_postgres_database_size_bytes',
    help: "Size of the service's database.",
    registers,
    async collect() {
      const row = await read();
      if (row) this.set(row.size);
    },
  });
}

/** How long a scrape waits for figures from PostgreSQL: if that is silent, the worker still has to show its own. */
const patienceMs = 1_000;

/**
 * Returns a function that reads once in a period, and gives all callers in it the same result. Without PostgreSQL the
 * result is undefined: the last figures stay, and the other metrics are still shown.
 */
export function remembered<T>(forMs: number, read: () => Promise<T>): () => Promise<T | undefined> {
  let answer: Promise<T | undefined> = Promise.resolve(undefined);
  let until = 0;
  let isRunning = false;
  return () => {
    const now = performance.now();
    if (now >= until && !isRunning) {
      until = now + forMs;
      isRunning = true;
      answer = read()
        .catch(() => {
          until = 0;
          return undefined;
        })
        .finally(() => {
          isRunning = false;
        });
    }
    return Promise.race([answer, sleep(patienceMs, undefined, { ref: false })]);
  };
}
