import pg from 'pg';
import {
  type DataSource,
  type EntityManager,
  type ObjectLiteral,
  QueryFailedError,
  QueryResult,
  QueryRunnerAlreadyReleasedError,
} from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import { endAbandoned } from './abandoned.js';
import { RequestAborted, stopStatement } from './aborting.js';
import type { Scope } from './db.js';
import { hasCondition } from './postgres-errors.js';
import type { PreparedTexts } from './prepared-texts.js';
import { isRefusal } from './run-statement.js';

/**
 * One transaction in a scope. It begins together with its first statement, without a separate round trip, and lets
 * PostgreSQL keep the plans of recurring statements.
 */
export class ScopedRunner extends PostgresQueryRunner {
  /** Settles when PostgreSQL has begun the transaction; if it could not, every later statement fails. */
  private begun: Promise<unknown> = Promise.resolve();
  /** COMMIT or ROLLBACK has been sent: a later statement would be in no transaction, or in another one. */
  private isEnding = false;
  /** The first failure. PostgreSQL refuses all later statements without saying why. */
  private failure: QueryFailedError | undefined;
  /** Why the connection must not be used again: an answer may still be on its way. */
  private loss: Error | undefined;
  private client: pg.PoolClient | undefined;
  private isStopped = false;
  /** Work to do once the transaction is committed. */
  readonly afterCommit: (() => void)[] = [];

  constructor(
    source: DataSource,
    private readonly texts: PreparedTexts,
    /** The pool whose connections cancel this one's statements. */
    private readonly others: pg.Pool,
  ) {
    super(source.driver as PostgresDriver, 'master');
    this.manager = source.createEntityManager(this);
  }

  /** @throws if there is no connection; `failureToBegin` reports a transaction that could not begin */
  async begin(scope: Scope): Promise<void> {
    const connection: pg.PoolClient = await this.connect();
    this.client = connection;
    this.begun = connection.query(beginIn(scope));
    this.begun.catch((error) => this.noteLoss(error)); // the first statement fails as well
    this.isTransactionActive = true;
    this.transactionDepth = 1;
  }

  /** Cancels the transaction's running statement; the transaction can then only be rolled back. */
  async stop(): Promise<void> {
    this.isStopped = true;
    if (!this.client || this.isReleased) return;
    await stopStatement(this.others, this.client).catch((error) => {
      this.loss ??= error; // the cancellation may still arrive, when another transaction uses the connection
    });
  }

  private noteLoss(error: unknown): void {
    if (!isRefusal(error)) this.loss ??= error as Error;
  }

  /** Discards a connection on which PostgreSQL did not answer. */
  override async release(): Promise<void> {
    if (this.loss && !this.isReleased) {
      const lost: pg.PoolClient = await this.connect();
      void lost.end(); // the pool drops connections that are ending
      void endAbandoned(this.others, lost, this.loss);
    }
    return super.release();
  }

  /** Returns the error that kept the transaction from beginning, which says more than later ones; null if it began. */
  failureToBegin(): Promise<unknown> {
    return this.begun.then(
      () => null,
      (error: unknown) => error,
    );
  }

  /**
   * @throws the error that kept the transaction from beginning, since its statements ran without one;
   *   TransactionRolledBack if a statement had failed and its error was ignored
   */
  override async commitTransaction(): Promise<void> {
    const failure = await this.failureToBegin();
    if (failure) throw failure;
    await super.commitTransaction();
    if (!this.isTransactionActive) for (const work of this.afterCommit) work();
  }

  override async query(
    text: string,
    values?: unknown[] | ObjectLiteral,
    structured = false,
  ): ReturnType<PostgresQueryRunner['query']> {
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
    const connection: pg.PoolClient = await this.connect();
    if (this.isReleased || this.isEnding) throw new QueryRunnerAlreadyReleasedError();
    this.isEnding = text === 'COMMIT' || text === 'ROLLBACK'; // the form in which TypeORM writes them
    if (this.isStopped && !this.isEnding) throw new RequestAborted();
    const given = (values as unknown[] | undefined) ?? [];
    try {
      const name = given.length > 0 ? this.texts.nameOf(text, given) : undefined;
      const { rows, rowCount, command } = await connection.query({ name, text, values: given });
      // After a failed statement PostgreSQL answers COMMIT like this, without an error.
      if (text === 'COMMIT' && command === 'ROLLBACK') throw new TransactionRolledBack();
      // The result has the form of TypeORM's own runner.
      const raw = command === 'UPDATE' || command === 'DELETE' ? [rows, rowCount] : rows;
      if (!structured) return raw;
      return Object.assign(new QueryResult(), { records: rows, affected: rowCount, raw });
    } catch (error) {
      if (!(error instanceof TransactionRolledBack)) this.noteLoss(error);
      if (this.failure && hasCondition(error, 'in_failed_sql_transaction')) throw this.failure;
      this.failure = new QueryFailedError(text, given, error as Error);
      throw this.failure;
    }
  }
}

/**
 * Runs the work once the transaction is committed, and not otherwise.
 * @param work must be instant and must not throw
 */
export function afterCommit({ queryRunner }: EntityManager, work: () => void): void {
  if (queryRunner instanceof ScopedRunner) queryRunner.afterCommit.push(work);
}

/** Runs the work, and rolls it back unless `keep` is set. @returns the result of the work */
export async function inSavepoint<T>(
  tx: EntityManager,
  { keep }: { keep: boolean },
  work: () => Promise<T>,
): Promise<T> {
  const later = tx.queryRunner instanceof ScopedRunner ? tx.queryRunner.afterCommit : [];
  const before = later.length;
  await tx.query('savepoint work');
  const done = await work();
  await tx.query(keep ? 'release savepoint work' : 'rollback to savepoint work');
  if (!keep) later.length = before;
  return done;
}

class TransactionRolledBack extends Error {
  constructor() {
    super('The transaction was rolled back, since a statement in it had failed');
  }
}

/** Returns one message: its values are literals, since several statements in one message cannot have parameters. */
function beginIn(scope: Scope): string {
  const [kind, accountId, environmentId]: [string, string, string] =
    scope === 'system' ? ['system', '', ''] : ['tenant', scope.accountId, scope.environmentId ?? ''];
  return `start transaction; set local gatehouse.scope = ${pg.escapeLiteral(kind)}; \
set local gatehouse.account_id = ${pg.escapeLiteral(accountId)}; \
set local gatehouse.environment_id = ${pg.escapeLiteral(environmentId)}`;
}
