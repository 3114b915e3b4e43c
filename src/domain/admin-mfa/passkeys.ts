import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { DomainError } from '../errors.js';
import { recordOfUser } from '../events/user-events.js';
import { createPasskeyChallenges, type PasskeyChallenge } from '../mfa/webauthn/passkey-challenges.js';
import type { ProvedAsOf } from './proved-as-of.js';
import type { AnsweredPasskey, UserWebauthn } from './webauthn.js';

/** An administrator who has signed in with a passkey, and what the session that follows checks again. */
export type ProvedByPasskey = ProvedAsOf & { userId: string; amr: string[] };

export interface AdminPasskeysDeps {
  db: Db;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  webauthn: Pick<UserWebauthn, 'passkeyOptions' | 'verifyPasskey'>;
  now: Clock;
}

/** Whether a key may be all that its owner shows: others are accepted after a first factor only. */
const signsInAlone = ({ amr, key }: AnsweredPasskey): boolean => amr !== null && key?.signsIn === true;

async function recordFailure(tx: EntityManager, { key, amr }: AnsweredPasskey): Promise<void> {
  const isRight = amr !== null;
  await recordOfUser(tx, 'auth.admin_sign_in_failed', {
    resourceId: key?.ownerId ?? null,
    outcome: isRight ? 'denied' : 'failure',
    metadata: { method: 'passkey', ...(isRight && { reason: 'mfa.second_factor_only' }) },
  });
}

/** Sign-in of platform admins with a passkey alone (docs/decisions/0109). */
export function createAdminPasskeys({ db, sealing, webauthn, now }: AdminPasskeysDeps) {
  const challenges = createPasskeyChallenges({ db, sealing, context: 'admin-passkey-login', now });
  return {
    /** Names nobody, so it is the same for everybody. */
    begin: async (): Promise<PasskeyChallenge> => challenges.begin(await webauthn.passkeyOptions(), 'login'),

    /**
     * Checks an answer, under a lock on the owner of the key: a removal or a reset of factors comes before all of it or
     * after all of it.
     * @param sent what the browser sent, not validated yet
     * @throws DomainError mfa.challenge_invalid for a challenge that is too old or was used; auth.invalid_credentials,
     *   whatever is wrong with the answer; mfa.second_factor_only for a right answer of a key that is no way in
     */
    async answer({ token, sent }: { token: string; sent: unknown }): Promise<ProvedByPasskey> {
      const challenge = await challenges.take(token, 'login');
      if (challenge === null) throw new DomainError('mfa.challenge_invalid');
      const answered = await db.transaction('system', async (tx) => {
        const result = await webauthn.verifyPasskey({ challenge, sent }, dbWithin(tx));
        if (!signsInAlone(result)) await recordFailure(tx, result); // and is committed
        return result;
      });
      const { key, amr } = answered;
      if (!key || !amr) throw new DomainError('auth.invalid_credentials');
      if (!signsInAlone(answered)) throw new DomainError('mfa.second_factor_only');
      const { ownerId: userId, passwordChangedAt, mfaResetAt, emailChangedAt } = key;
      return { userId, passwordChangedAt, mfaResetAt, emailChangedAt, amr: [...amr, 'mfa'] };
    },
  };
}

export type AdminPasskeys = ReturnType<typeof createAdminPasskeys>;
