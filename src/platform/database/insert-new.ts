import type { EntityManager, EntityTarget } from 'typeorm';
import { partsOf } from '../parts.js';

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
  for (const part of partsOf(rows, atOnce)) {
    const inserting = tx
      .createQueryBuilder()
      .insert()
      .into(entity)
      .values(part as never)
      .orIgnore()
      .returning('id')
      .updateEntity(false); // what it returns would be written into the first rows, whichever were inserted
    for (const { id } of (await inserting.execute()).raw as { id: string }[]) ids.add(id);
  }
  return ids;
}
