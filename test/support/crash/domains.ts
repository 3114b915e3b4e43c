import { randomUUID } from 'node:crypto';
import { createSsoDomains } from '../../../src/domain/sso-domains/domains.js';
import { hours } from '../../../src/platform/clock.js';
import { ssoDomainId } from '../../../workflows/ids.js';
import { anAccount, cancelStarted } from './accounts.js';
import { outcomeOf } from './outcome.js';
import { type Begin, type CrashWorld, domainPauseMs } from './world.js';

const claimRun =
  (
    deaths: readonly string[],
    { pauseMs, act }: { pauseMs: number; act?(world: CrashWorld, workflowId: string): Promise<unknown> },
  ): Begin =>
  async (world) => {
    const { database, processes } = world;
    const { accountId, userId } = await anAccount(world);
    const domains = createSsoDomains({
      db: database.db,
      now: () => new Date(),
      schedule: { pauses: [world.paced(pauseMs)], recheckMs: hours(1), lapseAfterMs: hours(1) },
      checks: { check: () => Promise.reject(new Error('nobody asks for a look')) },
      processes,
    });
    const caller = { type: 'platform_admin', userId, sessionId: '', capabilities: [], roles: [] } as const;
    const of = { scope: { accountId }, organizationId: null } as const;
    const { id } = await domains.claim(of, caller, `d-${randomUUID()}.private.example`);
    const workflowId = ssoDomainId(id);
    const row = { table: 'sso_domains', id, columns: 'status, failure_reason, next_check_at' };
    return {
      workflowId,
      deaths,
      ...(act && { act: () => act(world, workflowId) }),
      left: () => outcomeOf(world, { workflowId, row, ids: async () => [accountId] }),
    };
  };

export const domainRuns = {
  'a claim of a domain whose record never comes': claimRun(['readDomain', 'checkDomain'], { pauseMs: domainPauseMs }),
  'a claim of a domain that an operator cancels': claimRun(['cancelDomain'], { pauseMs: hours(1), act: cancelStarted }),
} satisfies Record<string, Begin>;
