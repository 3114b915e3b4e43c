import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { v7 as uuidv7 } from 'uuid';
import { type Clock, minutes } from '../../platform/clock.js';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import type { OpenSignIn, PendingSignIns } from '../logins/pending-sign-ins.js';
import type { NewFactor } from './factors.js';
import {
  amrOf,
  bytesOf,
  createAssertions,
  deviceTypes,
  type StoredCredential,
  type VerifiedAssertion,
} from './webauthn-assertions.js';
import { readAssertion, readAttestation } from './webauthn-responses.js';

/** How long the browser waits for the person (WebAuthn Level 3 §15.1 recommends five to ten minutes). */
export const ceremonyLife = minutes(5);

/** EdDSA, ES256, RS256: what authenticators speak, and every Node.js verifies. */
const algorithms = [-8, -7, -257];
/** RSA of 8192 bits has half of it; checking more takes whoever asks long. */
const longestKey = 2048;

/** A key that was just made, and what making it proved (RFC 8176). */
export interface VerifiedAttestation {
  factor: NewFactor;
  amr: string[];
}

export interface EnrollmentAnswer {
  challenge: string;
  /** What the browser sent, unread. */
  sent: unknown;
  label?: string | null;
}

export interface WebauthnPerson {
  accountId: string;
  identityId: string;
  email: string;
  /** What the person is called; the address where nothing is known. */
  name: string;
  /** Whose passkey the authenticator says it is, for people. */
  relyingParty: string;
}

const credentialColumns = `f.id, f.account_id as "accountId", f.identity_id as "identityId", f.credential_id as "credentialId",
  f.public_key as "publicKey", f.sign_count as "signCount", f.device_type as "deviceType"`;
const ofIdentityStatement = {
  name: 'webauthn_credentials_of_identity',
  text: `
select ${credentialColumns}, f.transports from mfa_factors f
where f.account_id = $1 and f.identity_id = $2 and f.type = 'webauthn' order by f.enrolled_at, f.id`,
};
/** By its id, in an Account, where the person is an active member of the Environment. */
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
  const { hostname: rpID, origin } = new URL(baseUrl);
  const assertions = createAssertions({ db, baseUrl, now });

  const credentialsOf = (accountId: string, identityId: string) =>
    db.statement<StoredCredential & { transports: string[] | null }>(ofIdentityStatement, [accountId, identityId]);

  const described = async (accountId: string, identityId: string) =>
    (await credentialsOf(accountId, identityId)).map(({ credentialId, transports }) => ({
      id: textOf(credentialId),
      transports: transports ?? undefined,
    }));

  return {
    /** Options for `navigator.credentials.get` with one of the person's keys; replaces an earlier challenge of the sign-in. */
    async assertionOptions(
      pending: Pick<OpenSignIn, 'id' | 'accountId' | 'identityId'>,
    ): Promise<PublicKeyCredentialRequestOptionsJSON> {
      const options = await generateAuthenticationOptions({
        rpID,
        allowCredentials: await described(pending.accountId, pending.identityId),
        userVerification: 'preferred',
        timeout: ceremonyLife,
      });
      await pendingSignIns.setWebauthnChallenge(pending.id, options.challenge);
      return options;
    },

    /**
     * Checks the answer to the last challenge of a sign-in, which is spent by that whatever comes of it.
     * @param sent what the browser sent, unread
     * @returns null for every reason to refuse it
     */
    async verifyAssertion(
      pending: Pick<OpenSignIn, 'id' | 'accountId' | 'applicationId' | 'environmentId' | 'identityId'>,
      sent: unknown,
    ): Promise<VerifiedAssertion | null> {
      const { accountId, applicationId, environmentId, identityId } = pending;
      const challenge = await pendingSignIns.takeWebauthnChallenge(pending.id);
      const response = readAssertion(sent);
      if (challenge === null || response === null) return null;
      const stored = (await credentialsOf(accountId, identityId)).find(
        ({ credentialId }) => textOf(credentialId) === response.id,
      );
      if (!stored) return null;
      const scope = { accountId, applicationId, environmentId };
      return assertions.use(scope, stored, response, { challenge, asPasskey: false });
    },

    /** Options for `navigator.credentials.get` with any passkey of this service: which person it is, is its answer. */
    passkeyOptions: (): Promise<PublicKeyCredentialRequestOptionsJSON> =>
      generateAuthenticationOptions({
        rpID,
        allowCredentials: [],
        userVerification: 'required',
        timeout: ceremonyLife,
      }),

    /**
     * Whose passkey answered a challenge that the caller has spent, with its user verified, where that person is an active
     * member of the Environment. Null for every reason to refuse it; `identityId` tells whose it was where that is known.
     */
    async verifyPasskey(
      scope: EnvironmentScope,
      { challenge, sent }: { challenge: string; sent: unknown },
    ): Promise<{ identityId: string | null; verified: VerifiedAssertion | null }> {
      const response = readAssertion(sent);
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

    /** Options for `navigator.credentials.create`; the caller keeps their challenge. Keys that the person has are excluded. */
    async enrollmentOptions({
      accountId,
      identityId,
      email,
      name,
      relyingParty,
    }: WebauthnPerson): Promise<PublicKeyCredentialCreationOptionsJSON> {
      return generateRegistrationOptions({
        rpID,
        rpName: relyingParty,
        userID: new Uint8Array(bytesOf(identityId)),
        userName: email,
        userDisplayName: name,
        excludeCredentials: await described(accountId, identityId),
        attestationType: 'none',
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
        supportedAlgorithmIDs: algorithms,
        timeout: ceremonyLife,
      });
    },

    /**
     * The factor that the answer to a challenge makes, which the caller has spent.
     * @param label what the person calls it; what it is, where they say nothing
     * @throws DomainError mfa.code_invalid for every reason to refuse it
     */
    async verifyEnrollment({ challenge, sent, label }: EnrollmentAnswer): Promise<VerifiedAttestation> {
      const read = readAttestation(sent);
      const made = read && (await attested(read.response, challenge));
      if (!made) throw new DomainError('mfa.code_invalid');
      const { credential, credentialDeviceType, credentialBackedUp, userVerified } = made;
      const { transports, isDiscoverable } = read;
      const deviceType = deviceTypes[credentialDeviceType];
      const isPasskey = deviceType === 'multi_device' || transports.includes('internal');
      return {
        factor: {
          id: uuidv7(),
          type: 'webauthn',
          label: readLabel(label) ?? (isPasskey ? 'Passkey' : 'Security key'),
          credentialId: Buffer.from(credential.id, 'base64url'),
          publicKey: Buffer.from(credential.publicKey),
          signCount: String(credential.counter),
          transports,
          deviceType,
          isBackedUp: credentialBackedUp,
          isDiscoverable,
        },
        amr: amrOf(deviceType, userVerified),
      };
    },
  };

  /** WebAuthn Level 3 §7.1, or null. */
  async function attested(response: RegistrationResponseJSON, challenge: string) {
    try {
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: false,
        supportedAlgorithmIDs: algorithms,
      });
      const isWhole = verified && registrationInfo.credential.id === response.id;
      return isWhole && registrationInfo.credential.publicKey.length <= longestKey ? registrationInfo : null;
    } catch {
      return null; // the library throws for each thing that is wrong, and for what it cannot read
    }
  }
}

export type Webauthn = ReturnType<typeof createWebauthn>;

const textOf = (id: Buffer | null) => (id as Buffer).toString('base64url');

/** As much of what somebody typed as a list can show, or null. */
function readLabel(typed: string | null | undefined): string | null {
  const shown = [...(typed ?? '').replace(/\p{C}/gu, ' ').trim()].slice(0, 100).join('').trim();
  return shown === '' ? null : shown;
}
