import type pg from 'pg';
import { currentContext, runInContext } from '../context.js';

/** Thrown when the read for an answer was stopped, because nobody waits for the answer any more. */
export class RequestAborted extends Error {
  constructor(options?: ErrorOptions) {
    super('The request was aborted', options);
  }
}

/**
 * Runs `work` so that PostgreSQL stops it once the running request is aborted. The work must only read: changes in
 * several transactions would be left half done.
 * @throws RequestAborted when the request is aborted, whatever the work returned or threw
 */
export async function stoppable<T>(work: () => Promise<T>): Promise<T> {
  const context = currentContext();
  const { abortController } = context;
  if (!abortController) return work();
  if (abortController.aborted) throw new RequestAborted();
  try {
    return await runInContext({ ...context, stoppedBy: abortController.signal }, work);
  } catch (error) {
    throw abortController.aborted ? new RequestAborted({ cause: error }) : error;
  }
}

/**
 * Call this between two transactions of work that can go on later.
 * @throws RequestAborted if nobody waits any more: a caller that retries would have the work done twice at once
 */
export function assertAwaited(): void {
  if (currentContext().abortController?.aborted) throw new RequestAborted();
}

/** Runs work that several requests wait for, so that none of them can stop it for the others. */
export function unstoppable<T>(work: () => T): T {
  const { stoppedBy, ...context } = currentContext();
  return stoppedBy ? runInContext(context, work) : work();
}

/**
 * Runs the work of one connection. When the request is aborted, `stop` tells PostgreSQL to stop; the next use of the
 * connection comes after that.
 * @throws RequestAborted instead of an answer that nobody waits for
 */
export function untilRequestAborted<T>(stop: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  const { stoppedBy } = currentContext();
  return stoppedBy ? untilAborted(stoppedBy, stop, work) : work();
}

async function untilAborted<T>(stoppedBy: AbortSignal, stop: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  const goOn = () => {
    if (stoppedBy.aborted) throw new RequestAborted();
  };
  goOn();
  let stopping: Promise<void> | undefined;
  const onAbort = () => {
    stopping = stop();
  };
  stoppedBy.addEventListener('abort', onAbort, { once: true });
  try {
    const result = await work();
    goOn();
    return result;
  } finally {
    stoppedBy.removeEventListener('abort', onAbort);
    await stopping;
  }
}

/**
 * Cancels the running statement of a connection through another connection, since this one is busy. When this resolves,
 * the signal has been sent; a signal that arrives while PostgreSQL is idle has no effect (`DoingCommandRead` in its
 * postgres.c).
 */
export async function stopStatement(pool: pg.Pool, client: pg.ClientBase): Promise<void> {
  const { processID } = client as unknown as { processID: number };
  await pool.query('select pg_cancel_backend($1)', [processID]);
}
