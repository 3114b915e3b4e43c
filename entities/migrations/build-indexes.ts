import type { QueryRunner } from 'typeorm';

/**
 * Builds indexes while the service goes on writing, outside a transaction; an index that an interrupted attempt left is
 * built again.
 * @param indexes by name: what follows the name in `create index`
 */
export async function buildIndexes(db: QueryRunner, indexes: Record<string, string>): Promise<void> {
  for (const [name, definition] of Object.entries(indexes)) {
    await db.query(`drop index concurrently if exists ${name}`);
    await db.query(`create index concurrently ${name} ${definition}`);
  }
}
