import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { pollUntil } from '../poll-until.js';
import { wasJustDone } from '../sent-twice.js';
import type { NewFactor } from './factors.js';
import { recoveryCodesOf } from './recovery-code-form.js';
import type { RecoveryCodes } from './recovery-codes.js';

export interface RepeatedEnrollmentsDeps {
  db: Pick<Db, 'statement'>;
  sealing: Pick<Sealing, 'derive'>;
  recoveryCodes: Pick<RecoveryCodes, 'find'>;
  now: Clock;
}

/** What a form that enrolled before has come to. */
export interface Repeated {
  /** The recovery codes that came with it, where they are those that count; else null. */
  codes: string[] | null;
}

const enrolledStatement = {
  name: 'when_factor_was_enrolled',
  text: 'select enrolled_at as "enrolledAt" from mfa_factors where account_id = $1 and identity_id = $2 and id = $3',
};

/**
 * Forms of enrollments that are sent twice: the browser shows the answer to the second one, which has to have the recovery codes, too
 * (docs/decisions/0013). They are kept as slow hashes alone, and nothing else of them; so they are made of what the form brings itself.
 */
export function createRepeatedEnrollments({ db, sealing, recoveryCodes, now }: RepeatedEnrollmentsDeps) {
  /**
   * The codes that a form makes, the second time as the first.
   * @param secrets 256 bits each, of which nothing but hashes is stored: whoever has the master key alone cannot make them
   */
  const codesOf = (secrets: readonly string[], { id }: Pick<NewFactor, 'id'>): string[] =>
    recoveryCodesOf((place) => sealing.derive('recovery-code', [...secrets, id, place].join('\n')).secret);

  return {
    codesOf,

    /**
     * What the same form has done within the last minute; null where it has done nothing, or its time is over.
     * @param isUnderWay whether the first one is known to be on its way: ten slow hashes are waited for
     */
    async find(
      { accountId }: AccountScope,
      identityId: string,
      factor: Pick<NewFactor, 'id'>,
      secrets: readonly string[] | null,
      { isUnderWay = false } = {},
    ): Promise<Repeated | null> {
      const look = () => db.statement<{ enrolledAt: Date }>(enrolledStatement, [accountId, identityId, factor.id]);
      // On a machine with little to do it takes one second.
      const [row] = await pollUntil(look, (rows) => rows.length > 0, { seconds: isUnderWay ? 3 : 0 });
      if (!row || !wasJustDone(row.enrolledAt, now())) return null;
      const codes = secrets && codesOf(secrets, factor);
      const first = codes?.[0];
      const counts = first !== undefined && (await recoveryCodes.find({ accountId }, identityId, first)) !== null;
      return { codes: counts ? codes : null };
    },
  };
}

export type RepeatedEnrollments = ReturnType<typeof createRepeatedEnrollments>;
