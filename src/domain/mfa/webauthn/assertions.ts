import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { MfaFactor } from '../../../../entities/mfa-factor.js';
import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import { type AssertionCheck, amrOf, type CheckedCredential, createCeremonies } from './ceremonies.js';
import { type Keys, useStatementOf } from './keys.js';

/** A stored key, as far as an assertion is checked against it. */
export type StoredKey = CheckedCredential & Pick<MfaFactor, 'id' | 'signCount'>;

export interface Use extends AssertionCheck {
  /**
   * Whether the person has proved who they are to this service before, in the same sign-in: then a key that verifies
   * its user signs in by itself from now on.
   */
  isOwnProof: boolean;
  /** The transaction that it is part of, if any: it has to commit even if the use is refused. */
  on: Pick<Db, 'statement'>;
  /** Records a counter that did not grow, as if the key had been copied. */
  onRegressed(metadata: { factor_id: string; stored: number; received: number }): Promise<unknown>;
}

/** Checks assertions against stored keys, of end users or of administrators (WebAuthn Level 3 §7.2). */
export function createAssertions({ baseUrl, keys, now }: { baseUrl: string; keys: Keys; now: Clock }) {
  const ceremonies = createCeremonies(baseUrl);
  const useStatement = useStatementOf(keys);
  return {
    /**
     * Verifies and counts the use of a key.
     * @returns RFC 8176 names of what was proved; null if it is refused, whatever the reason
     */
    async use(
      stored: StoredKey,
      response: AuthenticationResponseJSON,
      { isOwnProof, on, onRegressed, ...asked }: Use,
    ): Promise<string[] | null> {
      const info = await ceremonies.checkAssertion(stored, response, asked);
      if (!info) return null;
      const { newCounter, credentialBackedUp, userVerified } = info;
      const { id, ownerId, deviceType } = stored;
      const isProved = isOwnProof && userVerified;
      const isStored = asked.asPasskey && keys.provesStored;
      const values = [id, ownerId, newCounter, credentialBackedUp, now(), isStored, isProved];
      const used = await on.statement(useStatement, values);
      if (used.length > 0) return amrOf(deviceType, userVerified);
      await onRegressed({ factor_id: id, stored: Number(stored.signCount), received: newCounter });
      return null;
    },
  };
}
