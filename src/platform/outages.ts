import { currentContext } from './context.js';
import { driverErrorOf, endsConnection } from './database/postgres-errors.js';
import { isTlsFault } from './tls-faults.js';

interface Told {
  code?: string;
  syscall?: string;
  message?: string;
  severity?: string;
  routine?: string;
}
const toldBy = (error: unknown): Told => (driverErrorOf(error) ?? error ?? {}) as Told;

/**
 * Whether `error` says that PostgreSQL cannot serve for now: refused, lost, silent, starting up or shutting down, without room on its
 * disk, in memory or for a connection (class 53), or a standby, which takes no writes (25006). One that lets us in no more is as much
 * away (class 28, and its certificate): a password or an authority that was replaced is the operator's, not the caller's. So is a database that
 * is renamed or closed to connections: whatever ends a connection counts.
 */
export function isOutage(error: unknown): boolean {
  const told = toldBy(error);
  const { code = '', message = '', syscall } = told;
  return (
    endsConnection(told) ||
    codes.test(code) ||
    isTlsFault(code) ||
    messages.test(message) ||
    (/^(connect|open)$/.test(syscall ?? '') && notThere.test(code))
  );
}

/** Of a socket in the file system, which PostgreSQL has taken away, or a certificate, whose file is being replaced: it is read for each connection. */
const notThere = /^(ENOENT|EACCES|ENOTDIR)$/;
/** 57014 is a statement that took longer than it may, 25P03 a transaction that nobody went on with and 25P04 one that took longer than it may, 58030 a disk that fails; EMFILE is our own end, without a descriptor for a connection. */
const codes =
  /^(08...|25P0[34]|28000|28P01|57014|57P0[1-5]|53...|25006|58030|ECONN(REFUSED|RESET|ABORTED)|E(HOST|NET)(UNREACH|DOWN)|ENETRESET|EADDRNOTAVAIL|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EMFILE|ENFILE)$/;
const messages =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|connect timeout|not queryable|Client was closed|does not support SSL connections|establishing an SSL connection/i;

/** Whether `error` says that PostgreSQL was asked, and did not answer in time. */
export const isUnanswered = (error: unknown): boolean => /^Query read timeout$/.test(toldBy(error).message ?? '');

/** Whether `error` says that something was sent to PostgreSQL, and that nobody will say what became of it. */
function isAnswerLost(error: unknown): boolean {
  const { code = '', message = '', syscall } = toldBy(error);
  return lostCodes.test(code) || (unreachable.test(code) && syscall !== 'connect') || lost.test(message);
}

/** Class 08 is a pooler's, whose own connection broke: a PgBouncer answers a COMMIT with 08P01 then. */
const lostCodes = /^(08...|57P02|ECONN(RESET|ABORTED)|EPIPE|EPROTO|ERR_SSL_.*)$/;
/** Of a connection that there was; at its beginning nothing has been sent. */
const unreachable = /^(ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENETRESET)$/;
const lost = /Query read timeout|Connection terminated(?! due to connection timeout)/;

/**
 * Does what takes effect by being sent: a statement of its own, a commit. Where the answer is lost, the running request knows
 * that it may have happened all the same.
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
