import { setTimeout as sleep } from 'node:timers/promises';
import { rowsAsOwner } from '../../support/database.js';
import type { Service } from '../../support/service.js';
import { until } from '../../support/until.js';
import type { World } from './world.js';

/** More than this is more than Temporal does in some seconds. */
const much = 30;
const query = `select (select count(*) from outbox) + (select count(*) from emails where status = 'pending')
  + (select count(*) from webhook_deliveries where status = 'pending') as count`;
const catchUpWithinMs = 600_000;

/** Checks every second how much waits for Temporal; keeps the last value while the database cannot answer. */
export function backlogOf({ ownerUrl }: Service, isOver: () => boolean): () => number {
  let waiting = 0;
  void (async () => {
    for (; !isOver(); await sleep(1_000)) {
      const [row] = await rowsAsOwner(ownerUrl, query).catch(() => []);
      waiting = Number(row?.count ?? waiting);
    }
  })();
  return () => waiting;
}

/** Returns whether the load should let Temporal catch up. */
export const isBehind = (world: World): boolean => world.waiting() > much;

/**
 * Waits, under load, until little waits for Temporal after an outage.
 * @returns how much waited when it was back, and for how long
 */
export async function caughtUp(world: World): Promise<[what: string, count: number][]> {
  const [begunAt, waited] = [Date.now(), world.waiting()];
  const bounds = { timeoutMs: catchUpWithinMs, everyMs: 1_000 };
  await until('little waits for Temporal', () => !isBehind(world), bounds).catch(({ message }) => world.find(message));
  return [
    ['waiting when Temporal was back', waited],
    ['seconds until little waited', Math.round((Date.now() - begunAt) / 1_000)],
  ];
}
