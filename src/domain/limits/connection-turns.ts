import { AsyncLocalStorage } from 'node:async_hooks';
import { accountAtWork } from '../../platform/context.js';
import type { Db, Scope } from '../../platform/database/db.js';
import { connectionsRefused } from '../../platform/metrics/metrics.js';
import type { ConnectionRefusal } from '../../platform/outages.js';
import { DomainError } from '../errors.js';
import { createFairQueue } from './fair-queue.js';

/**
 * An Account may take another connection while it has fewer than twice as many as are free: alone it gets seven of ten,
 * a second one then gets two, and whoever has none gets one as long as one is free.
 */
const shareOf = (free: number) => 2 * free;
/**
 * How many requests of one Account may wait, per connection of the pool. They delay nobody else, so a burst of hundreds of
 * requests is served; this only bounds what a process remembers of them.
 */
const maxRequestsQueuedForEach = 100;
/** The part of the connections for single statements that work of Accounts may use. */
const partOfStatements = 0.8;

/** An object, and not only a mark: what a transaction has begun and does not wait for can outlive it. */
const transactionAround = new AsyncLocalStorage<{ isOpen: boolean }>();
const isInside = () => transactionAround.getStore()?.isOpen === true;

/** Work that belongs to no Account, such as an administrator's sign-in, has a share like an Account's. */
const nobody = 'system';

/** All questions of a batch fail by it, as by an outage: sent one by one, each would enter the full queue again. */
class ConnectionRefused extends DomainError implements ConnectionRefusal {
  readonly isConnectionRefused = true;
  constructor() {
    super('service.unavailable', { retryAfter: 1 });
  }
}

/**
 * Gives Accounts turns at a process's connections: while much of one Account waits in PostgreSQL, for a lock or for an
 * answer that takes long, it holds part of the connections, and others are served by the rest (docs/decisions/0114).
 * Statements for no Account take no turn, and always have some connections: they verify credentials, or are those of
 * several requests together, and wait for no lock. Those that a transaction has sent beside its own take none either:
 * its locks are what the others of its Account may be waiting for.
 * @param atWork returns the Account for which the running work is done, if that is known
 * @param maxQueuedForEach how much work of one Account may wait, per connection of the pool
 * @throws DomainError service.unavailable if too much of the same Account waits already, or its turn does not come
 *   within the time that a connection may take
 */
export function connectionsInTurn(
  db: Db,
  atWork: () => string | undefined = accountAtWork,
  maxQueuedForEach = maxRequestsQueuedForEach,
): Db {
  const { max, connectionTimeoutMillis } = db.pool.options;
  const queueFor = (connections: number) =>
    createFairQueue(connections, {
      maxRunningOfEach: shareOf,
      maxQueuedOfEach: maxQueuedForEach * max,
      ...(connectionTimeoutMillis && { withinMs: connectionTimeoutMillis }),
      onRefused: () => connectionsRefused.inc(),
      refusal: () => new ConnectionRefused(),
    });
  const transactions = queueFor(max);
  const statements = queueFor(Math.max(1, Math.floor(partOfStatements * max)));
  const whose = (scope: Scope) => (scope === 'system' ? (atWork() ?? nobody) : scope.accountId);
  return {
    ...db,
    transaction: (scope, work) => {
      const inside: typeof work = async (tx) => {
        const around = { isOpen: true };
        try {
          return await transactionAround.run(around, () => work(tx));
        } finally {
          around.isOpen = false;
        }
      };
      return transactions(() => db.transaction(scope, inside), whose(scope));
    },
    statement: (statement, values, accountId = isInside() ? undefined : atWork()) =>
      accountId === undefined
        ? db.statement(statement, values)
        : statements(() => db.statement(statement, values), accountId),
    statementIn: (scope, statement, values) =>
      isInside()
        ? db.statementIn(scope, statement, values)
        : statements(() => db.statementIn(scope, statement, values), scope.accountId),
    waiting(maxOfEach) {
      const waiting = db.waiting();
      return {
        ...waiting,
        statements: waiting.statements + statements.load(maxOfEach).waiting,
        transactions: waiting.transactions + transactions.load(maxOfEach).waiting,
      };
    },
  };
}
