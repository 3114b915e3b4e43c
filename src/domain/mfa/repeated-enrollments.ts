import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { wasJustDone } from '../one-time/sent-twice.js';
import { pollUntil } from '../poll-until.js';
import { recoveryCodesOf } from './codes/recovery-code-form.js';
import type { RecoveryCodes } from './codes/recovery-codes.js';
import type { NewFactor } from './factors.js';

export interface RepeatedEnrollmentsDeps {
  db: Pick<Db, 'statement'>;
  sealing: Pick<Sealing, 'derive'>;
  recoveryCodes: Pick<RecoveryCodes, 'find'>;
  now: Clock;
}

/** What the first sending of a form led to. */
export interface Repeated {
  /** The recovery codes that came with it; null if they are no longer valid. */
  codes: string[] | null;
}

const enrolledStatement = {
  name: 'when_factor_was_enrolled',
  text: 'select enrolled_at as "enrolledAt" from mfa_factors where account_id = $1 and identity_id = $2 and id = $3',
};

/**
 * Enrollment forms that are sent twice. The browser shows the response to the second one, which therefore needs the
 * recovery codes as well (docs/decisions/0013). Only slow hashes of them are stored, so the codes are derived from what
 * the form itself contains.
 */
export function createRepeatedEnrollments({ db, sealing, recoveryCodes, now }: RepeatedEnrollmentsDeps) {
  /**
   * The codes for a form; the same at its second sending.
   * @param secrets 256 bits each, of which only hashes are stored: the master key alone does not suffice to derive the
   *   codes
   */
  const codesOf = (secrets: readonly string[], { id }: Pick<NewFactor, 'id'>): string[] =>
    recoveryCodesOf((place) => sealing.derive('recovery-code', [...secrets, id, place].join('\n')).secret);

  return {
    codesOf,

    /**
     * What the same form did within the last minute; null if it did nothing, or longer ago.
     * @param isRunning whether the first sending is known to be in progress: then its ten slow hashes are waited for
     */
    async find(
      { accountId }: AccountScope,
      identityId: string,
      factor: Pick<NewFactor, 'id'>,
      secrets: readonly string[] | null,
      { isRunning = false } = {},
    ): Promise<Repeated | null> {
      const look = () => db.statement<{ enrolledAt: Date }>(enrolledStatement, [accountId, identityId, factor.id]);
      // This takes about a second on an idle machine.
      const [row] = await pollUntil(look, (rows) => rows.length > 0, { seconds: isRunning ? 3 : 0 });
      if (!row || !wasJustDone(row.enrolledAt, now())) return null;
      const codes = secrets && codesOf(secrets, factor);
      const first = codes?.[0];
      const counts = first !== undefined && (await recoveryCodes.find({ accountId }, identityId, first)) !== null;
      return { codes: counts ? codes : null };
    },
  };
}

export type RepeatedEnrollments = ReturnType<typeof createRepeatedEnrollments>;
