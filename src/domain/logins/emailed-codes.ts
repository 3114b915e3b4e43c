import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { EmailedCode, type EmailedCodePurpose } from '../../../entities/emailed-code.js';
import { after, type Clock, minutes } from '../../platform/clock.js';
import { equalInConstantTime, hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { EmailTemplates } from '../../platform/mail/templates.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { queueEmail } from '../emails/queue.js';
import { recordEvent } from '../events/record.js';
import { wasJustDone } from '../one-time/sent-twice.js';
import { typedDigits } from '../one-time/typed-digits.js';

/** Contract §3. */
export const emailedCodeLife = minutes(10);
const maxTries = 5;

/**
 * The mails differ: a person who did not request it can ignore a code of a first step; the others mean that somebody
 * has passed the first step.
 */
const mailOf = {
  login: 'sign-in-code',
  mfa: 'second-step-code',
  mfa_enrollment: 'factor-code',
  email_change: 'identity-email-code',
} as const satisfies Record<EmailedCodePurpose, keyof EmailTemplates>;

export interface SendCode {
  purpose: EmailedCodePurpose;
  /** What the page that asks for the code carries; without it the code does not work. */
  flow: string;
  /** Null for an address that nobody has. */
  identityId: string | null;
  /** The address, if a first right code creates the Identity or gives it the address. */
  email?: string | null;
  /** The mail, if it is not that of the purpose. */
  template?: 'identity-email-taken';
  locale: 'en' | 'de';
}

export type SentCode = Pick<EmailedCode, 'id' | 'expiresAt'>;

export interface TriedCode {
  purpose: EmailedCodePurpose;
  flow: string;
  code: string;
}

/** A code that was typed correctly, with the person or the address that it was mailed to. */
export interface RightCode {
  id: string;
  identityId: string | null;
  email: string | null;
}

/** A code that was typed correctly and has just been spent. */
export interface SpentCode extends RightCode {
  consumedAt: Date;
}

/** A code that is not accepted. `void` is no wrong guess, since no valid code is left to be guessed. */
export type NoCode = 'wrong' | 'void';

/** The six digits of a code. They are derived, so that they are stored nowhere and the mail can be written later. */
export function digitsOf(sealing: Pick<Sealing, 'derive'>, { id, keyId }: { id: string; keyId?: string }) {
  const { secret, keyId: usedKey } = sealing.derive('emailed-code', id, keyId);
  // 48 bits are reduced to a million values: no digit is likelier than another by more than one in 10^8.
  return { digits: String(secret.readUIntBE(0, 6) % 1_000_000).padStart(6, '0'), keyId: usedKey };
}

const isTyped = (code: string, digits: string) => equalInConstantTime(typedDigits(code), digits);

// The try is counted before it is checked, and the row's lock makes parallel tries queue: five guesses are five.
const tryStatement = {
  name: 'try_emailed_code',
  text: `
update emailed_codes set attempts = attempts + 1
where id = (select id from emailed_codes
    where environment_id = $1 and flow_hash = $2 and purpose = $3 order by created_at desc, id desc limit 1)
  and consumed_at is null and expires_at > $4 and attempts < ${maxTries}
returning id, key_id as "keyId", identity_id as "identityId", email::text`,
};
type NewestCode = RightCode & { keyId: string; consumedAt: Date | null };
const newestStatement = {
  name: 'find_newest_emailed_code',
  text: `
select id, key_id as "keyId", identity_id as "identityId", email::text, consumed_at as "consumedAt" from emailed_codes
where environment_id = $1 and flow_hash = $2 and purpose = $3 order by created_at desc, id desc limit 1`,
};
const consumeStatement = {
  name: 'consume_emailed_code',
  text: `update emailed_codes set consumed_at = $2 where id = $1 and consumed_at is null returning id`,
};

const giveBackStatement = {
  name: 'give_emailed_code_back',
  text: 'update emailed_codes set consumed_at = null where id = $1',
};

/**
 * Emailed codes (contract §3): six digits, for ten minutes, five tries, once; a newer one in the same flow replaces
 * older ones.
 */
export function createEmailedCodes({ db, sealing, now }: { db: Db; sealing: Pick<Sealing, 'derive'>; now: Clock }) {
  return {
    /**
     * Stores a code and queues its mail, in the caller's transaction. For an address without an Identity it does the
     * same work, without a mail.
     * @returns its id, and when it expires
     */
    async send(tx: EntityManager, scope: EnvironmentScope, code: SendCode): Promise<SentCode> {
      const { purpose, flow, identityId, email = null, locale, template = mailOf[purpose] } = code;
      const { accountId, environmentId } = scope;
      const at = now();
      const expiresAt = after(at, emailedCodeLife);
      const id = uuidv7();
      await tx.insert(EmailedCode, {
        id,
        accountId,
        environmentId,
        identityId,
        email,
        purpose,
        flowHash: hashSecret(flow),
        keyId: digitsOf(sealing, { id }).keyId,
        attempts: 0,
        createdAt: at,
        expiresAt,
        consumedAt: null,
      });
      const mail = { template, locale, subjectId: id, cause: `emailed-code/${id}` };
      await queueEmail(tx, { ...mail, accountId, environmentId }, at);
      await recordEvent(tx, 'auth.emailed_code_requested', { ...scope, resourceId: identityId, metadata: { purpose } });
      return { id, expiresAt };
    },

    /**
     * Checks a code and spends it. Otherwise tells whether it is `wrong`, or `void`: no code is left that was not
     * spent, expired or tried too often.
     * @param on the transaction that it is part of, if any: it has to commit even if the code is wrong
     */
    async redeem(
      { environmentId }: EnvironmentScope,
      { purpose, flow, code }: TriedCode,
      on: Pick<Db, 'statement'> = db,
    ): Promise<RightCode | NoCode> {
      const [tried] = await on.statement<RightCode & { keyId: string }>(tryStatement, [
        environmentId,
        hashSecret(flow),
        purpose,
        now(),
      ]);
      if (!tried) return 'void';
      const { digits } = digitsOf(sealing, tried);
      if (!isTyped(code, digits)) return 'wrong';
      const consumed = await on.statement(consumeStatement, [tried.id, now()]);
      return consumed.length === 0 ? 'void' : { id: tried.id, identityId: tried.identityId, email: tried.email };
    },

    /** Makes a redeemed code valid again, where what it was for could not be done. @param id as `redeem` answers it */
    async giveBack(id: string): Promise<void> {
      await db.statement(giveBackStatement, [id]);
    },

    /** The owner of a right code that was spent within the last minute: its form was sent twice. It proves nothing. */
    async justSpent(
      { environmentId }: EnvironmentScope,
      { purpose, flow, code }: TriedCode,
      on: Pick<Db, 'statement'> = db,
    ): Promise<SpentCode | null> {
      const values = [environmentId, hashSecret(flow), purpose];
      const [newest] = await on.statement<NewestCode>(newestStatement, values);
      if (!newest?.consumedAt || !wasJustDone(newest.consumedAt, now())) return null;
      if (!isTyped(code, digitsOf(sealing, newest).digits)) return null;
      const { id, identityId, email, consumedAt } = newest;
      return { id, identityId, email, consumedAt };
    },
  };
}

export type EmailedCodes = ReturnType<typeof createEmailedCodes>;
