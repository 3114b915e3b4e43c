import type { EntityManager } from 'typeorm';

/**
 * Until this transaction ends, no other one that names the same goes past this line: for rules over several rows that no
 * constraint can say.
 * @param what what they take turns at; whose it is belongs into it
 */
export async function lockExclusively(tx: EntityManager, what: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [what]);
}

/**
 * SQL, always true: takes the advisory lock in shared mode until the transaction ends. Holders of it do not exclude each other, only
 * whoever takes it exclusively (`lockExclusively`).
 * @param what SQL for what that one names
 */
export const sharedLockSql = (what: string): string =>
  `pg_advisory_xact_lock_shared(hashtextextended(${what}, 0)) is not null`;
