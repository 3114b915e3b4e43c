import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import type { EmailedCodes } from '../logins/emailed-codes.js';
import type { MfaAttempts } from './attempts.js';
import type { NewFactor } from './factors.js';

export interface MailFactorCode {
  identityId: string;
  /** The only place where the code works: the id of a waiting sign-in, or of a session. */
  flow: string;
  locale: 'en' | 'de';
}

export interface TriedFactorCode {
  identityId: string;
  flow: string;
  code: string;
}

export interface EmailFactorDeps {
  db: Db;
  emailedCodes: EmailedCodes;
  attempts: MfaAttempts;
}

type Purpose = 'mfa' | 'mfa_enrollment';

const enrolling = ({ flow, code }: TriedFactorCode) => ({ purpose: 'mfa_enrollment', flow, code }) as const;

/** Emailed codes as a second factor: a weak one, which never makes `urn:gatehouse:aal2`. */
export function createEmailFactor({ db, emailedCodes, attempts }: EmailFactorDeps) {
  return {
    /** @throws DomainError rate_limit.exceeded */
    async send(scope: EnvironmentScope, purpose: Purpose, { identityId, flow, locale }: MailFactorCode): Promise<void> {
      await attempts.mail(identityId);
      await db.transaction(scope, (tx) => emailedCodes.send(tx, scope, { purpose, flow, identityId, locale }));
    },

    /**
     * Whether this is the code that was mailed to the Identity; spends it. The caller counts the tries.
     * @param on the transaction that it is part of: it has to commit even if the code is wrong
     */
    async verify(
      scope: EnvironmentScope,
      { identityId, flow, code }: TriedFactorCode,
      on: Pick<Db, 'statement'>,
    ): Promise<boolean> {
      const redeemed = await emailedCodes.redeem(scope, { purpose: 'mfa', flow, code }, on);
      return typeof redeemed === 'object' && redeemed.identityId === identityId;
    },

    /**
     * The factor for a right code. It gets the code's id, so that it cannot be added twice.
     * @throws DomainError mfa.code_invalid, mfa.challenge_locked; mfa.already_enrolled if the same code has just
     *   created it
     */
    async confirmEnrollment(scope: EnvironmentScope, tried: TriedFactorCode): Promise<NewFactor> {
      const typed = enrolling(tried);
      const look = async () => {
        const redeemed = await emailedCodes.redeem(scope, typed);
        if (typeof redeemed === 'object' && redeemed.identityId === tried.identityId) return redeemed.id;
        return (await this.justEnrolled(scope, tried)) === null ? null : 'again';
      };
      const id = await attempts.counted(tried.identityId, look, () => false);
      if (id === null) throw new DomainError('mfa.code_invalid');
      if (id === 'again') throw new DomainError('mfa.already_enrolled');
      return { id, type: 'email_otp', label: 'Email' };
    },

    /** Makes the code valid again, where its factor could not be added for lack of capacity. */
    giveBack: ({ id }: Pick<NewFactor, 'id'>): Promise<void> => emailedCodes.giveBack(id),

    /** The id of the factor that this code enrolled within the last minute; null for any other code. */
    async justEnrolled(scope: EnvironmentScope, tried: TriedFactorCode): Promise<string | null> {
      const spent = await emailedCodes.justSpent(scope, enrolling(tried));
      return spent?.identityId === tried.identityId ? spent.id : null;
    },
  };
}

export type EmailFactor = ReturnType<typeof createEmailFactor>;
