import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import type { UserMfaFactor } from '../../../entities/user-mfa-factor.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { recordOfUser } from '../events/user-events.js';
import { createAssertions, type StoredKey, type Use } from '../mfa/webauthn/assertions.js';
import { createCeremonies, credentialText, type KeyOwner, type KnownCredential } from '../mfa/webauthn/ceremonies.js';
import { keysOfUsers } from '../mfa/webauthn/keys.js';
import { readAuthenticationResponse } from '../mfa/webauthn/responses.js';
import type { OpenUserSignIn, PendingUserSignIns } from './pending-sign-ins.js';
import { type ProvedAsOf, provedAsOf } from './proved-as-of.js';

type StoredCredential = StoredKey & KnownCredential;

const columns = `id, user_id as "ownerId", credential_id as "credentialId", public_key as "publicKey", sign_count as "signCount",
  device_type as "deviceType", transports`;
const ofUserStatement = {
  name: 'webauthn_credentials_of_user_with_owner',
  text: `select ${columns} from user_mfa_factors where user_id = $1 and type = 'webauthn' order by enrolled_at, id`,
};

// Locks the owner before the key is read, in the same order as a removal or a reset of factors.
const lockOwnerStatement = {
  name: 'lock_owner_of_admin_webauthn_key',
  text: `
select id as "ownerId", ${provedAsOf}
from users where id = (select user_id from user_mfa_factors where credential_id = $1) for share`,
};
const ofOwnerStatement = {
  name: 'admin_webauthn_key_of_owner',
  text: `select ${columns}, signs_in as "signsIn" from user_mfa_factors where user_id = $1 and credential_id = $2`,
};

/** A key that was named in an answer, and what its owner's session checks again. */
export type KeyOfUser = StoredCredential & Pick<UserMfaFactor, 'signsIn'> & ProvedAsOf;

type OfOwner = 'ownerId' | keyof ProvedAsOf;

export interface AnsweredPasskey {
  /** Null if nobody has it, whatever the answer is worth. */
  key: KeyOfUser | null;
  /** RFC 8176; null if the answer is refused, whatever the reason. */
  amr: string[] | null;
}

export interface UserWebauthnDeps {
  db: Db;
  baseUrl: string;
  pending: Pick<PendingUserSignIns, 'setChallenge' | 'takeChallenge'>;
  now: Clock;
}

/** Passkeys and security keys of platform admins, as second factors and as the only one (WebAuthn Level 3). */
export function createUserWebauthn({ db, baseUrl, pending, now }: UserWebauthnDeps) {
  const ceremonies = createCeremonies(baseUrl);
  const assertions = createAssertions({ baseUrl, keys: keysOfUsers, now });
  const credentialsOf = (userId: string, on: Pick<Db, 'statement'> = db) =>
    on.statement<StoredCredential>(ofUserStatement, [userId]);

  const use = (
    stored: StoredCredential,
    response: AuthenticationResponseJSON,
    { on, ...asked }: Omit<Use, 'on' | 'onRegressed'> & { on: Pick<Db, 'statement' | 'transaction'> },
  ) => {
    const { ownerId: resourceId } = stored;
    const onRegressed: Use['onRegressed'] = (metadata) =>
      on.transaction('system', (tx) =>
        recordOfUser(tx, 'auth.admin_webauthn_counter_regressed', { resourceId, outcome: 'denied', metadata }),
      );
    return assertions.use(stored, response, { ...asked, on, onRegressed });
  };

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
      { id, userId, method }: OpenUserSignIn,
      sent: unknown,
      on: Pick<Db, 'statement' | 'transaction'>,
    ): Promise<string[] | null> {
      const challenge = await pending.takeChallenge(id, on);
      const response = readAuthenticationResponse(sent);
      if (challenge === null || response === null) return null;
      const stored = (await credentialsOf(userId, on)).find((one) => credentialText(one.credentialId) === response.id);
      return stored
        ? use(stored, response, { challenge, asPasskey: false, isOwnProof: method === 'password', on })
        : null;
    },

    /** Returns options for `navigator.credentials.get` with any passkey; the caller keeps the challenge. */
    passkeyOptions: (): Promise<PublicKeyCredentialRequestOptionsJSON> => ceremonies.requestOptions([], 'required'),

    /**
     * Checks the answer to a challenge that the caller has spent, in which the key has verified its user. The owner is
     * locked until the end of the transaction.
     * @param on the transaction; it has to be committed even if the answer is refused
     */
    async verifyPasskey(
      { challenge, sent }: { challenge: string; sent: unknown },
      on: Pick<Db, 'statement' | 'transaction'>,
    ): Promise<AnsweredPasskey> {
      const response = readAuthenticationResponse(sent);
      // §7.2 step 6: nobody was named before, so the authenticator has to.
      if (!response?.response.userHandle) return { key: null, amr: null };
      const credentialId = Buffer.from(response.id, 'base64url');
      const [owner] = await on.statement<Pick<KeyOfUser, OfOwner>>(lockOwnerStatement, [credentialId]);
      const [stored] = owner
        ? await on.statement<Omit<KeyOfUser, OfOwner>>(ofOwnerStatement, [owner.ownerId, credentialId])
        : [];
      if (!owner || !stored) return { key: null, amr: null };
      const key = { ...stored, ...owner };
      return { key, amr: await use(key, response, { challenge, asPasskey: true, isOwnProof: false, on }) };
    },

    /** Returns options for `navigator.credentials.create` without the user's keys; the caller keeps the challenge. */
    enrollmentOptions: async (owner: KeyOwner): Promise<PublicKeyCredentialCreationOptionsJSON> =>
      ceremonies.creationOptions(owner, await credentialsOf(owner.id)),

    verifyEnrollment: ceremonies.verifyEnrollment,
  };
}

export type UserWebauthn = ReturnType<typeof createUserWebauthn>;
