import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';

/** One that has failed may never be done: the SDK waits for polls that nobody answers any more. */
export class WorkersHang extends Error {
  override name = 'WorkersHang';
}

/** Longer than a worker takes that ends in order (`shutdownForceTime`). */
const endWithinMs = 20_000;
const lookEveryMs = 1_000;

type Runs = Pick<Worker, 'run' | 'getState' | 'shutdown'>;

/**
 * Runs workers until they are stopped. When one of them fails for good the others are stopped too.
 * @param withinMs how long the others have, and that one itself
 * @throws what the first one failed with; WorkersHang where they do not end in time
 */
export async function runAll(workers: readonly Runs[], withinMs = endWithinMs): Promise<void> {
  const over = new AbortController();
  const hung = hasOneEnded(workers, over.signal).then(async () => {
    for (const worker of workers) shutDown(worker);
    await sleep(withinMs, undefined, { signal: over.signal });
    throw new WorkersHang();
  });
  hung.catch(() => undefined); // also of what ended in order
  const runs = workers.map((worker) => worker.run());
  try {
    const ended = await Promise.race([Promise.allSettled(runs), hung]);
    const failed = ended.find((run) => run.status === 'rejected');
    if (failed) throw failed.reason;
  } finally {
    over.abort();
  }
}

export function shutDown(worker: Runs): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** By its state: one whose run was refused may not say so. */
async function hasOneEnded(workers: readonly Runs[], signal: AbortSignal): Promise<void> {
  const isAtWork = (worker: Runs) => ['INITIALIZED', 'RUNNING'].includes(worker.getState());
  while (workers.every(isAtWork)) await sleep(lookEveryMs, undefined, { signal });
}
