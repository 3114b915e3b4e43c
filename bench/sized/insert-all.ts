import type pg from 'pg';

const batch = 5000;

/** Inserts rows in batches, each with one statement; columns that the rows do not name get their defaults. */
export async function insertAll(client: pg.Client, table: string, rows: readonly object[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).join(', ');
  const text = `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, $1)`;
  for (let from = 0; from < rows.length; from += batch) {
    await client.query(text, [JSON.stringify(rows.slice(from, from + batch))]);
  }
}
