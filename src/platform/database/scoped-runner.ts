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
import type { Scope } from './db.js';
import { GivenUp, stopStatement } from './giving-up.js';
import { hasCondition } from './postgres-errors.js';
import type { PreparedTexts } from './prepared-texts.js';
import { isRefusal } from './run-statement.js';

/**
 * One transaction in a scope. It begins with the first statement's round trip, not with one of its own, and has PostgreSQL
 * keep the plans of what comes again.
 */
export class ScopedRunner extends PostgresQueryRunner {
  /** Settles when PostgreSQL has begun the transaction; everything after it fails where it did not. */
  private begun: Promise<unknown> = Promise.resolve();
  /** Its last statement has been sent: what came after that would be in no transaction, or in somebody else's. */
  private isEnding = false;
  /** After it PostgreSQL refuses what was sent with it, and says no more of that than that it does. */
  private failure: QueryFailedError | undefined;
  /** Why its connection is not to be used by others: an answer may still be under way on it. */
  private loss: Error | undefined;
  private client: pg.PoolClient | undefined;
  private isStopped = false;
  /** What to do once all of it is committed. */
  readonly afterCommit: (() => void)[] = [];

  constructor(
    source: DataSource,
    private readonly texts: PreparedTexts,
    /** By which PostgreSQL is told about this one's. */
    private readonly others: pg.Pool,
  ) {
    super(source.driver as PostgresDriver, 'master');
    this.manager = source.createEntityManager(this);
  }

  /** @throws when no connection is to be had; that the beginning failed is told by `failureToBegin` */
  async begin(scope: Scope): Promise<void> {
    const connection: pg.PoolClient = await this.connect();
    this.client = connection;
    this.begun = connection.query(beginIn(scope));
    this.begun.catch((error) => this.noteLoss(error)); // the first statement fails too
    this.isTransactionActive = true;
    this.transactionDepth = 1;
  }

  /** Has PostgreSQL stop what it does for the transaction, which can only be rolled back then. */
  async stop(): Promise<void> {
    this.isStopped = true;
    if (!this.client || this.isReleased) return;
    await stopStatement(this.others, this.client).catch((error) => {
      this.loss ??= error; // it may be stopped yet, whoever has it then
    });
  }

  private noteLoss(error: unknown): void {
    if (!isRefusal(error)) this.loss ??= error as Error;
  }

  /** A connection on which PostgreSQL did not answer is thrown away. */
  override async release(): Promise<void> {
    if (this.loss && !this.isReleased) {
      const lost: pg.PoolClient = await this.connect();
      void lost.end(); // the pool keeps none that is ending
      void endAbandoned(this.others, lost, this.loss);
    }
    return super.release();
  }

  /** What kept the transaction from beginning, which says more than what failed because of it. */
  failureToBegin(): Promise<unknown> {
    return this.begun.then(
      () => null,
      (error: unknown) => error,
    );
  }

  /**
   * @throws what kept the transaction from beginning, since its statements ran without; TransactionRolledBack where one of them
   *   had failed and its error was passed over
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
    this.isEnding = text === 'COMMIT' || text === 'ROLLBACK'; // as TypeORM writes them
    if (this.isStopped && !this.isEnding) throw new GivenUp();
    const given = (values as unknown[] | undefined) ?? [];
    try {
      const name = given.length > 0 ? this.texts.nameOf(text, given) : undefined;
      const { rows, rowCount, command } = await connection.query({ name, text, values: given });
      // PostgreSQL's answer to the COMMIT of a transaction in which something had failed; no error to it.
      if (text === 'COMMIT' && command === 'ROLLBACK') throw new TransactionRolledBack();
      // As TypeORM's own runner answers.
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

/** Does it when the transaction is committed, and never when it is not. @param work is over at once, and throws nothing */
export function afterCommit({ queryRunner }: EntityManager, work: () => void): void {
  if (queryRunner instanceof ScopedRunner) queryRunner.afterCommit.push(work);
}

/** Does the work, and takes all of it back where it is not to be kept. @returns what the work does */
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

/** One message: the values are literals, since several statements in one cannot have parameters. */
function beginIn(scope: Scope): string {
  const [kind, accountId, environmentId]: [string, string, string] =
    scope === 'system' ? ['system', '', ''] : ['tenant', scope.accountId, scope.environmentId ?? ''];
  return `start transaction; set local gatehouse.scope = ${pg.escapeLiteral(kind)}; \
set local gatehouse.account_id = ${pg.escapeLiteral(accountId)}; \
set local gatehouse.environment_id = ${pg.escapeLiteral(environmentId)}`;
}
