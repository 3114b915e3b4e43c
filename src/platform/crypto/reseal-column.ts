import type { Db } from '../database/db.js';
import { nilUuid } from '../uuid.js';
import type { Sealing } from './sealing.js';

export interface ResealDeps {
  db: Db;
  sealing: Sealing;
}

/** A column of sealed values in a table whose key is `id`. All of this goes into SQL: it never comes from a caller. */
export interface SealedColumn {
  table: string;
  column: string;
  /** SQL condition: the rows that hold a sealed value. */
  where: string;
  /** Returns the context to which the value of a row is bound. */
  contextOf(id: string): string;
}

const atOnce = 500;

/** Encrypts again what an older master key sealed, a few hundred rows per transaction. Returns the number of rows. */
export async function resealColumn({ db, sealing }: ResealDeps, { table, column, where, contextOf }: SealedColumn) {
  let count = 0;
  for (let last: string | null = nilUuid; last !== null; ) {
    last = await db.transaction('system', async (tx): Promise<string | null> => {
      const rows = await tx.query<{ id: string; sealed: string }[]>(
        `select id, ${column} as sealed from ${table} where ${where} and id > $1 order by id limit ${atOnce} for update`,
        [last],
      );
      for (const { id, sealed } of rows) {
        if (!sealing.isStale(sealed)) continue;
        const context = contextOf(id);
        const anew = sealing.seal(sealing.open(sealed, context), context);
        await tx.query(`update ${table} set ${column} = $2 where id = $1`, [id, anew]);
        count += 1;
      }
      return rows.at(-1)?.id ?? null;
    });
  }
  return count;
}
