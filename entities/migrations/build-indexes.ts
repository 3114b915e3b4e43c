import type { QueryRunner } from 'typeorm';

/**
 * Makes indexes while the service goes on writing, outside of a transaction; one of an attempt that was interrupted is made anew.
 * @param indexes by their names: what follows the name in `create index`
 */
export async function buildIndexes(db: QueryRunner, indexes: Record<string, string>): Promise<void> {
  for (const [name, definition] of Object.entries(indexes)) {
    await db.query(`drop index concurrently if exists ${name}`);
    await db.query(`create index concurrently ${name} ${definition}`);
  }
}
