import type { EntityManager } from 'typeorm';

/**
 * Until this transaction ends, no other one passes here with the same text: for rules over several rows that no
 * constraint can express.
 * @param what what is locked, including whose it is
 */
export async function lockExclusively(tx: EntityManager, what: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [what]);
}

/**
 * SQL, always true: takes the advisory lock in shared mode until the transaction ends. Holders do not exclude each
 * other, only whoever takes it exclusively (`lockExclusively`).
 * @param what SQL for the text that is locked
 */
export const sharedLockSql = (what: string): string =>
  `pg_advisory_xact_lock_shared(hashtextextended(${what}, 0)) is not null`;
