import type { EntityManager, EntityTarget } from 'typeorm';

/** Parameters of one statement: the protocol of PostgreSQL counts them in sixteen bits. */
const mostParameters = 65_535;

/**
 * Inserts the rows that no constraint speaks against, in their order and in as few statements as take them.
 * @returns the ids of those that were inserted
 */
export async function insertNew<Row extends { id: string }>(
  tx: EntityManager,
  entity: EntityTarget<Row>,
  rows: readonly Row[],
): Promise<Set<string>> {
  const atOnce = Math.floor(mostParameters / tx.getRepository(entity).metadata.columns.length);
  const ids = new Set<string>();
  for (let i = 0; i < rows.length; i += atOnce) {
    const inserting = tx
      .createQueryBuilder()
      .insert()
      .into(entity)
      .values(rows.slice(i, i + atOnce) as never)
      .orIgnore()
      .returning('id')
      .updateEntity(false); // what it returns would be written into the first rows, whichever were inserted
    for (const { id } of (await inserting.execute()).raw as { id: string }[]) ids.add(id);
  }
  return ids;
}
