import type { EntityManager } from 'typeorm';

/**
 * Locks a text until the transaction ends; any other transaction that locks the same text waits. For rules over several
 * rows that no constraint can express.
 * @param what what is locked, including the tenant to which it belongs
 */
export async function lockExclusively(tx: EntityManager, what: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [what]);
}

/**
 * SQL condition, always true, that takes the advisory lock in shared mode until the transaction ends. Holders exclude
 * only exclusive ones (`lockExclusively`), not each other.
 * @param what SQL for the text that is locked
 */
export const sharedLockSql = (what: string): string =>
  `pg_advisory_xact_lock_shared(hashtextextended(${what}, 0)) is not null`;
