import type pg from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import type { AccountScope } from '../scope.js';

/**
 * Whose rows a transaction may see. `system` is for what belongs to no tenant yet (a link, a cookie, the relay);
 * everything else names its Account, and what lives in an Environment names that too.
 */
export type Scope = 'system' | AccountScope;

export interface Db {
  /** Runs `work` in one transaction with row-level security set to `scope`; rolls back when it throws. */
  transaction<T>(scope: Scope, work: (tx: EntityManager) => Promise<T>): Promise<T>;
  /**
   * Runs one prepared statement in one round trip, for hot paths. It runs in the `system` scope, since it verifies a
   * credential before the tenant is known; so its text names every filter itself.
   */
  statement<Row>(statement: Statement, values: unknown[]): Promise<Row[]>;
  /**
   * The same in a tenant's scope: of that tenant's rows it sees and changes what a transaction would. It is committed
   * when it answers; if it throws, nothing has happened, unless the connection was lost. A statement that fails costs
   * its connection, so what callers can cause must not be an error of the statement.
   */
  statementIn<Row>(scope: AccountScope, statement: Statement, values: unknown[]): Promise<Row[]>;
  /** How many transactions and statements are waiting for a connection. */
  waiting(): number;
  /** The pools, by their purpose. */
  pools(): Record<string, pg.Pool>;
  /** @throws if PostgreSQL does not answer, or is read-only, as a standby or a former primary is */
  ping(): Promise<void>;
  close(): Promise<void>;
  readonly source: DataSource;
  readonly pool: pg.Pool;
}

export interface Statement {
  name: string;
  text: string;
}

/** Runs a statement in a scope, in a transaction of its own or in one that is open. */
export type RunsStatement = <Row>(statement: Statement, values: unknown[]) => Promise<Row[]>;

export const inOwnTransaction =
  (db: Pick<Db, 'statementIn'>, scope: AccountScope): RunsStatement =>
  (statement, values) =>
    db.statementIn(scope, statement, values);

export const inTransaction =
  (tx: EntityManager): RunsStatement =>
  async <Row>({ text }: Statement, values: unknown[]) => {
    const answer = await tx.query<Row[] | [Row[], number]>(text, values);
    // For updates and deletes, TypeORM answers the rows together with their number.
    return Array.isArray(answer[0]) ? answer[0] : (answer as Row[]);
  };

/** The where-part that every query of a tenant's rows carries; row-level security is the second lock. */
export const within = <S extends AccountScope>({
  accountId,
  environmentId,
}: S): Pick<S, 'accountId' | 'environmentId'> =>
  (environmentId === undefined ? { accountId } : { accountId, environmentId }) as Pick<
    S,
    'accountId' | 'environmentId'
  >;
