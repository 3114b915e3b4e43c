import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import type { UserMfaFactor } from '../../../entities/user-mfa-factor.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { recordOfUser } from '../events/user-events.js';
import { amrOf, createCeremonies, credentialText, type KeyOwner } from '../mfa/webauthn-ceremonies.js';
import { readAuthenticationResponse } from '../mfa/webauthn-responses.js';
import type { OpenUserSignIn, PendingUserSignIns } from './pending-sign-ins.js';

type StoredCredential = Pick<
  UserMfaFactor,
  'id' | 'credentialId' | 'publicKey' | 'signCount' | 'deviceType' | 'transports'
>;

const ofUserStatement = {
  name: 'webauthn_credentials_of_user',
  text: `
select id, credential_id as "credentialId", public_key as "publicKey", sign_count as "signCount", device_type as "deviceType", transports
from user_mfa_factors where user_id = $1 and type = 'webauthn' order by enrolled_at, id`,
};
// WebAuthn Level 3 §6.1.1: a counter grows with each use, or is always zero. The row's lock serializes parallel uses.
const useStatement = {
  name: 'use_admin_webauthn_credential',
  text: `
update user_mfa_factors set sign_count = $3, is_backed_up = $4, last_used_at = $5
where id = $1 and user_id = $2 and (sign_count < $3 or (sign_count = 0 and $3 = 0)) returning id`,
};

export interface UserWebauthnDeps {
  db: Db;
  baseUrl: string;
  pending: Pick<PendingUserSignIns, 'setChallenge' | 'takeChallenge'>;
  now: Clock;
}

/** Passkeys and security keys of platform admins, as second factors (WebAuthn Level 3). */
export function createUserWebauthn({ db, baseUrl, pending, now }: UserWebauthnDeps) {
  const ceremonies = createCeremonies(baseUrl);
  const credentialsOf = (userId: string, on: Pick<Db, 'statement'> = db) =>
    on.statement<StoredCredential>(ofUserStatement, [userId]);

  return {
    /** Returns options for `navigator.credentials.get` with the user's keys; replaces an earlier challenge. */
    async assertionOptions({ id, userId }: OpenUserSignIn): Promise<PublicKeyCredentialRequestOptionsJSON> {
      const options = await ceremonies.requestOptions(await credentialsOf(userId), 'preferred');
      await pending.setChallenge(id, options.challenge);
      return options;
    },

    /**
     * Checks the answer to the last challenge of a sign-in, and spends the challenge whatever the result.
     * @param sent what the browser sent, not validated yet
     * @param on the transaction that the check is part of; it has to be committed even if the answer is refused
     * @returns RFC 8176 names of what was proved; null if the answer is refused, whatever the reason
     */
    async verifyAssertion(
      { id, userId }: OpenUserSignIn,
      sent: unknown,
      on: Pick<Db, 'statement' | 'transaction'>,
    ): Promise<string[] | null> {
      const challenge = await pending.takeChallenge(id, on);
      const response = readAuthenticationResponse(sent);
      if (challenge === null || response === null) return null;
      const stored = (await credentialsOf(userId, on)).find((one) => credentialText(one.credentialId) === response.id);
      const asked = { challenge, asPasskey: false };
      const info = stored && (await ceremonies.checkAssertion({ ...stored, ownerId: userId }, response, asked));
      if (!info) return null;
      const { newCounter, credentialBackedUp, userVerified } = info;
      const used = await on.statement(useStatement, [stored.id, userId, newCounter, credentialBackedUp, now()]);
      if (used.length > 0) return amrOf(stored.deviceType, userVerified);
      await on.transaction('system', (tx) =>
        recordOfUser(tx, 'auth.admin_webauthn_counter_regressed', {
          resourceId: userId,
          outcome: 'denied',
          metadata: { factor_id: stored.id, stored: Number(stored.signCount), received: newCounter },
        }),
      );
      return null;
    },

    /** Returns options for `navigator.credentials.create` without the user's keys; the caller keeps the challenge. */
    enrollmentOptions: async (owner: KeyOwner): Promise<PublicKeyCredentialCreationOptionsJSON> =>
      ceremonies.creationOptions(owner, await credentialsOf(owner.id)),

    verifyEnrollment: ceremonies.verifyEnrollment,
  };
}

export type UserWebauthn = ReturnType<typeof createUserWebauthn>;
