import type { EntityManager, EntityTarget } from 'typeorm';
import { partsOf } from '../parts.js';

/** The most parameters of one statement: PostgreSQL's protocol counts them in sixteen bits. */
const maxParameters = 65_535;

/**
 * Inserts the rows that no constraint refuses, in order and with as few statements as possible.
 * @returns the ids of the inserted rows
 */
export async function insertNew<Row extends { id: string }>(
  tx: EntityManager,
  entity: EntityTarget<Row>,
  rows: readonly Row[],
): Promise<Set<string>> {
  const atOnce = Math.floor(maxParameters / tx.getRepository(entity).metadata.columns.length);
  const ids = new Set<string>();
  for (const part of partsOf(rows, atOnce)) {
    const inserting = tx
      .createQueryBuilder()
      .insert()
      .into(entity)
      .values(part as never)
      .orIgnore()
      .returning('id')
      .updateEntity(false); // TypeORM would write the returned values into the first rows, even if others were inserted
    for (const { id } of (await inserting.execute()).raw as { id: string }[]) ids.add(id);
  }
  return ids;
}
