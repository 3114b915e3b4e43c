import type { EntityManager } from 'typeorm';
import type { Db, Statement } from './db.js';

/**
 * The database as a service sees it inside of a transaction that is open already: whatever it does becomes part of that, in its
 * scope.
 */
export const joining = (tx: EntityManager): Db => {
  const statement = async ({ text }: Statement, values: unknown[]) => rowsOf(await tx.query(text, values));
  return {
    transaction: (_scope: unknown, work: (tx: EntityManager) => Promise<unknown>) => work(tx),
    statement,
    statementIn: (_scope: unknown, ...asked: Parameters<typeof statement>) => statement(...asked),
  } as unknown as Db;
};

/** TypeORM answers what was updated or deleted together with how many rows it was. */
const rowsOf = (answer: unknown[]): unknown[] => (Array.isArray(answer[0]) ? answer[0] : answer);
