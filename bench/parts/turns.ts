import { openDb } from '../../src/platform/database/open-db.js';
import { install } from '../installation.js';
import { newNeighbour } from '../neighbour.js';
import { percentile } from '../percentile.js';
import { markdownTable } from '../report/markdown.js';
import type { Surroundings } from '../surroundings.js';
import { startWorker } from '../worker.js';
import { createEventSource, loneEventsOf } from './deliveries-events.js';

/** How long an Account's deliveries wait while another Account has `before` deliveries ahead of them. */
export interface Turns {
  before: number;
  /** Milliseconds from the commit of an event to its call, with one event per second. */
  waitMs: { p50: number; most: number };
  /** How many deliveries ahead of them were not made yet when the last of these arrived. */
  left: number;
}

const subscriptions = 10;
const events = 20;
const everyMs = 1_000;

/** Gives one Account with ten subscriptions `before` deliveries, then another Account a few. */
export async function measureTurns(before: number, { stops, say, startTemporal }: Surroundings): Promise<Turns> {
  say(`${before} deliveries of another Account: starting PostgreSQL and a worker`);
  const installation = await install(stops);
  const temporal = await startTemporal(installation);
  const db = await openDb({ url: installation.databaseUrl, poolSize: 4, applicationName: 'bench', onError: () => {} });
  const worker = await startWorker(installation, { temporal: temporal.address, smtpUrl: 'smtp://127.0.0.1:1' }, stops);
  const shared = { db, installation, stops };
  const many = await createEventSource({ ...shared, subscriptions });
  const few = await createEventSource({ ...shared, subscriptions: 1, scope: await newNeighbour(db) });
  try {
    await many.happen('for one'); // warms up
    await loneEventsOf(few, 1, 0);
    for (let i = 0; i < before / subscriptions; i++) await many.happen('for all');
    const waits = await loneEventsOf(few, events, everyMs);
    const left = Math.max(0, before + 1 - many.arrived.length);
    return { before, waitMs: { p50: percentile(waits, 0.5), most: Math.max(...waits) }, left };
  } finally {
    await worker.stop();
    await db.close();
  }
}

/** Returns Markdown with a line for each number of waiting deliveries. */
export function turnsTable(results: readonly Turns[]): string {
  const rows = results.map(({ before, waitMs: { p50, most }, left }) =>
    [before, `${Math.round(p50)} ms`, `${Math.round(most)} ms`, left].map(String),
  );
  const headings = [
    'deliveries of another Account before',
    'commit to its call: p50',
    'slowest of twenty',
    "of the other's left then",
  ];
  return markdownTable(headings, rows);
}
