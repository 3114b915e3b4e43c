import type { EntityManager } from 'typeorm';
import type { Db } from './db.js';

/** The database as a service sees it inside of a transaction that is open already: whatever it does becomes part of that. */
export const joining = (tx: EntityManager): Db =>
  ({ transaction: (_scope: unknown, work: (tx: EntityManager) => Promise<unknown>) => work(tx) }) as unknown as Db;
