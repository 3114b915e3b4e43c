import type { EntityManager, EntityTarget } from 'typeorm';

/**
 * Inserts the rows that no constraint speaks against, in one statement and in their order.
 * @returns the ids of those that were inserted
 */
export async function insertNew<Row extends { id: string }>(
  tx: EntityManager,
  entity: EntityTarget<Row>,
  rows: readonly Row[],
): Promise<Set<string>> {
  const inserting = tx
    .createQueryBuilder()
    .insert()
    .into(entity)
    .values(rows as never)
    .orIgnore()
    .returning('id')
    .updateEntity(false); // what it returns would be written into the first rows, whichever were inserted
  return new Set(((await inserting.execute()).raw as { id: string }[]).map(({ id }) => id));
}
