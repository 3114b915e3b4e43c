import { type AuthenticationResponseJSON, verifyAuthenticationResponse } from '@simplewebauthn/server';
import type { MfaFactor } from '../../../entities/mfa-factor.js';
import type { Clock } from '../../platform/clock.js';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import { recordEvent } from '../events.js';

/** A stored credential, as far as an assertion is checked against it. */
export type StoredCredential = Pick<
  MfaFactor,
  'id' | 'accountId' | 'identityId' | 'credentialId' | 'publicKey' | 'signCount' | 'deviceType'
>;

/** What an assertion proved (RFC 8176): possession of a key, and who used it where the authenticator checked that. */
export interface VerifiedAssertion {
  factorId: string;
  amr: string[];
  isUserVerified: boolean;
}

export interface AssertionCheck {
  challenge: string;
  /** As the first factor: then the authenticator has to verify who uses it. */
  asPasskey: boolean;
}

export const deviceTypes = { singleDevice: 'single_device', multiDevice: 'multi_device' } as const;

/** RFC 8176: a key that never leaves its chip, or one that its maker copies; and whether it has verified who uses it. */
export const amrOf = (deviceType: MfaFactor['deviceType'], isUserVerified: boolean): string[] => [
  deviceType === 'multi_device' ? 'swk' : 'hwk',
  ...(isUserVerified ? ['user'] : []),
];

export const bytesOf = (identityId: string): Buffer => Buffer.from(identityId.replaceAll('-', ''), 'hex');
/** Names the person to the authenticator (WebAuthn Level 3 §5.4.3): an id, and nothing about them. */
const userHandleOf = (identityId: string) => bytesOf(identityId).toString('base64url');

// WebAuthn Level 3 §6.1.1: a counter grows with each use, or is always zero. Parallel uses meet the row's lock.
const useStatement = {
  name: 'use_webauthn_credential',
  text: `
update mfa_factors set sign_count = $2, is_backed_up = $3, last_used_at = $4,
  is_discoverable = case when $5 then true else is_discoverable end
where id = $1 and account_id = $6 and (sign_count < $2 or (sign_count = 0 and $2 = 0)) returning id`,
};

/** Checks assertions against stored credentials (WebAuthn Level 3 §7.2). */
export function createAssertions({ db, baseUrl, now }: { db: Db; baseUrl: string; now: Clock }) {
  const { hostname: rpID, origin } = new URL(baseUrl);

  /** Checks everything but the counter, without a look at the database. Null for whatever is wrong. */
  async function check(
    stored: StoredCredential,
    response: AuthenticationResponseJSON,
    { challenge, asPasskey }: AssertionCheck,
  ) {
    const { userHandle } = response.response;
    if (userHandle !== undefined && userHandle !== userHandleOf(stored.identityId)) return null;
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
          counter: 0, // it is compared where it is stored
        },
      });
      // §7.2 step 19: whether a key can be copied is decided when it is made.
      const isSameKind = deviceTypes[authenticationInfo.credentialDeviceType] === stored.deviceType;
      return verified && isSameKind ? authenticationInfo : null;
    } catch {
      return null; // the library throws for each thing that is wrong, and for what it cannot read
    }
  }

  /** The verified use of a credential, which counts. Null for every reason to refuse it. */
  async function use(
    scope: EnvironmentScope,
    stored: StoredCredential,
    response: AuthenticationResponseJSON,
    asked: AssertionCheck,
  ): Promise<VerifiedAssertion | null> {
    const info = await check(stored, response, asked);
    if (!info) return null;
    const { newCounter, credentialBackedUp, userVerified } = info;
    const used = await db.statement(useStatement, [
      stored.id,
      newCounter,
      credentialBackedUp,
      now(),
      asked.asPasskey,
      scope.accountId,
    ]);
    if (used.length === 0) {
      await db.transaction(scope, (tx) =>
        recordEvent(tx, 'auth.webauthn_counter_regressed', {
          ...scope,
          resourceId: stored.identityId,
          outcome: 'denied',
          metadata: { factor_id: stored.id, stored: Number(stored.signCount), received: newCounter },
        }),
      );
      return null;
    }
    return { factorId: stored.id, amr: amrOf(stored.deviceType, userVerified), isUserVerified: userVerified };
  }

  return { use };
}
