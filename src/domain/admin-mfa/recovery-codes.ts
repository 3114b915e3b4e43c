import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { UserMfaFactor } from '../../../entities/user-mfa-factor.js';
import { UserRecoveryCode } from '../../../entities/user-recovery-code.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { DomainError } from '../errors.js';
import { recordOfUser } from '../events/user-events.js';
import { looksLikeRecoveryCode } from '../mfa/codes/recovery-code-form.js';
import type { RecoveryCodeHashes, RecoveryCodeSet, StoredCode } from '../mfa/codes/recovery-code-hashes.js';
import { noticeAdmin } from './mails.js';
import type { AdminProof } from './proof.js';
import type { SignedInAdmin } from './signed-in-admin.js';

const leftStatement = {
  name: 'user_recovery_codes_left',
  text: `select id, code_hash as "codeHash", hash_parameters as "hashParameters"
from user_recovery_codes where user_id = $1 and used_at is null`,
};
const redeemStatement = {
  name: 'redeem_user_recovery_code',
  text: 'update user_recovery_codes set used_at = $3 where user_id = $1 and id = $2 and used_at is null returning id',
};
const remainingStatement = {
  name: 'remaining_user_recovery_codes',
  text: `select coalesce(max(generation), 0) as generation, count(*) filter (where used_at is null)::int as remaining
from user_recovery_codes where user_id = $1`,
};

/** What remains of the current set. */
export interface RemainingCodes {
  /** 0 without a set. */
  generation: number;
  remaining: number;
}

export interface UserRecoveryCodesDeps {
  db: Db;
  hashes: RecoveryCodeHashes;
  proof: Pick<AdminProof, 'require' | 'lock'>;
  now: Clock;
}

/** Recovery codes of platform admins: ten, each good once, stored as hashes (contract §3). */
export function createUserRecoveryCodes({ db, hashes, proof, now }: UserRecoveryCodesDeps) {
  /** Stores a new set, which replaces the one before. Under a lock on the user. */
  async function renew(tx: EntityManager, userId: string, { codes, stored }: RecoveryCodeSet): Promise<string[]> {
    const gone = await tx.findBy(UserRecoveryCode, { userId });
    await tx.delete(UserRecoveryCode, { userId });
    const generation = Math.max(0, ...gone.map((code) => code.generation)) + 1;
    const common = { userId, generation, createdAt: now(), usedAt: null };
    await tx.insert(
      UserRecoveryCode,
      stored.map((code) => ({ id: uuidv7(), ...common, ...code })),
    );
    return codes;
  }

  return {
    renew,
    withSet: hashes.withSet,

    /**
     * Creates a new set for a user who asked for one, and notifies them by mail.
     * @throws DomainError auth.reauthentication_required, mfa.not_enrolled
     */
    async replace(admin: SignedInAdmin, locale: 'en' | 'de'): Promise<string[]> {
      await proof.require(admin); // before computing ten hashes, and again under the lock
      const set = await hashes.newSet();
      return db.transaction('system', async (tx) => {
        await proof.lock(tx, admin);
        const { userId } = admin;
        if (!(await tx.existsBy(UserMfaFactor, { userId }))) throw new DomainError('mfa.not_enrolled');
        const codes = await renew(tx, userId, set);
        const eventId = await recordOfUser(tx, 'auth.admin_recovery_codes_renewed', { resourceId: userId });
        await noticeAdmin(tx, { userId, eventId, locale, now: now() });
        return codes;
      });
    },

    /**
     * Returns the id of the unused code that was typed; null for a wrong, spent or replaced one. It computes hashes, so
     * it does not belong in a transaction.
     */
    async find(userId: string, code: string): Promise<string | null> {
      if (!looksLikeRecoveryCode(code)) return null;
      const left = await db.statement<StoredCode & { id: string }>(leftStatement, [userId]);
      return (await hashes.find(left, code))?.id ?? null;
    },

    /** Spends a code that was found; false if it was spent or replaced meanwhile. */
    async spend(userId: string, id: string, on: Pick<Db, 'statement'>): Promise<boolean> {
      return (await on.statement(redeemStatement, [userId, id, now()])).length > 0;
    },

    async remaining(userId: string): Promise<RemainingCodes> {
      const [row] = await db.statement<RemainingCodes>(remainingStatement, [userId]);
      return row as RemainingCodes;
    },
  };
}

export type UserRecoveryCodes = ReturnType<typeof createUserRecoveryCodes>;
