import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { MfaFactor } from '../../../../entities/mfa-factor.js';
import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { recordEvent } from '../../events/record.js';
import { type AssertionCheck, amrOf, createCeremonies } from './ceremonies.js';

/** A stored credential, as far as an assertion is checked against it. */
export type StoredCredential = Pick<
  MfaFactor,
  'id' | 'accountId' | 'identityId' | 'credentialId' | 'publicKey' | 'signCount' | 'deviceType'
>;

/** What an assertion proved (RFC 8176): possession of a key, and the user if the authenticator verified them. */
export interface VerifiedAssertion {
  factorId: string;
  amr: string[];
  isUserVerified: boolean;
}

// WebAuthn Level 3 §6.1.1: a counter grows with each use, or is always zero. The row's lock puts parallel uses in
// order.
const useStatement = {
  name: 'use_webauthn_credential',
  text: `
update mfa_factors set sign_count = $2, is_backed_up = $3, last_used_at = $4,
  is_discoverable = case when $5 then true else is_discoverable end
where id = $1 and account_id = $6 and (sign_count < $2 or (sign_count = 0 and $2 = 0)) returning id`,
};

/** Checks assertions against stored credentials (WebAuthn Level 3 §7.2). */
export function createAssertions({ db, baseUrl, now }: { db: Db; baseUrl: string; now: Clock }) {
  const ceremonies = createCeremonies(baseUrl);

  /**
   * Verifies and counts the use of a credential. Null, whatever the reason to refuse it.
   * @param on the transaction that it is part of, if any: it has to commit even if the use is refused
   */
  async function use(
    scope: EnvironmentScope,
    stored: StoredCredential,
    response: AuthenticationResponseJSON,
    asked: AssertionCheck,
    on: Pick<Db, 'statement' | 'transaction'> = db,
  ): Promise<VerifiedAssertion | null> {
    const info = await ceremonies.checkAssertion({ ...stored, ownerId: stored.identityId }, response, asked);
    if (!info) return null;
    const { newCounter, credentialBackedUp, userVerified } = info;
    const used = await on.statement(useStatement, [
      stored.id,
      newCounter,
      credentialBackedUp,
      now(),
      asked.asPasskey,
      scope.accountId,
    ]);
    if (used.length === 0) {
      await on.transaction(scope, async (tx) => {
        // No event for a credential that was removed meanwhile: nothing is known of its counter.
        if (!(await tx.existsBy(MfaFactor, { accountId: scope.accountId, id: stored.id }))) return;
        await recordEvent(tx, 'auth.webauthn_counter_regressed', {
          ...scope,
          resourceId: stored.identityId,
          outcome: 'denied',
          metadata: { factor_id: stored.id, stored: Number(stored.signCount), received: newCounter },
        });
      });
      return null;
    }
    return { factorId: stored.id, amr: amrOf(stored.deviceType, userVerified), isUserVerified: userVerified };
  }

  return { use };
}
