import type { EntityManager } from 'typeorm';
import { MfaGrace } from '../../../../entities/mfa-grace.js';
import type { Clock } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { recordEvent } from '../../events/record.js';
import { dueReminder, graceReminder, nextMoment } from './reminders.js';
import { beginGrace, isRequiredStill, type Policy, settlePolicy } from './rules.js';

export interface MfaGracesDeps {
  db: Db;
  now: Clock;
  /** Milliseconds before the end at which a reminder is sent. */
  reminders: readonly number[];
}

/** Until when a person may sign in without a second factor. */
export interface GraceStatus {
  expiresAt: Date;
  /** Whether the time is up: by the clock, whether or not a worker has noticed. */
  over: boolean;
}

/** What its process does next: waits until `wakeAt`, or ends. */
export interface GraceLook {
  status: MfaGrace['status'];
  expiresAt: string | null;
  wakeAt: string | null;
}

const notRequired = 'mfa_not_required';

export type MfaGraces = ReturnType<typeof createMfaGraces>;

/** The time that an Identity has for enrolling a factor where its Environment requires one (contract §3, §10). */
export function createMfaGraces({ db, now, reminders }: MfaGracesDeps) {
  const statusOf = ({ expiresAt }: Pick<MfaGrace, 'expiresAt'>): GraceStatus => ({
    expiresAt,
    over: expiresAt <= now(),
  });

  return {
    /** The grace of an Identity; null if it never began, or was reset. */
    find: (scope: EnvironmentScope, identityId: string): Promise<GraceStatus | null> =>
      db.transaction(scope, async (tx) => {
        const grace = await tx.findOneBy(MfaGrace, { ...within(scope), identityId });
        return grace === null || grace.status === 'reset' ? null : statusOf(grace);
      }),

    /**
     * Begins a grace at the first sign-in without a factor. A running one stays as it is: neither signing in again nor
     * removing a factor gives more time.
     * @param days 0: no time at all
     */
    start: (scope: EnvironmentScope, identityId: string, days: number): Promise<GraceStatus> =>
      db.transaction(scope, async (tx) => statusOf(await beginGrace(tx, scope, { identityId, days, now: now() }))),

    /**
     * Applies a change of the Environment's policy: whether it requires MFA, and the number of days. In the transaction
     * of that change.
     */
    policyChanged: (tx: EntityManager, scope: EnvironmentScope, policy: Policy): Promise<void> =>
      settlePolicy(tx, scope, policy, now()),

    /** Does what is due, once: a reminder, or the end. Called by its process. */
    advance: (id: string): Promise<GraceLook> =>
      db.transaction('system', async (tx): Promise<GraceLook> => {
        const grace = await tx.findOne(MfaGrace, { where: { id }, lock: { mode: 'pessimistic_write' } });
        if (!grace) return { status: 'reset', expiresAt: null, wakeAt: null }; // deleted with its Identity
        const { status, expiresAt } = grace;
        if (status !== 'running') return { status, expiresAt: expiresAt.toISOString(), wakeAt: null };
        const at = now();
        // This process gets no signal when an organization begins or ceases to require MFA.
        if (!(await isRequiredStill(tx, grace))) return endOf(tx, grace, { status: 'reset', reason: notRequired, at });
        if (expiresAt <= at) return endOf(tx, grace, { status: 'expired', reason: 'not_enrolled_in_time', at });
        const due = dueReminder(grace, reminders, at);
        if (due !== null) await graceReminder(tx, grace, due, at);
        const wakeAt = nextMoment(grace, reminders, at).toISOString();
        return { status, expiresAt: expiresAt.toISOString(), wakeAt };
      }),

    /** Stops the reminders, for an operator's reason. The deadline stays. */
    cancel: (id: string, reason: string): Promise<GraceLook> =>
      db.transaction('system', async (tx): Promise<GraceLook> => {
        const grace = await tx.findOne(MfaGrace, { where: { id }, lock: { mode: 'pessimistic_write' } });
        if (grace?.status === 'running') return endOf(tx, grace, { status: 'cancelled', reason, at: now() });
        return { status: grace?.status ?? 'reset', expiresAt: grace?.expiresAt.toISOString() ?? null, wakeAt: null };
      }),
  };

  async function endOf(
    tx: EntityManager,
    grace: MfaGrace,
    { status, reason, at }: { status: 'expired' | 'cancelled' | 'reset'; reason: string; at: Date },
  ): Promise<GraceLook> {
    await tx.update(MfaGrace, { id: grace.id }, { status, endedReason: reason, endedAt: at });
    const { accountId, environmentId, identityId, expiresAt } = grace;
    await recordEvent(tx, `auth.mfa_grace_${status}`, {
      accountId,
      environmentId,
      resourceId: identityId,
      metadata: { reason, expires_at: expiresAt },
    });
    return { status, expiresAt: expiresAt.toISOString(), wakeAt: null };
  }
}
