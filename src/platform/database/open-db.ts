import pg from 'pg';
import { DataSource, QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { entities } from '../../../entities/index.js';
import { seconds } from '../clock.js';
import { noticingLoss } from '../outages.js';
import { tracedDb } from '../tracing/traced-db.js';
import { untilRequestAborted } from './aborting.js';
import { type Db, probeWithinMs } from './db.js';
import { freeNotifications } from './full-queue.js';
import { SnakeCaseNaming } from './naming.js';
import { createPreparedTexts } from './prepared-texts.js';
import { valueTypes } from './read-time.js';
import { renewConnectionsAfterMs } from './renewal.js';
import { runStatement } from './run-statement.js';
import { ScopedQuery } from './scoped-query.js';
import { ScopedRunner } from './scoped-runner.js';

export interface DbOptions {
  url: string;
  poolSize: number;
  applicationName: string;
  /** Called with errors on idle connections, which are otherwise replaced silently. */
  onError: (error: Error) => void;
  /** Milliseconds to wait for a connection: a new one, or a free one of the pool. Default: five seconds. */
  connectWithinMs?: number;
  /**
   * Milliseconds to wait for the answer to a statement; then the connection is thrown away. PostgreSQL itself ends the
   * statement somewhat earlier, if it can. By default there is no limit, since batches may take long.
   */
  answerWithinMs?: number;
  /**
   * Milliseconds that a statement waits for a lock before it fails (`lock_not_available`). By default only
   * `answerWithinMs` limits that.
   */
  lockWithinMs?: number;
  /** Milliseconds after which PostgreSQL ends an idle transaction; by default twice `answerWithinMs`. */
  idleInTransactionWithinMs?: number;
  /** Seconds after which a connection is replaced by a new one, once it is free. */
  renewAfterSeconds?: number;
}

/** Opens the pools of a process. @throws if PostgreSQL does not answer the first statement */
export async function openDb(options: DbOptions): Promise<Db> {
  const db = createDb(options);
  await db.source.initialize();
  return tracedDb(db);
}

/** Creates the database without a connection: for a service that is only composed and inspected. */
export function createDb({ url, connectWithinMs = seconds(5), ...options }: DbOptions): Db {
  const { poolSize, applicationName, onError } = options;
  const source = createDataSource(url, { ...options, connectWithinMs });
  const texts = createPreparedTexts();
  // The scope is a property of these connections (docs/decisions/0003), so setting it costs no round trip. Their
  // statements are written so that one plan suits all values: planning again would cost more than running them (0025).
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    application_name: `${applicationName} statements`,
    connectionTimeoutMillis: connectWithinMs,
    ...connections(options, { 'gatehouse.scope': 'system', plan_cache_mode: 'force_generic_plan' }),
  });
  pool.on('error', onError);
  const pools = (): Record<string, pg.Pool> => {
    const { master } = source.driver as PostgresDriver & { master?: pg.Pool };
    return { statements: pool, ...(master && { transactions: master }) };
  };
  return {
    source,
    pool,
    async transaction(scope, work) {
      const runner = new ScopedRunner(source, texts, pool);
      try {
        const result = await untilRequestAborted(
          () => runner.stop(),
          async () => {
            await runner.begin(scope);
            return work(runner.manager);
          },
        );
        await noticingLoss(() => runner.commitTransaction());
        return result;
      } catch (error) {
        void freeNotifications(pool, error);
        // TypeORM releases a connection that is lost between two statements, and then blames the next use of the
        // runner.
        if (alreadyReleased.some((kind) => error instanceof kind)) throw new ConnectionLost(error);
        // A lost connection cannot roll back; PostgreSQL has done so already, and the first error says more.
        if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
        throw (await runner.failureToBegin()) ?? error;
      } finally {
        await runner.release();
      }
    },
    statement({ name, text, withinMs }, values) {
      const query = { name, text, values, query_timeout: withinMs };
      return runStatement<never>(pool, (client) => client.query(query));
    },
    statementIn(scope, statement, values) {
      const run = (client: pg.PoolClient) => new ScopedQuery(statement, values, scope).answerOn<never>(client);
      return runStatement<never>(pool, run, () => false);
    },
    waiting() {
      const { statements, transactions } = pools();
      return { statements: statements?.waitingCount ?? 0, transactions: transactions?.waitingCount ?? 0 };
    },
    pools,
    async ping() {
      const { rows } = await pool.query<{ readOnly: string }>(ping);
      if (rows[0]?.readOnly !== 'off') throw new Error('takes no writes');
    },
    async close() {
      await Promise.all([source.isInitialized && source.destroy(), pool.end()]);
    },
  };
}

/** Creates only the data source, for migrations (as the owner) and for checks of the schema. */
export function createDataSource(
  url: string,
  {
    poolSize = 2,
    applicationName = 'gatehouse',
    onError = () => {},
    connectWithinMs = seconds(5),
    ...bounds
  }: Partial<DbOptions> = {},
) {
  return new DataSource({
    type: 'postgres',
    url,
    entities,
    namingStrategy: new SnakeCaseNaming(),
    synchronize: false,
    logging: false,
    installExtensions: false,
    applicationName,
    poolSize,
    poolErrorHandler: onError,
    connectTimeoutMS: connectWithinMs,
    extra: connections(bounds),
  });
}

const ping: pg.QueryConfig & { query_timeout: number } = {
  text: `select current_setting('transaction_read_only') as "readOnly"`,
  query_timeout: probeWithinMs,
};

/**
 * Settings that all connections share. When the other end of a connection has vanished, probes notice that if nothing
 * was sent, and the timeout if something was. A PostgreSQL that was halted must not go on with statements that their
 * callers have given up: it ends a statement, and a transaction that goes silent, by its own clock. Connections are
 * renewed, since one that is always busy would never look for the primary again, and after a switch-over would keep
 * writing to the old one.
 */
const connections = (
  {
    answerWithinMs,
    lockWithinMs,
    idleInTransactionWithinMs = answerWithinMs && 2 * answerWithinMs,
    renewAfterSeconds = renewConnectionsAfterMs / 1_000,
  }: Omit<Partial<DbOptions>, 'url'>,
  settings: Record<string, string> = {},
) => {
  const all = Object.entries({
    ...settings,
    ...ours,
    // Without our own limit there must be none, whatever the server, the database or the role sets: it would end a long
    // migration.
    statement_timeout: String(Math.ceil(0.8 * (answerWithinMs ?? 0))),
    lock_timeout: String(lockWithinMs ?? 0),
    idle_in_transaction_session_timeout: String(idleInTransactionWithinMs ?? 0),
  });
  const text = `select ${all.map((_, i) => `set_config($${2 * i + 1}, $${2 * i + 2}, false)`).join()}`;
  return {
    keepAlive: true,
    keepAliveInitialDelayMillis: seconds(10),
    maxLifetimeSeconds: renewAfterSeconds,
    types: valueTypes,
    pipeline: true, // statements are sent without waiting for earlier answers
    ...(answerWithinMs !== undefined && { query_timeout: answerWithinMs }),
    // Set by a statement, since PgBouncer does not accept these in the packet that begins a connection: it refuses, or
    // forgets them.
    onConnect: async (client: pg.ClientBase) => void (await client.query(text, all.flat())),
  };
};

/** Settings on which this code relies, whatever the defaults of a server, a database or a role. */
const ours = {
  timezone: 'UTC', // times in JSON are read as written here; in other zones the end of the year 9999 falls into 10000
  datestyle: 'ISO, MDY', // in any other style the driver cannot read times, and nothing would ever expire
  default_transaction_isolation: 'read committed', // rows are locked, and then read in their current state
  transaction_timeout: '0', // statements have limits; this one would end a long batch or migration at every try
  idle_session_timeout: '0', // the pool itself ends idle connections
  array_nulls: 'on', // if off, a NULL in a list is read as a text, and nobody can sign in
  extra_float_digits: '1', // with fewer digits, the time with which processes compare their clocks is rounded
  row_security: 'on', // if off, PostgreSQL refuses every statement that a policy would filter
};

const alreadyReleased = [QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError];
class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('Connection terminated between two statements', { cause });
  }
}
