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
 * SQL, true: whoever takes turns at the same waits for the end of this transaction, and this one for who has the turn; but not for
 * others that stand beside the line like this.
 * @param what SQL for what they take turns at
 */
export const sharedLockSql = (what: string): string =>
  `pg_advisory_xact_lock_shared(hashtextextended(${what}, 0)) is not null`;
