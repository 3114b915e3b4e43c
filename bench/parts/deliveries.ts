import { openDb } from '../../src/platform/database/open-db.js';
import { install } from '../installation.js';
import { percentile } from '../percentile.js';
import { markdownTable } from '../report/markdown.js';
import { percent } from '../report/text.js';
import type { Surroundings } from '../surroundings.js';
import { cpuOfEach, type DurableCpu, durableCpu } from '../temporal.js';
import { startWorker } from '../worker.js';
import { arrive, createEventSource, type EventSource, loneEventsOf } from './deliveries-events.js';
import { emptyDeliveriesPerSecond } from './deliveries-limit.js';

/** What `subscriptions` subscriptions of one Environment cost. */
export interface Deliveries {
  subscriptions: number;
  /** Milliseconds from the commit of a single event to the call of the only subscription that wants it. */
  firstAttemptMs: { p50: number; p99: number };
  /** Deliveries that arrive per second, until the last one, of events that all subscriptions want. */
  perSecond: number;
  /** CPU time of worker, Temporal and PostgreSQL for these deliveries; null if not on Linux. */
  cpu: DurableCpu | null;
  /** Deliveries per second with an empty attempt on the same Temporal: the most that it can do here. */
  limitPerSecond: number;
}

const loneEvents = 60;
const loneEventEveryMs = 250;

/** Creates the subscriptions, and measures how soon and how fast events arrive at a receiver on this machine. */
export async function measureDeliveries(
  subscriptions: number,
  { stops, say, startTemporal }: Surroundings,
): Promise<Deliveries> {
  say(`${subscriptions} subscriptions: starting PostgreSQL and a worker`);
  const installation = await install(stops);
  const temporal = await startTemporal(installation);
  const db = await openDb({
    url: installation.databaseUrl,
    poolSize: 4,
    applicationName: 'bench',
    onError: () => {}, // PostgreSQL may be stopped first
  });
  const total = deliveriesOf(subscriptions);
  const limitPerSecond = await emptyDeliveriesPerSecond(temporal.address, total);
  const worker = await startWorker(installation, { temporal: temporal.address, smtpUrl: 'smtp://127.0.0.1:1' }, stops);
  const source = await createEventSource({ db, installation, subscriptions, stops });
  try {
    await loneEventsOf(source, 10, loneEventEveryMs); // warms up: code is compiled, plans and connections are made
    const waits = await loneEventsOf(source, loneEvents, loneEventEveryMs);
    say(`${subscriptions} subscriptions: ${total} deliveries at once`);
    const spent = durableCpu(worker, temporal, installation);
    const perSecond = await burst(source, { total, subscriptions });
    const cpu = spent();
    return {
      subscriptions,
      firstAttemptMs: { p50: percentile(waits, 0.5), p99: percentile(waits, 0.99) },
      perSecond,
      cpu,
      limitPerSecond,
    };
  } finally {
    await worker.stop();
    await db.close();
  }
}

/** Returns how many deliveries are made at once: the same number for every subscription. */
const deliveriesOf = (subscriptions: number) => Math.ceil(Math.max(400, subscriptions) / subscriptions) * subscriptions;

async function burst(source: EventSource, { total, subscriptions }: { total: number; subscriptions: number }) {
  const before = source.arrived.length;
  const begun = performance.now();
  const events = total / subscriptions;
  for (let i = 0; i < events; i++) await source.happen('for all');
  await arrive(source, before + total);
  return (total * 1000) / (source.arrived.at(-1)! - begun);
}

/** Returns Markdown with a line for each number of subscriptions. */
export function deliveriesTable(results: readonly Deliveries[]): string {
  const rows = results.map(({ subscriptions, firstAttemptMs: { p50, p99 }, perSecond, cpu, limitPerSecond }) =>
    [
      subscriptions,
      `${Math.round(p50)} ms`,
      `${Math.round(p99)} ms`,
      perSecond.toFixed(1),
      limitPerSecond.toFixed(1),
      percent(perSecond / limitPerSecond),
      cpuOfEach(cpu, deliveriesOf(subscriptions)),
    ].map(String),
  );
  const headings = [
    'subscriptions',
    'commit to first attempt: p50',
    'p99',
    'deliveries a second',
    'Temporal alone',
    'of that',
    'CPU ms of each: worker + Temporal + PostgreSQL',
  ];
  return markdownTable(headings, rows);
}
