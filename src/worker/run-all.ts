import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';

/** Workers did not end in time. A failed one may never end: the SDK waits for polls that nobody answers any more. */
export class WorkersHang extends Error {
  override name = 'WorkersHang';
}

/** Longer than an orderly shutdown of a worker takes (`shutdownForceTime`). */
const endWithinMs = 20_000;
const lookEveryMs = 1_000;

type Runs = Pick<Worker, 'run' | 'getState' | 'shutdown'>;

/**
 * Runs workers until they are stopped. If one fails for good, the others are stopped, too.
 * @param withinMs how long all of them may then take to end
 * @throws the error of the first one that failed; WorkersHang if they do not end in time
 */
export async function runAll(workers: readonly Runs[], withinMs = endWithinMs): Promise<void> {
  const over = new AbortController();
  const hung = hasOneEnded(workers, over.signal).then(async () => {
    for (const worker of workers) shutDown(worker);
    await sleep(withinMs, undefined, { signal: over.signal });
    throw new WorkersHang();
  });
  hung.catch(() => undefined); // it also rejects when all ended in order
  const runs = workers.map((worker) => worker.run());
  try {
    const ended = await Promise.race([Promise.allSettled(runs), hung]);
    const failed = ended.find((run) => run.status === 'rejected');
    if (failed) throw failed.reason;
  } finally {
    over.abort();
  }
}

/** Begins the shutdown of a worker, unless it has begun or ended already: the SDK would throw. */
export function shutDown(worker: Runs): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** Resolves when a worker's state says that it has ended: its `run()` may not report that. */
async function hasOneEnded(workers: readonly Runs[], signal: AbortSignal): Promise<void> {
  const isAtWork = (worker: Runs) => ['INITIALIZED', 'RUNNING'].includes(worker.getState());
  while (workers.every(isAtWork)) await sleep(lookEveryMs, undefined, { signal });
}
