import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Identity } from '../../../entities/identity.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, inTransaction, within } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { MayChange } from '../access/assignments/production-people.js';
import { DomainError } from '../errors.js';
import { recordOfIdentity } from '../events/identity-events.js';
import { forgetFactors } from './forget-factors.js';
import { restartGrace } from './grace/rules.js';
import { noticeEmail } from './notices.js';
import { type MfaSummary, mfaOf } from './summary.js';
import { distrustDevices } from './trusted-devices.js';

/** An administrator's help for people who have lost their second factors, or did not enroll one in time. */
export const createMfaReset =
  ({ db, now }: { db: Db; now: Clock }) =>
  /**
   * Removes all second factors, recovery codes and trusted devices of a member, ends sign-ins that wait for a factor,
   * and restarts the time to enroll. Sessions continue.
   * @returns what is left of them
   * @throws DomainError identity.not_found where the Environment has no such member
   */
  (scope: EnvironmentScope, identityId: string, mayChange?: MayChange): Promise<MfaSummary> =>
    // Factors and graces belong to the Account.
    db.transaction({ accountId: scope.accountId }, async (tx) => {
      const { accountId } = scope;
      const at = now();
      const lock = { mode: 'pessimistic_write' } as const;
      const identity = await tx.findOne(Identity, { where: { accountId, id: identityId }, lock });
      const isMember = await tx.existsBy(EnvironmentMembership, { ...within(scope), identityId });
      if (!identity || !isMember) throw new DomainError('identity.not_found');
      await mayChange?.(dbWithin(tx));
      await forgetFactors(tx, { accountId }, identityId);
      await distrustDevices(tx, { accountId }, identityId);
      await tx.query(
        'update pending_sign_ins set completed_at = $3 where account_id = $1 and identity_id = $2 and completed_at is null',
        [accountId, identityId, at],
      );
      await tx.update(Identity, { accountId, id: identityId }, { mfaAdminResetAt: at, updatedAt: at });
      const settings = await tx.findOneByOrFail(EnvironmentSettings, within(scope));
      const days = settings.mfaPolicy === 'required' ? settings.mfaGracePeriodDays : 0;
      await restartGrace(tx, scope, { identityId, days, now: at });
      const [event] = await recordOfIdentity(tx, scope, { identityId }, [{ action: 'identity.mfa_reset' }]);
      await noticeEmail(tx, scope, event as string, at);
      return mfaOf(inTransaction(tx), scope, identityId);
    });

export type MfaReset = ReturnType<typeof createMfaReset>;
