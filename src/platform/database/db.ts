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
   * One prepared statement in one round trip, for hot paths. It runs in the `system` scope, because it proves a credential
   * before the tenant is known; so its text names every filter itself.
   */
  statement<Row>(statement: Statement, values: unknown[]): Promise<Row[]>;
  /**
   * The same in a tenant's scope: it sees and changes of that tenant's rows what a transaction in the scope would. It is
   * committed when it answers; nothing has happened when it throws, unless the connection was lost. One that fails costs its
   * connection, so what callers can make fail has to be no error of the statement.
   */
  statementIn<Row>(scope: AccountScope, statement: Statement, values: unknown[]): Promise<Row[]>;
  /** How many transactions and statements wait for a connection. */
  waiting(): number;
  /** The pools by what they are for. */
  pools(): Record<string, pg.Pool>;
  /** @throws when PostgreSQL does not answer, or takes no writes: a standby, or a primary of before. */
  ping(): Promise<void>;
  close(): Promise<void>;
  readonly source: DataSource;
  readonly pool: pg.Pool;
}

export interface Statement {
  name: string;
  text: string;
}

/** Runs a statement in a scope: alone, as a transaction of its own, or in one that is open. */
export type RunsStatement = <Row>(statement: Statement, values: unknown[]) => Promise<Row[]>;

export const inOwnTransaction =
  (db: Pick<Db, 'statementIn'>, scope: AccountScope): RunsStatement =>
  (statement, values) =>
    db.statementIn(scope, statement, values);

export const inTransaction =
  (tx: EntityManager): RunsStatement =>
  async <Row>({ text }: Statement, values: unknown[]) => {
    const answer = await tx.query<Row[] | [Row[], number]>(text, values);
    // TypeORM answers what was updated or deleted together with how many rows it was.
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
