import type pg from 'pg';
import { currentContext, runInContext } from '../context.js';

/** Thrown when nobody waits for an answer any more and the read for it was stopped. */
export class GivenUp extends Error {
  constructor(options?: ErrorOptions) {
    super('The request was given up', options);
  }
}

/**
 * Runs `work` so that PostgreSQL stops it once the running request is given up. It has to be a read: changes in several
 * transactions would be left half done.
 * @throws GivenUp when the request is given up, whatever came of the work
 */
export async function stoppable<T>(work: () => Promise<T>): Promise<T> {
  const context = currentContext();
  const { givenUp } = context;
  if (!givenUp) return work();
  if (givenUp.aborted) throw new GivenUp();
  try {
    return await runInContext({ ...context, stoppedBy: givenUp.signal }, work);
  } catch (error) {
    throw givenUp.aborted ? new GivenUp({ cause: error }) : error;
  }
}

/**
 * To be called between two transactions of work that can go on later.
 * @throws GivenUp if nobody waits any more: whoever asks again would have it done twice at once
 */
export function assertAwaited(): void {
  if (currentContext().givenUp?.aborted) throw new GivenUp();
}

/** Runs work that several requests wait for: none of them stops it for the others. */
export function unstoppable<T>(work: () => T): T {
  const { stoppedBy, ...context } = currentContext();
  return stoppedBy ? runInContext(context, work) : work();
}

/**
 * Does the work of one connection. When the request is given up, PostgreSQL is told to `stop`; whatever comes next on
 * the connection comes after that.
 * @throws GivenUp instead of an answer that nobody waits for
 */
export function untilGivenUp<T>(stop: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  const { stoppedBy } = currentContext();
  return stoppedBy ? untilAborted(stoppedBy, stop, work) : work();
}

async function untilAborted<T>(stoppedBy: AbortSignal, stop: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  const goOn = () => {
    if (stoppedBy.aborted) throw new GivenUp();
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
 * Makes PostgreSQL stop what it does on a connection, by way of another one, since this one is busy. When this answers,
 * the signal has been sent; one that comes while PostgreSQL is idle has no effect (`DoingCommandRead` in its
 * postgres.c).
 */
export async function stopStatement(pool: pg.Pool, client: pg.ClientBase): Promise<void> {
  const { processID } = client as unknown as { processID: number };
  await pool.query('select pg_cancel_backend($1)', [processID]);
}
