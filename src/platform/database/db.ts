import type pg from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { seconds } from '../clock.js';
import type { AccountScope } from '../scope.js';

/**
 * Whose rows a transaction may see. `system` is for work that belongs to no tenant yet (a link, a cookie, the relay);
 * all other work names its Account, and its Environment if it is in one.
 */
export type Scope = 'system' | AccountScope;

/**
 * Milliseconds that a probe waits for an answer, and whatever is repeated as often: while PostgreSQL does not answer, it
 * must not occupy one more connection each time.
 */
export const probeWithinMs = seconds(4);

export interface Db {
  /** Runs `work` in one transaction with row-level security set to `scope`; rolls back when it throws. */
  transaction<T>(scope: Scope, work: (tx: EntityManager) => Promise<T>): Promise<T>;
  /**
   * Runs one prepared statement in one round trip, for hot paths. It runs in the `system` scope, since it verifies a
   * credential before the tenant is known; so its text must contain every filter itself.
   * @param accountId whose turn it takes (`connectionsInTurn`), if that is not the Account for which the running
   *   request works; for statements of several requests that lock rows, and so may wait
   */
  statement<Row>(statement: Statement, values: unknown[], accountId?: string): Promise<Row[]>;
  /**
   * Runs one prepared statement in a tenant's scope, where it sees and changes the same rows as a transaction would. It
   * is committed when this resolves; if this rejects, nothing has happened, unless the connection was lost. A statement
   * that fails costs its connection, so nothing that callers can cause may make the statement fail.
   */
  statementIn<Row>(scope: AccountScope, statement: Statement, values: unknown[]): Promise<Row[]>;
  /**
   * How many transactions and statements are waiting for a connection.
   * @param maxOfEach how many of one Account are counted at each pool, if Accounts take turns; by default all
   */
  waiting(maxOfEach?: number): Record<'statements' | 'transactions', number>;
  /** Returns the pools, by their purpose. */
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
  /** Milliseconds to wait for its answer, if that is less than those of the connection, which is thrown away then. */
  withinMs?: number;
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
    // For updates and deletes, TypeORM returns the rows together with their number.
    return Array.isArray(answer[0]) ? answer[0] : (answer as Row[]);
  };

/** The condition that every query of a tenant's rows must have; row-level security is the second barrier. */
export const within = <S extends AccountScope>({
  accountId,
  environmentId,
}: S): Pick<S, 'accountId' | 'environmentId'> =>
  (environmentId === undefined ? { accountId } : { accountId, environmentId }) as Pick<
    S,
    'accountId' | 'environmentId'
  >;
