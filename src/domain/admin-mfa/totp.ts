import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { createTotpEnrollments, type FirstCode, type StoredApp, spendCode } from '../mfa/codes/totp-codes.js';

/** The context that a factor's sealed secret is bound to. */
export const userSecretContext = (factorId: string) => `user_mfa_factors.secret/${factorId}`;
const contexts = { enrollment: (userId: string) => `admin-totp-enrollment/${userId}`, factor: userSecretContext };

// One statement compares and sets: of two requests that show the same step at once, one waits for the other and fails.
const useStatement = {
  name: 'use_admin_totp_step',
  text: `
update user_mfa_factors set last_used_step = $3, last_used_at = $4
where user_id = $1 and id = $2 and (last_used_step is null or last_used_step < $3) returning id`,
};
const ofUserStatement = {
  name: 'totp_factors_of_user',
  text: `select id, secret from user_mfa_factors where user_id = $1 and type = 'totp'`,
};

export interface UserTotpDeps {
  sealing: Pick<Sealing, 'seal' | 'open'>;
  /** Steps before and after the present one in which a code is valid. */
  totpDriftSteps: number;
  now: Clock;
}

/** Authenticator apps of platform admins (RFC 6238). */
export function createUserTotp({ sealing, totpDriftSteps: drift, now }: UserTotpDeps) {
  const enrollments = createTotpEnrollments({ sealing, contexts, now });
  return {
    ...enrollments,

    /**
     * Confirms an enrollment, within the drift of administrators.
     * @throws DomainError mfa.enrollment_expired, mfa.code_invalid
     */
    confirm: (userId: string, first: Omit<FirstCode, 'drift'>) => enrollments.confirm(userId, { ...first, drift }),

    /**
     * Returns whether a code is right, and spends its time step: neither it nor an earlier step is accepted again.
     * @param on the transaction that the check is part of
     */
    async verify(userId: string, code: string, on: Pick<Db, 'statement'>): Promise<boolean> {
      const apps = await on.statement<StoredApp>(ofUserStatement, [userId]);
      const at = now();
      return spendCode(apps, {
        code,
        at,
        drift,
        open: ({ id, secret }) => sealing.open(secret, userSecretContext(id)),
        use: async (id, step) => (await on.statement(useStatement, [userId, id, step, at])).length > 0,
      });
    },
  };
}

export type UserTotp = ReturnType<typeof createUserTotp>;
