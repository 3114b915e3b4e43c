import type { Clock } from '../../../platform/clock.js';
import type { Sealing } from '../../../platform/crypto/sealing.js';
import type { Db } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { applicationNameOf } from '../../emails/brand.js';
import type { NewFactor } from '../factors.js';
import { createTotpEnrollments, type FirstCode, type StoredApp, spendCode, type TotpEnrollment } from './totp-codes.js';

export type { TotpEnrollment };

/** The context of a factor's sealed secret. */
export const totpSecretContext = (factorId: string) => `mfa_factors.secret/${factorId}`;
const contexts = { enrollment: (identityId: string) => `totp-enrollment/${identityId}`, factor: totpSecretContext };

export interface EnrollingIdentity {
  identityId: string;
  email: string;
}

// Comparing and setting are one statement: of two parallel requests with the same step, the second one waits and finds
// it used.
const useStatement = {
  name: 'use_totp_step',
  text: `
update mfa_factors set last_used_step = $3, last_used_at = $4
where account_id = $1 and id = $2 and (last_used_step is null or last_used_step < $3) returning id`,
};
const ofIdentityStatement = {
  name: 'totp_factors_of_identity',
  text: `
select id, secret, coalesce(
  (select totp_drift_steps from environment_settings where environment_id = $3 and account_id = $1), 0) as drift
from mfa_factors where account_id = $1 and identity_id = $2 and type = 'totp'`,
};

/** Time-based codes of authenticator apps (RFC 6238). */
export function createTotp({ db, sealing, now }: { db: Db; sealing: Pick<Sealing, 'seal' | 'open'>; now: Clock }) {
  const enrollments = createTotpEnrollments({ sealing, contexts, now });

  /** The app shows the entry under the name by which people know the application. */
  async function named({ accountId, environmentId }: EnvironmentScope, { identityId, email }: EnrollingIdentity) {
    const issuer = await db.transaction({ accountId }, (tx) => applicationNameOf(tx, environmentId));
    return { id: identityId, email, issuer };
  }

  return {
    /** Makes a new secret. Nothing is stored: it waits, sealed, in the page that shows it. */
    beginEnrollment: async (scope: EnvironmentScope, identity: EnrollingIdentity): Promise<TotpEnrollment> =>
      enrollments.begin(await named(scope, identity)),

    /**
     * An enrollment that has begun, to be shown once more after a wrong code.
     * @throws DomainError mfa.enrollment_expired
     */
    resumeEnrollment: async (
      scope: EnvironmentScope,
      identity: EnrollingIdentity,
      sealed: string,
    ): Promise<TotpEnrollment> => enrollments.resume(await named(scope, identity), sealed),

    /**
     * The factor for a first right code, to be added by `factors`. Adding it twice is refused by its id.
     * @throws DomainError mfa.enrollment_expired, mfa.code_invalid
     */
    confirmEnrollment: (identityId: string, answer: FirstCode): NewFactor => enrollments.confirm(identityId, answer),

    /**
     * Whether a code is right; spends its time step (RFC 6238 §5.2), so that neither it nor an earlier one is accepted
     * again.
     * @param on the transaction that it is part of
     */
    async verify(
      { accountId, environmentId }: Pick<EnvironmentScope, 'accountId' | 'environmentId'>,
      identityId: string,
      code: string,
      on: Pick<Db, 'statement'>,
    ): Promise<boolean> {
      const values = [accountId, identityId, environmentId];
      const apps = await on.statement<StoredApp & { drift: number }>(ofIdentityStatement, values);
      const at = now();
      return spendCode(apps, {
        code,
        at,
        drift: apps[0]?.drift ?? 0,
        open: ({ id, secret }) => sealing.open(secret, totpSecretContext(id)),
        use: async (id, step) => (await on.statement(useStatement, [accountId, id, step, at])).length > 0,
      });
    },
  };
}

export type Totp = ReturnType<typeof createTotp>;
