import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import type { OpenSignIn } from '../logins/pending-sign-ins.js';
import { showsSecondFactor, withSecondFactor } from './assurance.js';
import type { RecoveryCodeSet } from './codes/recovery-code-hashes.js';
import type { RecoveryCodes } from './codes/recovery-codes.js';
import type { Factors, NewFactor } from './factors.js';
import { bringsRecoveryCodes, choicesAfter, lockMfaState, mfaStateOf } from './state.js';

export interface Enrolled {
  /** With a first factor, if the Environment accepts recovery codes; shown once. */
  recoveryCodes: string[] | null;
}

export interface MfaEnrollmentsDeps {
  db: Db;
  factors: Pick<Factors, 'enrollIn'>;
  recoveryCodes: Pick<RecoveryCodes, 'withSet'>;
  now: Clock;
}

/** Enrolling a factor during a sign-in, in which it counts as proved from then on. */
export function createMfaEnrollments({ db, factors, recoveryCodes, now }: MfaEnrollmentsDeps) {
  return {
    /**
     * Adds a factor for the person of a waiting sign-in, and notes in the sign-in what it proves.
     * @param amr the factor's own (RFC 8176)
     * @param codes the recovery codes, unless they are to be random
     * @throws DomainError mfa.enrollment_expired if the sign-in has ended, or the person has got another factor
     *   meanwhile and has not shown it; mfa.factor_not_allowed; mfa.already_enrolled, mfa.too_many_factors
     */
    async enroll(pending: OpenSignIn, factor: NewFactor, amr: readonly string[], codes?: string[]): Promise<Enrolled> {
      const isExpected = bringsRecoveryCodes(await mfaStateOf(db, pending));
      const work = (take: () => RecoveryCodeSet) =>
        db.transaction({ accountId: pending.accountId }, async (tx) => {
          const { id, identityId, accountId } = pending;
          const state = await lockMfaState(tx, pending);
          const { enrollable, usable, provable } = choicesAfter(pending, state);
          const mayAdd = pending.hasProvedFactor || showsSecondFactor(pending) || [...usable, ...provable].length === 0;
          if (!mayAdd) throw new DomainError('mfa.enrollment_expired');
          if (!enrollable.includes(factor.type)) throw new DomainError('mfa.factor_not_allowed');
          const at = now();
          const proved = withSecondFactor(pending, { kind: factor.type, amr, counts: true, now: at });
          const [noted] = await tx.query<[unknown[], number]>(
            `update pending_sign_ins set amr = $3, acr = $4, second_factor_at = $5, own_factor_at = $5, has_proved_factor = true
           where id = $1 and account_id = $2 and completed_at is null and expires_at > $5 returning id`,
            [id, accountId, proved.amr, proved.acr, at],
          );
          if (noted.length === 0) throw new DomainError('mfa.enrollment_expired');
          return factors.enrollIn(tx, environmentScopeOf(pending), identityId, { factor, amr: pending.amr, take });
        });
      return recoveryCodes.withSet(isExpected, work, codes);
    },
  };
}

export type MfaEnrollments = ReturnType<typeof createMfaEnrollments>;
