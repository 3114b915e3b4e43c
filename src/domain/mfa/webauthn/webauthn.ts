import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import type { Identity } from '../../../../entities/identity.js';
import { MfaFactor } from '../../../../entities/mfa-factor.js';
import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import { type EnvironmentScope, environmentScopeOf } from '../../../platform/scope.js';
import { recordEvent } from '../../events/record.js';
import type { OpenSignIn, PendingSignIns } from '../../logins/pending-sign-ins.js';
import { createAssertions, type StoredKey, type Use } from './assertions.js';
import {
  createCeremonies,
  credentialText,
  type KeyOwner,
  type KnownCredential,
  type VerifiedAttestation,
} from './ceremonies.js';
import { keysOfIdentities } from './keys.js';
import { readAuthenticationResponse } from './responses.js';

export type { VerifiedAttestation };

/** The part of a waiting sign-in that matters to the check of a key. */
type AssertedSignIn = Pick<
  OpenSignIn,
  'id' | 'accountId' | 'applicationId' | 'environmentId' | 'identityId' | 'ssoConnectionId'
>;

export interface WebauthnPerson extends Omit<KeyOwner, 'id'> {
  accountId: string;
  identityId: string;
}

/** A key that answered as a passkey, and what its owner's session checks again. */
export interface PasskeyOfMember extends StoredKey, Pick<MfaFactor, 'signsIn'>, Pick<Identity, 'passwordChangedAt'> {}

export interface AnsweredPasskey {
  /** Null if no active member of the Environment has it, whatever the answer is worth. */
  key: PasskeyOfMember | null;
  /** RFC 8176; null if the answer is refused, whatever the reason. */
  amr: string[] | null;
}

const keyColumns = `f.id, f.identity_id as "ownerId", f.credential_id as "credentialId", f.public_key as "publicKey",
  f.sign_count as "signCount", f.device_type as "deviceType"`;
const ofIdentityStatement = {
  name: 'webauthn_credentials_of_identity',
  text: `
select ${keyColumns}, f.transports from mfa_factors f
where f.account_id = $1 and f.identity_id = $2 and f.type = 'webauthn' order by f.enrolled_at, f.id`,
};
/** Finds a credential by its id, in an Account, if the person is an active member of the Environment. */
const ofMemberStatement = {
  name: 'webauthn_credential_of_member',
  text: `
select ${keyColumns}, f.signs_in as "signsIn", i."passwordChangedAt" from mfa_factors f
  cross join lateral (select date_trunc('milliseconds', password_changed_at) as "passwordChangedAt"
    from identities where id = f.identity_id offset 0) i
  cross join lateral (select is_active from environment_memberships
    where environment_id = $2 and identity_id = f.identity_id offset 0) m
where f.account_id = $1 and f.credential_id = $3 and f.type = 'webauthn' and m.is_active`,
};

export interface WebauthnDeps {
  db: Db;
  /** Its host is the relying party's id, and its origin the only one that may ask. */
  baseUrl: string;
  pendingSignIns: Pick<PendingSignIns, 'setWebauthnChallenge' | 'takeWebauthnChallenge'>;
  now: Clock;
}

/** Passkeys and security keys (WebAuthn Level 3): enrolled as second factors, and used as those or as the first one. */
export function createWebauthn({ db, baseUrl, pendingSignIns, now }: WebauthnDeps) {
  const ceremonies = createCeremonies(baseUrl);
  const assertions = createAssertions({ baseUrl, keys: keysOfIdentities, now });

  const credentialsOf = (accountId: string, identityId: string, on: Pick<Db, 'statement'> = db) =>
    on.statement<StoredKey & KnownCredential>(ofIdentityStatement, [accountId, identityId]);

  /** Records, in the scope, that the counter of a key did not grow. */
  const recordRegression =
    (scope: EnvironmentScope, { id, ownerId }: StoredKey, on: Pick<Db, 'transaction'>): Use['onRegressed'] =>
    (metadata) =>
      on.transaction(scope, async (tx) => {
        // No event for a key that was removed meanwhile: nothing is known of its counter.
        if (!(await tx.existsBy(MfaFactor, { accountId: scope.accountId, id }))) return;
        const about = { ...scope, resourceId: ownerId, outcome: 'denied' as const, metadata };
        await recordEvent(tx, 'auth.webauthn_counter_regressed', about);
      });

  return {
    /**
     * Options for `navigator.credentials.get` with one of the person's keys; replaces an earlier challenge of the
     * sign-in.
     */
    async assertionOptions(
      pending: Pick<OpenSignIn, 'id' | 'accountId' | 'identityId'>,
    ): Promise<PublicKeyCredentialRequestOptionsJSON> {
      const credentials = await credentialsOf(pending.accountId, pending.identityId);
      const options = await ceremonies.requestOptions(credentials, 'preferred');
      await pendingSignIns.setWebauthnChallenge(pending.id, options.challenge);
      return options;
    },

    /**
     * Checks the answer to the last challenge of a sign-in, and spends the challenge whatever the result. After a
     * provider's word a key does not become one that signs in: it would outlive the provider, and open other Applications
     * (docs/decisions/0012).
     * @param sent what the browser sent, not validated yet
     * @param on the transaction that the check is part of; it has to be committed even if the answer is refused
     * @returns RFC 8176 names of what was proved; null if the answer is refused, whatever the reason
     */
    async verifyAssertion(
      pending: AssertedSignIn,
      sent: unknown,
      on: Pick<Db, 'statement' | 'transaction'>,
    ): Promise<string[] | null> {
      const { accountId, identityId, ssoConnectionId } = pending;
      const challenge = await pendingSignIns.takeWebauthnChallenge(pending.id, on);
      const response = readAuthenticationResponse(sent);
      if (challenge === null || response === null) return null;
      const stored = (await credentialsOf(accountId, identityId, on)).find(
        ({ credentialId }) => credentialText(credentialId) === response.id,
      );
      if (!stored) return null;
      const onRegressed = recordRegression(environmentScopeOf(pending), stored, on);
      const isOwnProof = ssoConnectionId === null;
      return assertions.use(stored, response, { challenge, asPasskey: false, isOwnProof, on, onRegressed });
    },

    /** Options for `navigator.credentials.get` with any passkey of this service: which person it is, is its answer. */
    passkeyOptions: (): Promise<PublicKeyCredentialRequestOptionsJSON> => ceremonies.requestOptions([], 'required'),

    /**
     * Checks the answer to a challenge that the caller has spent, in which the key has verified its user, who is an
     * active member of the Environment. Whether it signs in by itself is for the caller to judge.
     */
    async verifyPasskey(
      scope: EnvironmentScope,
      { challenge, sent }: { challenge: string; sent: unknown },
    ): Promise<AnsweredPasskey> {
      const response = readAuthenticationResponse(sent);
      // §7.2 step 6: nobody was named before, so the authenticator has to.
      if (!response?.response.userHandle) return { key: null, amr: null };
      const [key] = await db.statement<PasskeyOfMember>(ofMemberStatement, [
        scope.accountId,
        scope.environmentId,
        Buffer.from(response.id, 'base64url'),
      ]);
      if (!key) return { key: null, amr: null };
      const onRegressed = recordRegression(scope, key, db);
      const use = { challenge, asPasskey: true, isOwnProof: false, on: db, onRegressed };
      return { key, amr: await assertions.use(key, response, use) };
    },

    /**
     * Options for `navigator.credentials.create`; the caller keeps their challenge. Keys that the person has are
     * excluded.
     */
    enrollmentOptions: async ({
      accountId,
      identityId,
      ...person
    }: WebauthnPerson): Promise<PublicKeyCredentialCreationOptionsJSON> =>
      ceremonies.creationOptions({ id: identityId, ...person }, await credentialsOf(accountId, identityId)),

    verifyEnrollment: ceremonies.verifyEnrollment,
  };
}

export type Webauthn = ReturnType<typeof createWebauthn>;
