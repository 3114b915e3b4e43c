import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { UserMfaFactor } from '../../../entities/user-mfa-factor.js';
import { UserRecoveryCode } from '../../../entities/user-recovery-code.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import { looksLikeRecoveryCode, newRecoveryCodes, recoveryCodeHash } from '../mfa/recovery-code-form.js';
import { noticeAdmin } from './mails.js';
import type { Proof, SignedInAdmin } from './proof.js';

const redeemStatement = {
  name: 'redeem_user_recovery_code',
  text: 'update user_recovery_codes set used_at = $3 where user_id = $1 and code_hash = $2 and used_at is null returning id',
};
const remainingStatement = {
  name: 'remaining_user_recovery_codes',
  text: `select coalesce(max(generation), 0) as generation, count(*) filter (where used_at is null)::int as remaining
from user_recovery_codes where user_id = $1`,
};

/** What is left of the current set. */
export interface RemainingCodes {
  /** 0 without any. */
  generation: number;
  remaining: number;
}

/** Recovery codes of platform admins: ten, each good once, stored as hashes (contract §3). */
export function createUserRecoveryCodes({ db, proof, now }: { db: Db; proof: Pick<Proof, 'hold'>; now: Clock }) {
  /** Makes a new set, which voids the one before. Under a lock on the user. */
  async function renew(tx: EntityManager, userId: string): Promise<string[]> {
    const gone = await tx.findBy(UserRecoveryCode, { userId });
    await tx.delete(UserRecoveryCode, { userId });
    const generation = Math.max(0, ...gone.map((code) => code.generation)) + 1;
    const codes = newRecoveryCodes();
    await tx.insert(
      UserRecoveryCode,
      codes.map((code) => ({
        id: uuidv7(),
        userId,
        generation,
        codeHash: recoveryCodeHash(code),
        createdAt: now(),
        usedAt: null,
      })),
    );
    return codes;
  }

  return {
    renew,

    /**
     * Makes a new set for somebody who asked for one, and tells them by mail.
     * @throws DomainError auth.reauthentication_required, mfa.not_enrolled
     */
    replace: (admin: SignedInAdmin, locale: 'en' | 'de'): Promise<string[]> =>
      db.transaction('system', async (tx) => {
        await proof.hold(tx, admin);
        const { userId, accountId } = admin;
        if (!(await tx.existsBy(UserMfaFactor, { userId }))) throw new DomainError('mfa.not_enrolled');
        const codes = await renew(tx, userId);
        const eventId = await recordEvent(tx, 'auth.admin_recovery_codes_renewed', { accountId, resourceId: userId });
        await noticeAdmin(tx, { userId, eventId, locale, now: now() });
        return codes;
      }),

    /** Spends a code. False for a wrong, spent or replaced one. */
    async redeem(userId: string, code: string): Promise<boolean> {
      if (!looksLikeRecoveryCode(code)) return false;
      return (await db.statement(redeemStatement, [userId, recoveryCodeHash(code), now()])).length > 0;
    },

    async remaining(userId: string): Promise<RemainingCodes> {
      const [row] = await db.statement<RemainingCodes>(remainingStatement, [userId]);
      return row as RemainingCodes;
    },
  };
}

export type UserRecoveryCodes = ReturnType<typeof createUserRecoveryCodes>;
