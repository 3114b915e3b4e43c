import { currentContext } from './context.js';
import { driverErrorOf, endsConnection, isNotificationQueueFull, isOutdatedPlan } from './database/postgres-errors.js';
import { isTlsFault } from './tls-faults.js';

/** Our own refusal, before PostgreSQL is asked: no connection is free. The domain throws it (`connectionsInTurn`). */
export interface ConnectionRefusal extends Error {
  readonly isConnectionRefused: true;
}
const isConnectionRefused = (error: unknown): boolean =>
  (error as Partial<ConnectionRefusal> | null | undefined)?.isConnectionRefused === true;

interface DriverError {
  code?: string;
  syscall?: string;
  message?: string;
  severity?: string;
  routine?: string;
}
const driverErrorIn = (error: unknown): DriverError => (driverErrorOf(error) ?? error ?? {}) as DriverError;

/**
 * Whether `error` says that PostgreSQL cannot serve for now: the connection was refused, lost or silent; the server is
 * starting up or shutting down, out of disk, memory or connections (class 53), or a standby without writes (25006). A
 * server that rejects our credentials (class 28) or whose certificate we reject is unavailable too: a replaced password
 * or authority is the operator's matter, not the caller's. So is a database that is renamed or closed to connections:
 * every error that ends a connection is an outage. One whose prepared statements are outdated is replaced, and works.
 * A full queue of notifications passes, too, and so does our own refusal of a connection.
 */
export function isOutage(error: unknown): boolean {
  const driverError = driverErrorIn(error);
  const { code = '', message = '', syscall } = driverError;
  return (
    isConnectionRefused(error) ||
    endsConnection(driverError) ||
    isOutdatedPlan(driverError) ||
    isNotificationQueueFull(driverError) ||
    codes.test(code) ||
    isTlsFault(code) ||
    messages.test(message) ||
    (/^(connect|open)$/.test(syscall ?? '') && notThere.test(code))
  );
}

/**
 * Codes for a missing file: a Unix socket that PostgreSQL has removed, or a certificate that is being replaced (its
 * file is read for each connection).
 */
const notThere = /^(ENOENT|EACCES|ENOTDIR)$/;
/**
 * 57014: a statement exceeded its time limit; 25P03: a transaction was idle for too long; 25P04: a transaction exceeded
 * its time limit; 58030: a disk fails. EMFILE is our own side: no file descriptor is left for a connection.
 */
const codes =
  /^(08...|25P0[34]|28000|28P01|57014|57P0[1-5]|53...|25006|58030|ECONN(REFUSED|RESET|ABORTED)|E(HOST|NET)(UNREACH|DOWN)|ENETRESET|EADDRNOTAVAIL|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EMFILE|ENFILE)$/;
const messages =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|connect timeout|not queryable|Client was closed|does not support SSL connections|establishing an SSL connection/i;

/** Whether `error` says that PostgreSQL received a statement and did not answer in time. */
export const isUnanswered = (error: unknown): boolean =>
  /^Query read timeout$/.test(driverErrorIn(error).message ?? '');

/** Whether `error` says that something was sent to PostgreSQL and its outcome stays unknown. */
function isAnswerLost(error: unknown): boolean {
  const { code = '', message = '', syscall } = driverErrorIn(error);
  return lostCodes.test(code) || (unreachable.test(code) && syscall !== 'connect') || lost.test(message);
}

/** Class 08 comes from a pooler whose own connection broke: PgBouncer then answers a COMMIT with 08P01. */
const lostCodes = /^(08...|57P02|ECONN(RESET|ABORTED)|EPIPE|EPROTO|ERR_SSL_.*)$/;
/** Codes that count only for an established connection: while connecting, nothing has been sent. */
const unreachable = /^(ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENETRESET)$/;
const lost = /Query read timeout|Connection terminated(?! due to connection timeout)/;

/**
 * Runs work that may take effect once it is sent: a single statement, or a commit. If the answer is lost, the running
 * request's `outcome` records that it may have taken effect nevertheless.
 */
export async function noticingLoss<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { outcome } = currentContext();
    if (outcome && isAnswerLost(error)) outcome.isUnknown = true;
    throw error;
  }
}
