import { setTimeout as sleep } from 'node:timers/promises';
import { hasLostItsDatabase } from '../../../src/platform/embedded/lasting-temporal.js';
import type { Surroundings } from '../../support/service.js';

export type TemporalWatch = ReturnType<typeof watchTemporal>;

/**
 * Restarts the dev server, as an orchestrator would, when its SQLite answers `interrupted` to everything: it can do so
 * for good after statements were abandoned while it was halted. Temporal on PostgreSQL cannot get into that state, but
 * is watched too.
 */
export function watchTemporal(
  { temporal, temporalAddress: address }: Pick<Surroundings, 'temporal' | 'temporalAddress'>,
  say: (line: string) => void,
) {
  let restarts = 0;
  let isStopped = false;
  let busy = Promise.resolve();
  /** Runs one piece of work at a time: nothing starts a server that something else is killing. */
  const exclusively = (work: () => Promise<void>): Promise<void> => {
    busy = busy.then(work, work);
    return busy;
  };

  const isInterrupted = () => hasLostItsDatabase(address, 'default');

  async function mend(): Promise<void> {
    if (!(await isInterrupted())) return;
    await sleep(2_000);
    if (!(await isInterrupted())) return;
    restarts += 1;
    say("Temporal's database stays interrupted: it is started anew");
    await temporal.kill('SIGKILL');
    await temporal.start();
  }

  void (async () => {
    for (; !isStopped; await sleep(3_000)) await exclusively(mend).catch(() => undefined);
  })();
  return {
    exclusively,
    get restarts() {
      return restarts;
    },
    /** Returns a line for the report. */
    counted: (): [what: string, count: number] => [
      'restarts of a Temporal whose database stayed interrupted',
      restarts,
    ],
    async stop(): Promise<void> {
      isStopped = true;
      await busy.catch(() => undefined);
    },
  };
}
