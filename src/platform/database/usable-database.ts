import type { DataSource } from 'typeorm';
import { firstOfFormer, lastOfFormer } from '../../../entities/migrations/former.js';
import { StartError } from '../start-error.js';

interface Found {
  version: string;
  number: number;
  database: string;
  schema: string | null;
  isOurs: boolean;
}

/** Checks that the schema can be created here, before any part of it is. @throws StartError that says what to do */
export async function assertUsable(source: DataSource): Promise<void> {
  const [found] = await source.query<Found[]>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
       current_database() as database, current_schema() as schema, lower('I') = 'i' as "isOurs"`,
  );
  const { version, number, database, schema, isOurs } = found!; // always one row
  if (number < 170_000) throw new StartError(`PostgreSQL 17 or later is needed, and this is ${version}`);
  if (schema !== 'public')
    throw new StartError(
      `tables would be made in ${schema ?? 'no schema'}, and have to be in public: alter role … in database ${database} set search_path = public, for the owner and the service's role`,
    );
  // `citext` lower-cases by the database's locale: in some, two spellings of one address would be two people.
  if (!isOurs)
    throw new StartError(
      `the locale of the database ${database} has another small letter for I than i, and mail addresses are compared by it: make it with another one (template template0 locale 'C.UTF-8')`,
    );
}

/**
 * Checks that the database is not of a version before the first release's schema, and has no tables of another
 * application: a schema that is created among them cannot be taken
 * out again. An empty table of migrations remains from a run that ended before the first one; tables of extensions are
 * ignored.
 */
export async function assertOwnDatabase(source: DataSource, before: string[]): Promise<void> {
  if (before.includes(firstOfFormer))
    throw new StartError(
      `the schema is older than ${lastOfFormer}, and this version cannot bring it up to date: run npm run migrate of commit 7fbffec6 first, and then this one`,
    );
  const [others] = await source.query<{ database: string; tables: string | null }[]>(
    `select current_database() as database, string_agg(relname, ', ' order by relname) as tables
    from (select relname from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
      and (relname <> 'migrations' or $1) order by relname limit 5) found`,
    [before.length > 0],
  );
  if (others?.tables)
    throw new StartError(
      `the database ${others.database} has tables that are not Gatehouse's (${others.tables}): give it one of its own`,
    );
}

/**
 * Checks whether the locale has changed since the database was created, as by another version of the operating system;
 * PostgreSQL itself only says so in its log. Its indexes of texts keep the old order, so rows are not found, and an
 * address could be stored twice.
 * @returns the warning; null if nothing has changed
 */
export async function changedCollation(source: Pick<DataSource, 'query'>): Promise<string | null> {
  const [{ database, made, here } = {}] = await source.query<Partial<Record<'database' | 'made' | 'here', string>>[]>(
    `select datname as database, datcollversion as made, pg_database_collation_actual_version(oid) as here
     from pg_database where datname = current_database()`,
  );
  if (!made || !here || made === here) return null;
  return `the database ${database} was made with version ${made} of its collation, and PostgreSQL has ${here} now: its indexes have to be built anew (docs/runbooks.md, "The collation has changed")`;
}
