import { v7 as uuidv7 } from 'uuid';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import type { EmailedCodes } from '../logins/emailed-codes.js';
import type { MfaAttempts } from './attempts.js';
import type { NewFactor } from './factors.js';

export interface MailFactorCode {
  identityId: string;
  /** What the code works with alone: the id of a waiting sign-in, or of a session. */
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

/** Emailed codes as a second factor: a weak one, which never makes `urn:gatehouse:aal2`. */
export function createEmailFactor({ db, emailedCodes, attempts }: EmailFactorDeps) {
  return {
    /** @throws DomainError rate_limit.exceeded */
    async send(scope: EnvironmentScope, purpose: Purpose, { identityId, flow, locale }: MailFactorCode): Promise<void> {
      await attempts.mail(identityId);
      await db.transaction(scope, (tx) => emailedCodes.send(tx, scope, { purpose, flow, identityId, locale }));
    },

    /**
     * Whether it is the code that was mailed to this Identity, and spends it. The caller counts the tries.
     * @param on a transaction that it is part of, if of one: it has to be committed also where the code is wrong
     */
    async verify(
      scope: EnvironmentScope,
      purpose: Purpose,
      { identityId, flow, code }: TriedFactorCode,
      on: Pick<Db, 'statement'> = db,
    ): Promise<boolean> {
      const redeemed = await emailedCodes.redeem(scope, { purpose, flow, code }, on);
      return typeof redeemed === 'object' && redeemed.identityId === identityId;
    },

    /**
     * The factor that a right code makes.
     * @throws DomainError mfa.code_invalid, mfa.challenge_locked
     */
    async confirmEnrollment(scope: EnvironmentScope, tried: TriedFactorCode): Promise<NewFactor> {
      const right = await attempts.counted(
        tried.identityId,
        async () => ((await this.verify(scope, 'mfa_enrollment', tried)) ? true : null),
        { forgets: false },
      );
      if (!right) throw new DomainError('mfa.code_invalid');
      return { id: uuidv7(), type: 'email_otp', label: 'Email' };
    },
  };
}

export type EmailFactor = ReturnType<typeof createEmailFactor>;
