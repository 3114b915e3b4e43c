import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Db } from '../../src/platform/database/db.js';
import { type DbOptions, openDb } from '../../src/platform/database/open-db.js';
import { patience } from './patience.js';

export interface TestDatabase {
  /** Connects as the service's role, to which row-level security applies. */
  url: string;
  ownerUrl: string;
  db: Db;
  close(): Promise<void>;
}

const { GATEHOUSE_TEST_SERVER: server = '', GATEHOUSE_TEST_TEMPLATE: template = '' } = process.env;

/** Creates a migrated, empty database: a copy of the template that the global set-up made, in milliseconds. */
export async function newDatabase({ poolSize = 5 }: { poolSize?: number } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asOwner((client) => client.query(`create database ${name} template ${template} strategy file_copy`));
  const ownerUrl = urlOf(server, name);
  const url = urlOf(serviceUrl(server), name);
  const db = await openTestDb(url, poolSize);
  return {
    url,
    ownerUrl,
    db,
    async close() {
      await db.close();
      await expectExactCounts(ownerUrl);
      await owners.get(ownerUrl)?.end();
      owners.delete(ownerUrl);
      await asOwner((client) => client.query(`drop database if exists ${name} with (force)`));
    },
  };
}

/** Expects the counters that the database maintains to equal its rows, whatever a suite did (docs/decisions/0085). */
export async function expectExactCounts(ownerUrl: string): Promise<void> {
  const [row] = await rowsAsOwner<{ wrong: string }>(ownerUrl, 'select gatehouse_recount_rows() as wrong');
  if (row?.wrong !== '0') throw new Error(`${row?.wrong} totals of row_counts are not what there is`);
}

/** Opens another pool to such a database. On a busy machine, getting a connection takes as long as it takes. */
export const openTestDb = (
  url: string,
  poolSize: number,
  bounds: Pick<DbOptions, 'answerWithinMs' | 'lockWithinMs' | 'idleInTransactionWithinMs'> = {},
): Promise<Db> =>
  openDb({ url, poolSize, applicationName: 'test', onError: () => {}, connectWithinMs: patience, ...bounds });

const owners = new Map<string, pg.Pool>();

/**
 * Returns the rows of one statement as the owner, to whom row-level security does not apply: to look at what a test
 * did. The connections are kept for the next statements.
 * @param statement one with a name is planned once
 */
export async function rowsAsOwner<Row = Record<string, unknown>>(
  url: string,
  statement: string | { name: string; text: string },
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const pool = owners.get(url) ?? ownersOf(url);
  const config = typeof statement === 'string' ? { text: statement } : statement;
  return (await pool.query({ ...config, values: [...values] })).rows as Row[];
}

function ownersOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4, idleTimeoutMillis: 2_000, allowExitOnIdle: true });
  pool.on('error', () => undefined); // tests stop servers and drop databases
  owners.set(url, pool);
  return pool;
}

/** Runs statements as the owner in their own session. */
export async function asOwner<T>(work: (client: pg.Client) => Promise<T>, url = server): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export const serviceUrl = (ownerUrl: string): string => {
  const url = new URL(ownerUrl);
  url.username = 'gatehouse_service';
  url.password = 'service';
  return url.href;
};

const urlOf = (base: string, database: string) => {
  const url = new URL(base);
  url.pathname = `/${database}`;
  return url.href;
};
