import { runChild } from './children.js';

/** The databases of a Temporal server, on one PostgreSQL server. */
export interface TemporalDatabases {
  /** The URL of any database of that server, for a role that may create databases. */
  postgresUrl: string;
  /** The database of the workflows, by default `temporal`. Their list is in that name followed by `_visibility`. */
  name?: string;
}

export const databaseNames = ({ name = 'temporal' }: TemporalDatabases) => ({
  main: name,
  visibility: `${name}_visibility`,
});

/** Creates missing databases, and upgrades their schema to the version of the tool. Safe to repeat. */
export async function prepareTemporalDatabases(databases: TemporalDatabases, sqlTool: string): Promise<void> {
  const { main, visibility } = databaseNames(databases);
  for (const [database, schema] of [
    [main, 'temporal'],
    [visibility, 'visibility'],
  ] as const) {
    const env = connectionOf(databases.postgresUrl, database);
    const run = (...args: string[]) => runChild({ command: sqlTool, args, withoutEnv: /^(SQL_|NODE_OPTIONS$)/, env });
    await run('create-database', '--defaultdb', 'postgres');
    await run('setup-schema', '--version', '0.0');
    await run('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
}

/** Returns the tool's environment variables: a command line would show the password to everybody on the machine. */
function connectionOf(postgresUrl: string, database: string) {
  const { hostname, port, username, password } = new URL(postgresUrl);
  return {
    SQL_PLUGIN: 'postgres12',
    SQL_HOST: hostname,
    SQL_PORT: port || '5432',
    SQL_USER: decodeURIComponent(username),
    SQL_PASSWORD: decodeURIComponent(password),
    SQL_DATABASE: database,
  };
}
