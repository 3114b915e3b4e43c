import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { v7 as uuidv7 } from 'uuid';
import type { MfaFactor } from '../../../../entities/mfa-factor.js';
import { minutes } from '../../../platform/clock.js';
import { DomainError } from '../../errors.js';
import { factorLabel } from '../factor-label.js';
import { readRegistrationResponse } from './responses.js';

/** How long the browser waits for the person (WebAuthn Level 3 §15.1 recommends five to ten minutes). */
const ceremonyLife = minutes(5);
/** How long the challenge of an enrollment is valid: a minute more than the browser waits. */
export const enrollmentChallengeLife = ceremonyLife + minutes(1);

/** EdDSA, ES256, RS256: what authenticators speak, and every Node.js verifies. */
const algorithms = [-8, -7, -257];
/** An RSA key of 8192 bits has half of it; larger ones take long to check. */
const maxKeyLength = 2048;

type DeviceType = MfaFactor['deviceType'];
const deviceTypes = { singleDevice: 'single_device', multiDevice: 'multi_device' } as const;

/**
 * RFC 8176: a key that never leaves its chip, or one that its maker copies; and whether it has verified who uses it.
 */
export const amrOf = (deviceType: DeviceType, isUserVerified: boolean): string[] => [
  deviceType === 'multi_device' ? 'swk' : 'hwk',
  ...(isUserVerified ? ['user'] : []),
];

/** A credential as it is named to the browser. */
export interface KnownCredential {
  credentialId: Buffer | null;
  transports: string[] | null;
}

/** A stored credential, as far as an assertion is checked against it. */
export interface CheckedCredential {
  /** The id of its owner. */
  ownerId: string;
  publicKey: Buffer | null;
  deviceType: DeviceType;
}

export interface AssertionCheck {
  challenge: string;
  /** As the first factor: then the authenticator has to verify who uses it. */
  asPasskey: boolean;
}

/** The person who enrolls a key. */
export interface KeyOwner {
  id: string;
  email: string;
  /** What the person is called; the address where nothing is known. */
  name: string;
  /** The name of the service under which the authenticator lists the passkey. */
  relyingParty: string;
}

/** A factor that a new key makes. */
export interface KeyFactor {
  id: string;
  type: 'webauthn';
  label: string;
  credentialId: Buffer;
  publicKey: Buffer;
  signCount: string;
  transports: string[];
  deviceType: NonNullable<DeviceType>;
  isBackedUp: boolean;
  isDiscoverable: boolean | null;
}

/** A key that was just made, and what making it proved (RFC 8176). */
export interface VerifiedAttestation {
  factor: KeyFactor;
  amr: string[];
}

export interface EnrollmentAnswer {
  challenge: string;
  /** What the browser sent, unread. */
  sent: unknown;
  label?: string | null;
}

export const credentialText = (id: Buffer | null): string => (id as Buffer).toString('base64url');
const bytesOf = (ownerId: string): Buffer => Buffer.from(ownerId.replaceAll('-', ''), 'hex');
/** Names the person to the authenticator (WebAuthn Level 3 §5.4.3): an id, and nothing about them. */
const userHandleOf = (ownerId: string) => bytesOf(ownerId).toString('base64url');

const described = (credentials: readonly KnownCredential[]) =>
  credentials.map(({ credentialId, transports }) => ({
    id: credentialText(credentialId),
    transports: (transports ?? undefined) as never,
  }));

/**
 * The part of a relying party in WebAuthn Level 3, for keys of end users and administrators: options, and the checks of
 * the responses. Nothing is looked up or stored.
 * @param baseUrl its host is the relying party's id, and its origin the only one that may ask
 */
export function createCeremonies(baseUrl: string) {
  const { hostname: rpID, origin } = new URL(baseUrl);

  return {
    /** Options for `navigator.credentials.get`, with one of these credentials, or with any passkey of this service. */
    requestOptions: (
      allowed: readonly KnownCredential[],
      userVerification: 'preferred' | 'required',
    ): Promise<PublicKeyCredentialRequestOptionsJSON> =>
      generateAuthenticationOptions({
        rpID,
        allowCredentials: described(allowed),
        userVerification,
        timeout: ceremonyLife,
      }),

    /** Options for `navigator.credentials.create`. Keys that the person has are excluded. */
    creationOptions: (
      { id, email, name, relyingParty }: KeyOwner,
      existing: readonly KnownCredential[],
    ): Promise<PublicKeyCredentialCreationOptionsJSON> =>
      generateRegistrationOptions({
        rpID,
        rpName: relyingParty,
        userID: new Uint8Array(bytesOf(id)),
        userName: email,
        userDisplayName: name,
        excludeCredentials: described(existing),
        attestationType: 'none',
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
        supportedAlgorithmIDs: algorithms,
        timeout: ceremonyLife,
      }),

    /**
     * Returns the factor of an answer to a challenge that the caller has spent.
     * @param label the person's name for it; without one, its kind
     * @throws DomainError mfa.code_invalid if it is refused, whatever the reason
     */
    async verifyEnrollment({ challenge, sent, label }: EnrollmentAnswer): Promise<VerifiedAttestation> {
      const read = readRegistrationResponse(sent);
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
          label: factorLabel(label) ?? (isPasskey ? 'Passkey' : 'Security key'),
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

    /** Checks everything of an assertion but the counter (§7.2). Null for whatever is wrong. */
    async checkAssertion(
      stored: CheckedCredential,
      response: AuthenticationResponseJSON,
      { challenge, asPasskey }: AssertionCheck,
    ) {
      const { userHandle } = response.response;
      if (userHandle !== undefined && userHandle !== userHandleOf(stored.ownerId)) return null;
      try {
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          response,
          expectedChallenge: challenge,
          expectedOrigin: origin,
          expectedRPID: rpID,
          requireUserVerification: asPasskey,
          credential: {
            id: response.id,
            publicKey: new Uint8Array(stored.publicKey as Buffer),
            counter: 0, // the statement that stores it compares it
          },
        });
        // §7.2 step 19: whether a key can be copied is decided when it is made.
        const isSameKind = deviceTypes[authenticationInfo.credentialDeviceType] === stored.deviceType;
        return verified && isSameKind ? authenticationInfo : null;
      } catch {
        return null; // the library throws for each thing that is wrong, and for what it cannot read
      }
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
      return isWhole && registrationInfo.credential.publicKey.length <= maxKeyLength ? registrationInfo : null;
    } catch {
      return null; // the library throws for each thing that is wrong, and for what it cannot read
    }
  }
}
