import { randomBytes } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { RecoveryCode } from '../../../entities/recovery-code.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { AccountScope, Db, EnvironmentScope } from '../../platform/db.js';
import { recordEvent } from '../events.js';
import { noticeEmail } from './notices.js';

/** Contract §3. */
const howMany = 10;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'; // RFC 4648 §6

/** 80 bits in base32, in four groups of four. */
function newCode(): string {
  const bits = [...randomBytes(10)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = (bits.match(/.{5}/g) as string[]).map((five) => alphabet[Number.parseInt(five, 2)]).join('');
  return (letters.match(/.{4}/g) as string[]).join('-');
}

/** A code as it is hashed, whichever way it was typed; 0, 1 and 8 are no letters of ours and misread ones. */
const letters = (code: string) =>
  code
    .toUpperCase()
    .replace(/[\s-]/g, '')
    .replace(/[018]/g, (digit) => ({ '0': 'O', '1': 'I', '8': 'B' })[digit] as string);

/** Whether a text can be one at all, as opposed to a code of an app. */
export const looksLikeRecoveryCode = (code: string): boolean => /^[A-Z2-7]{16}$/.test(letters(code));

const redeemStatement = {
  name: 'redeem_recovery_code',
  text: `
update recovery_codes c set used_at = $4 from identities i
where i.account_id = $1 and i.id = $2 and c.account_id = $1 and c.identity_id = i.id and c.code_hash = $3
  and c.generation = i.recovery_codes_generation and c.used_at is null
returning c.id`,
};

/** Codes for the day on which all factors are lost: ten, each good once, stored as hashes (contract §3). */
export function createRecoveryCodes({ db, now }: { db: Db; now: Clock }) {
  /** Makes a new set, which voids the one before. In a transaction of the Account. */
  async function renew(tx: EntityManager, { accountId }: AccountScope, identityId: string): Promise<string[]> {
    const [[row]] = await tx.query<[{ generation: number }[], number]>(
      `update identities set recovery_codes_generation = recovery_codes_generation + 1 where account_id = $1 and id = $2
       returning recovery_codes_generation as generation`,
      [accountId, identityId],
    );
    const { generation } = row as { generation: number };
    await tx.delete(RecoveryCode, { accountId, identityId });
    const codes = Array.from({ length: howMany }, newCode);
    await tx.insert(
      RecoveryCode,
      codes.map((code) => ({
        id: uuidv7(),
        accountId,
        identityId,
        generation,
        codeHash: hashSecret(letters(code)),
        createdAt: now(),
        usedAt: null,
      })),
    );
    return codes;
  }

  return {
    renew,

    /** Makes a new set for somebody who asked for one, and tells them by mail. */
    replace: (scope: EnvironmentScope, identityId: string): Promise<string[]> =>
      db.transaction({ accountId: scope.accountId }, async (tx) => {
        const codes = await renew(tx, scope, identityId);
        const actor = { type: 'identity', id: identityId } as const;
        const event = await recordEvent(tx, 'auth.recovery_codes_renewed', { ...scope, resourceId: identityId, actor });
        await noticeEmail(tx, scope, event, now());
        return codes;
      }),

    /** Spends a code. False for a wrong, spent or replaced one. */
    async redeem(scope: EnvironmentScope, identityId: string, code: string): Promise<boolean> {
      if (!looksLikeRecoveryCode(code)) return false;
      const { accountId } = scope;
      const spent = await db.statement(redeemStatement, [accountId, identityId, hashSecret(letters(code)), now()]);
      return spent.length > 0;
    },

    /** How many codes of the current set are left. */
    async remaining(
      { accountId }: AccountScope,
      identityId: string,
    ): Promise<{ generation: number; remaining: number }> {
      const [row] = await db.statement<{ generation: number; remaining: number }>(
        {
          name: 'remaining_recovery_codes',
          text: `
select i.recovery_codes_generation as generation,
  (select count(*)::int from recovery_codes c where c.account_id = $1 and c.identity_id = i.id
    and c.generation = i.recovery_codes_generation and c.used_at is null) as remaining
from identities i where i.account_id = $1 and i.id = $2`,
        },
        [accountId, identityId],
      );
      return row ?? { generation: 0, remaining: 0 };
    },
  };
}

export type RecoveryCodes = ReturnType<typeof createRecoveryCodes>;
