import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import { type EnvironmentScope, environmentScopeOf } from '../../../platform/scope.js';
import type { OpenSignIn, PendingSignIns } from '../../logins/pending-sign-ins.js';
import { createAssertions, type StoredCredential, type VerifiedAssertion } from './assertions.js';
import { createCeremonies, credentialText, type KeyOwner, type VerifiedAttestation } from './ceremonies.js';
import { readAuthenticationResponse } from './responses.js';

export type { VerifiedAttestation };

export interface WebauthnPerson extends Omit<KeyOwner, 'id'> {
  accountId: string;
  identityId: string;
}

const credentialColumns = `f.id, f.account_id as "accountId", f.identity_id as "identityId", f.credential_id as "credentialId",
  f.public_key as "publicKey", f.sign_count as "signCount", f.device_type as "deviceType"`;
const ofIdentityStatement = {
  name: 'webauthn_credentials_of_identity',
  text: `
select ${credentialColumns}, f.transports from mfa_factors f
where f.account_id = $1 and f.identity_id = $2 and f.type = 'webauthn' order by f.enrolled_at, f.id`,
};
/** Finds a credential by its id, in an Account, if the person is an active member of the Environment. */
const ofMemberStatement = {
  name: 'webauthn_credential_of_member',
  text: `
select ${credentialColumns} from mfa_factors f
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
  const assertions = createAssertions({ db, baseUrl, now });

  const credentialsOf = (accountId: string, identityId: string, on: Pick<Db, 'statement'> = db) =>
    on.statement<StoredCredential & { transports: string[] | null }>(ofIdentityStatement, [accountId, identityId]);

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
     * Checks the answer to the last challenge of a sign-in, and spends the challenge whatever the result.
     * @param sent what the browser sent, not validated yet
     * @param on the transaction that the check is part of, if any; it has to be committed even if the answer is refused
     * @returns null if the answer is refused, whatever the reason
     */
    async verifyAssertion(
      pending: Pick<OpenSignIn, 'id' | 'accountId' | 'applicationId' | 'environmentId' | 'identityId'>,
      sent: unknown,
      on: Pick<Db, 'statement' | 'transaction'> = db,
    ): Promise<VerifiedAssertion | null> {
      const { accountId, identityId } = pending;
      const challenge = await pendingSignIns.takeWebauthnChallenge(pending.id, on);
      const response = readAuthenticationResponse(sent);
      if (challenge === null || response === null) return null;
      const stored = (await credentialsOf(accountId, identityId, on)).find(
        ({ credentialId }) => credentialText(credentialId) === response.id,
      );
      if (!stored) return null;
      return assertions.use(environmentScopeOf(pending), stored, response, { challenge, asPasskey: false }, on);
    },

    /** Options for `navigator.credentials.get` with any passkey of this service: which person it is, is its answer. */
    passkeyOptions: (): Promise<PublicKeyCredentialRequestOptionsJSON> => ceremonies.requestOptions([], 'required'),

    /**
     * Returns whose passkey answered a challenge that the caller has spent, with its user verified, if that person is
     * an active member of the Environment. Null if it is refused, whatever the reason; `identityId` is its owner, if
     * known.
     */
    async verifyPasskey(
      scope: EnvironmentScope,
      { challenge, sent }: { challenge: string; sent: unknown },
    ): Promise<{ identityId: string | null; verified: VerifiedAssertion | null }> {
      const response = readAuthenticationResponse(sent);
      // §7.2 step 6: nobody was named before, so the authenticator has to.
      if (!response?.response.userHandle) return { identityId: null, verified: null };
      const [stored] = await db.statement<StoredCredential>(ofMemberStatement, [
        scope.accountId,
        scope.environmentId,
        Buffer.from(response.id, 'base64url'),
      ]);
      if (!stored) return { identityId: null, verified: null };
      const verified = await assertions.use(scope, stored, response, { challenge, asPasskey: true });
      return { identityId: stored.identityId, verified };
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
