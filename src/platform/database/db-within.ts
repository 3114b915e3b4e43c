import type { EntityManager } from 'typeorm';
import { type Db, inTransaction } from './db.js';

/**
 * Returns a `Db` for a service that works inside an open transaction: all its statements become part of that
 * transaction, in its scope.
 */
export const dbWithin = (tx: EntityManager): Db => {
  const statement = inTransaction(tx);
  return {
    transaction: (_scope: unknown, work: (tx: EntityManager) => Promise<unknown>) => work(tx),
    statement,
    statementIn: (_scope: unknown, ...asked: Parameters<typeof statement>) => statement(...asked),
  } as unknown as Db;
};
