import { MfaGrace } from '../../../../entities/mfa-grace.js';
import { after, type Clock, days as inMs } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import { workflowIdOf } from '../../../platform/process-kinds.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { DomainError } from '../../errors.js';
import type { RunningProcesses } from '../../running-processes.js';
import { waitUntilStopped } from '../../wait-until-stopped.js';
import type { MfaGraces } from './grace.js';
import { mfaGraceInput } from './rules.js';

export interface GraceStartsDeps {
  db: Db;
  graces: Pick<MfaGraces, 'find' | 'start'>;
  processes: Pick<RunningProcesses, 'describe'>;
  now: Clock;
}

/**
 * Starts the time to enroll at sign-ins. If an earlier run under the same id was asked to stop, it waits for that. If
 * the run takes long, the person may sign in all the same, and the time begins at a later sign-in: no sign-in depends
 * on a worker.
 */
export function createGraceStarts({ db, graces, processes, now }: GraceStartsDeps): Pick<MfaGraces, 'find' | 'start'> {
  /** Returns a grace that has ended, and would continue or begin again. */
  async function endedBefore(scope: EnvironmentScope, identityId: string): Promise<MfaGrace | null> {
    const grace = await db.transaction(scope, (tx) => tx.findOneBy(MfaGrace, { ...within(scope), identityId }));
    const begins = grace?.status === 'reset' || (grace?.status === 'enrolled' && grace.expiresAt > now());
    return begins ? grace : null;
  }

  async function hasStopped(grace: MfaGrace): Promise<boolean> {
    try {
      await waitUntilStopped(processes, {
        workflowId: workflowIdOf('mfaGrace', mfaGraceInput(grace)),
        wasCancelled: false,
      });
      return true;
    } catch (error) {
      if (error instanceof DomainError && error.code === 'service.unavailable') return false;
      throw error;
    }
  }

  return {
    find: graces.find,
    async start(scope, identityId, days) {
      const before = days > 0 ? await endedBefore(scope, identityId) : null;
      if (!before || (await hasStopped(before))) return graces.start(scope, identityId, days);
      const expiresAt = before.status === 'enrolled' ? before.expiresAt : after(now(), inMs(days));
      return { expiresAt, over: false };
    },
  };
}
