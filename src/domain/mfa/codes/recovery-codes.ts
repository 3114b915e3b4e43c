import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { RecoveryCode } from '../../../../entities/recovery-code.js';
import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import { type AccountScope, environmentScopeOf } from '../../../platform/scope.js';
import { DomainError } from '../../errors.js';
import { recordEvent } from '../../events/record.js';
import type { OwnProofOf } from '../../sessions/own-proof.js';
import { noticeEmail } from '../notices.js';
import { lockOwnProof } from '../own-changes.js';
import { looksLikeRecoveryCode } from './recovery-code-form.js';
import type { RecoveryCodeHashes, RecoveryCodeSet, StoredCode } from './recovery-code-hashes.js';

const leftStatement = {
  name: 'recovery_codes_left',
  text: `
select c.id, c.code_hash as "codeHash", c.hash_parameters as "hashParameters"
from identities i join recovery_codes c on c.identity_id = i.id
where (i.account_id = $1) is true and i.id = $2 and (c.account_id = $1) is true
  and c.generation = i.recovery_codes_generation and c.used_at is null`,
};
// The rows of a set that was renewed meanwhile are gone.
const redeemStatement = {
  name: 'redeem_recovery_code',
  text: `
update recovery_codes set used_at = $3 where (account_id = $1) is true and id = $2 and used_at is null returning id`,
};

export interface RecoveryCodesDeps {
  db: Db;
  hashes: RecoveryCodeHashes;
  now: Clock;
}

/** Codes for the case that all factors are lost: ten, each good once, stored as hashes (contract §3). */
export function createRecoveryCodes({ db, hashes, now }: RecoveryCodesDeps) {
  /** Stores a new set, which replaces the one before. In a transaction of the Account. */
  async function renew(
    tx: EntityManager,
    { accountId }: AccountScope,
    identityId: string,
    { codes, stored }: RecoveryCodeSet,
  ): Promise<string[]> {
    const [[row]] = await tx.query<[{ generation: number }[], number]>(
      `update identities set recovery_codes_generation = recovery_codes_generation + 1 where account_id = $1 and id = $2
       returning recovery_codes_generation as generation`,
      [accountId, identityId],
    );
    const { generation } = row as { generation: number };
    await tx.delete(RecoveryCode, { accountId, identityId });
    const common = { accountId, identityId, generation, createdAt: now(), usedAt: null };
    await tx.insert(
      RecoveryCode,
      stored.map((code) => ({ id: uuidv7(), ...common, ...code })),
    );
    return codes;
  }

  return {
    renew,
    withSet: hashes.withSet,

    /**
     * Creates a new set at the request of a person who is signed in, and notifies them by mail. The caller has checked
     * their sign-in, and that they have a factor. Both are checked again after the ten slow hashes: without a factor,
     * codes are not accepted.
     * @throws DomainError mfa.not_enrolled, auth.invalid_credentials, auth.reauthentication_required
     */
    async replace(person: OwnProofOf): Promise<string[]> {
      const { accountId, identityId } = person;
      const scope = environmentScopeOf(person);
      const set = await hashes.newSet();
      return db.transaction({ accountId }, async (tx) => {
        const { enrolled } = await lockOwnProof(tx, person, now());
        if (enrolled === null) throw new DomainError('mfa.not_enrolled');
        const codes = await renew(tx, scope, identityId, set);
        const actor = { type: 'identity', id: identityId } as const;
        const event = await recordEvent(tx, 'auth.recovery_codes_renewed', { ...scope, resourceId: identityId, actor });
        await noticeEmail(tx, scope, event, now());
        return codes;
      });
    },

    /**
     * The id of the remaining code that was typed; null for a wrong, spent or replaced one. It hashes, so it must not
     * run in a transaction.
     */
    async find({ accountId }: AccountScope, identityId: string, code: string): Promise<string | null> {
      if (!looksLikeRecoveryCode(code)) return null;
      const left = await db.statement<StoredCode & { id: string }>(leftStatement, [accountId, identityId]);
      return (await hashes.find(left, code))?.id ?? null;
    },

    /** Spends a code. False if it was spent or replaced meanwhile. */
    async spend({ accountId }: AccountScope, id: string, on: Pick<Db, 'statement'>): Promise<boolean> {
      return (await on.statement(redeemStatement, [accountId, id, now()])).length > 0;
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
