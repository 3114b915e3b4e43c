import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { gatehouse } from '../../platform/mail/brand.js';
import { DomainError } from '../errors.js';
import { givingBack } from '../limits/rate-limits.js';
import type { MfaAttempts } from '../mfa/attempts.js';
import type { TotpEnrollment } from '../mfa/codes/totp-codes.js';
import type { KeyOwner } from '../mfa/webauthn/ceremonies.js';
import type { OwnAttestation, OwnWebauthn } from '../mfa/webauthn/own.js';
import type { AddedUserFactor, UserFactorSummary, UserFactors } from './factors.js';
import type { AdminProof } from './proof.js';
import type { RemainingCodes, UserRecoveryCodes } from './recovery-codes.js';
import type { SignedInAdmin } from './signed-in-admin.js';
import type { UserTotp } from './totp.js';

export interface OwnAdminMfa {
  summary(userId: string): Promise<RemainingCodes & { factors: UserFactorSummary[] }>;
  /**
   * Checks the session before the stored response to a change of factors is repeated.
   * @throws as every change of factors
   */
  assertRecent(admin: SignedInAdmin): Promise<unknown>;
  /** @throws DomainError auth.reauthentication_required, as every change of factors */
  beginTotp(admin: SignedInAdmin): Promise<TotpEnrollment>;
  /**
   * @throws DomainError mfa.code_invalid, mfa.challenge_locked, mfa.enrollment_expired, and those of `factors.enroll`
   */
  confirmTotp(
    admin: SignedInAdmin,
    answer: { sealed: string; code: string },
    locale: 'en' | 'de',
  ): Promise<AddedUserFactor>;
  beginWebauthn(admin: SignedInAdmin): Promise<{ options: PublicKeyCredentialCreationOptionsJSON; token: string }>;
  /** @throws DomainError mfa.code_invalid, mfa.enrollment_expired, and those of `factors.enroll` */
  confirmWebauthn(
    admin: SignedInAdmin,
    answer: Omit<OwnAttestation, 'sessionId'>,
    locale: 'en' | 'de',
  ): Promise<AddedUserFactor>;
  rename: UserFactors['rename'];
  remove: UserFactors['remove'];
  renewRecoveryCodes: UserRecoveryCodes['replace'];
}

export interface OwnAdminMfaDeps {
  proof: Pick<AdminProof, 'require'>;
  attempts: Pick<MfaAttempts, 'counted'>;
  factors: Pick<UserFactors, 'enroll' | 'list' | 'rename' | 'remove'>;
  recoveryCodes: Pick<UserRecoveryCodes, 'remaining' | 'replace'>;
  totp: Pick<UserTotp, 'begin' | 'confirm'>;
  ownWebauthn: OwnWebauthn<KeyOwner>;
}

/** The name under which an authenticator lists this service. */
const { name: relyingParty } = gatehouse;

/** The operations with which platform admins manage their own second factors. */
export function createOwnAdminMfa(deps: OwnAdminMfaDeps): OwnAdminMfa {
  const { proof, attempts, factors, recoveryCodes, totp, ownWebauthn } = deps;
  return {
    async summary(userId) {
      const [list, codes] = await Promise.all([factors.list(userId), recoveryCodes.remaining(userId)]);
      return { factors: list, ...codes };
    },

    assertRecent: proof.require,

    async beginTotp(admin) {
      const { email } = await proof.require(admin);
      return totp.begin({ id: admin.userId, email, issuer: relyingParty });
    },

    async confirmTotp(admin, answer, locale) {
      await proof.require(admin);
      // These tries share the limit of the answers at sign-in, so that a session is no way around it.
      const factor = await attempts.counted(
        admin.userId,
        async () => rightOrNull(() => totp.confirm(admin.userId, answer)),
        () => false,
      );
      if (!factor) throw new DomainError('mfa.code_invalid');
      return factors.enroll(admin, { factor, amr: ['otp'] }, locale);
    },

    async beginWebauthn(admin) {
      const { email, firstName, lastName } = await proof.require(admin);
      const name = `${firstName} ${lastName}`;
      return ownWebauthn.begin(admin.sessionId, { id: admin.userId, email, name, relyingParty });
    },

    async confirmWebauthn(admin, answer, locale) {
      await proof.require(admin);
      const begun = { sessionId: admin.sessionId, ...answer };
      const proved = await ownWebauthn.verify(begun);
      return givingBack(
        () => factors.enroll(admin, proved, locale),
        () => ownWebauthn.giveBack(begun),
      );
    },

    rename: factors.rename,
    remove: factors.remove,
    renewRecoveryCodes: recoveryCodes.replace,
  };
}

function rightOrNull<T>(confirm: () => T): T | null {
  try {
    return confirm();
  } catch (error) {
    if (error instanceof DomainError && error.code === 'mfa.code_invalid') return null;
    throw error;
  }
}
