import { asOwner, rowsAsOwner } from '../database.js';

/** A row that is there now and was not (`+`), or was and is not (`-`): a changed one is both. */
export interface Difference {
  table: string;
  sign: '+' | '-';
  row: Record<string, unknown>;
}

/**
 * Returns a snapshot of all rows of a database: what became of them since, and how to put them back. The same rows, with
 * the same ids and secrets, are then the fixture of one run after another.
 */
export async function newSnapshot(ownerUrl: string) {
  const tables = (
    await rowsAsOwner<{ name: string }>(
      ownerUrl,
      `select relname as name from pg_class where relkind in ('r', 'p') and not relispartition
         and relnamespace = 'public'::regnamespace and relname <> 'migrations' order by relname`,
    )
  ).map(({ name }) => name);
  await asOwner(async (client) => {
    await client.query('create schema before');
    for (const name of tables) await client.query(`create table before.${name} as table public.${name} with no data`);
  }, ownerUrl);
  /** Selects the tables with rows that a later transaction than `$1` has written, or without some of the rows. */
  const touchedText = tables
    .map(
      (name) =>
        `select '${name}' as name where (select count(*) from before.${name}) <> (select count(*) from public.${name})
           or exists (select from public.${name} where xmin::text::bigint > $1)`,
    )
    .join(' union all ');
  let lastTransaction = '0';
  let known = '';

  async function differences(): Promise<Difference[]> {
    const touched = await rowsAsOwner<{ name: string }>(ownerUrl, { name: 'touched', text: touchedText }, [
      lastTransaction,
    ]);
    if (touched.length === 0) return [];
    const sides = [
      ['+', 'public', 'before'],
      ['-', 'before', 'public'],
    ];
    const text = touched.flatMap(({ name }) =>
      sides.map(
        ([sign, here, there]) =>
          `select '${name}' as "table", '${sign}' as sign, to_jsonb(t) as row from ${here}.${name} t
           where t::text not in (select o::text from ${there}.${name} o)`,
      ),
    );
    return rowsAsOwner<Difference>(ownerUrl, text.join(' union all '));
  }

  /** Makes the tables that differ in one schema what they are in the other. */
  async function copy(from: string, to: string, all: readonly Difference[]): Promise<void> {
    const changed = [...new Set(all.map(({ table }) => table))];
    const copies = changed.map(
      (name) =>
        `delete from ${to}.${name}; insert into ${to}.${name} overriding system value select * from ${from}.${name};`,
    );
    await asOwner(async (client) => {
      // Without triggers and foreign keys: what they would do has its own rows in the copy.
      await client.query(`begin; set local session_replication_role = replica; ${copies.join('\n')}`);
      lastTransaction = (await client.query('select pg_current_xact_id()::text as id')).rows[0].id;
      await client.query('commit');
    }, ownerUrl);
  }

  return {
    differences,
    /** Puts all rows back. @param all how they differ */
    restore: (all: readonly Difference[]) => copy('before', 'public', all),
    async take(): Promise<void> {
      await copy('public', 'before', await differences());
      const all = tables.map((name) => `select string_agg(t::text, ' ') as row from before.${name} t`);
      const rows = await rowsAsOwner<{ row: string | null }>(ownerUrl, all.join(' union all '));
      known = rows.map(({ row }) => row ?? '').join(' ');
    },
    /** Whether a text occurs in a row of the snapshot. */
    knows: (part: string) => known.includes(part),
  };
}
export type Snapshot = Awaited<ReturnType<typeof newSnapshot>>;
