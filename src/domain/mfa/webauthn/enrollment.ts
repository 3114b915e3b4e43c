import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { after, type Clock } from '../../../platform/clock.js';
import { openSealedJson } from '../../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../../platform/crypto/sealing.js';
import { DomainError } from '../../errors.js';
import type { OpenSignIn, PendingSignIns } from '../../logins/pending-sign-ins.js';
import { enrollmentChallengeLife } from './ceremonies.js';
import type { VerifiedAttestation, Webauthn, WebauthnPerson } from './webauthn.js';

const context = 'webauthn-enrollment';

/** What a fresh `enrollment_token` holds. */
interface SealedChallenge {
  /** The sign-in's own `enrollment_token`. */
  token: string;
  challenge: string;
  expiresAt: number;
}

/** A token as it was sent, opened. */
export interface EnrollmentToken {
  token: string;
  /** The challenge that was issued with it; null for the sign-in's own, which was not issued separately. */
  challenge: string | null;
}

export interface WebauthnEnrollmentsDeps {
  sealing: Pick<Sealing, 'seal' | 'open'>;
  pendingSignIns: Pick<PendingSignIns, 'setWebauthnChallenge' | 'takeWebauthnChallenge'>;
  webauthn: Pick<Webauthn, 'enrollmentOptions' | 'verifyEnrollment'>;
  now: Clock;
}

/**
 * Enrollment of a passkey or security key in the middle of a sign-in. Each set of options has a token of its own, which
 * seals the sign-in's and names the challenge; only the last one works. The page's own token stays good for other
 * factors.
 */
export function createWebauthnEnrollments({ sealing, pendingSignIns, webauthn, now }: WebauthnEnrollmentsDeps) {
  return {
    /** Reads a token of either kind. Null for one that is forged or too old. */
    read(sent: string): EnrollmentToken | null {
      if (!sent.includes('.')) return { token: sent, challenge: null };
      const content = openSealedJson<SealedChallenge>(sealing, sent, context);
      return content && content.expiresAt > now().getTime()
        ? { token: content.token, challenge: content.challenge }
        : null;
    },

    /** @param token the sign-in's own */
    async begin(
      pending: OpenSignIn,
      { token, ...person }: Pick<WebauthnPerson, 'name' | 'relyingParty'> & { token: string },
    ): Promise<{ options: PublicKeyCredentialCreationOptionsJSON; token: string }> {
      const { accountId, identityId, email } = pending;
      const options = await webauthn.enrollmentOptions({ accountId, identityId, email, ...person });
      await pendingSignIns.setWebauthnChallenge(pending.id, options.challenge);
      const content: SealedChallenge = {
        token,
        challenge: options.challenge,
        expiresAt: after(now(), enrollmentChallengeLife).getTime(),
      };
      return { options, token: sealing.seal(JSON.stringify(content), context) };
    },

    /**
     * The factor that an answer makes. Its challenge is spent by that, even if the answer is refused.
     * @throws DomainError mfa.enrollment_expired for a challenge that was used, or is not the last one;
     *   mfa.code_invalid
     */
    async verify(
      pending: OpenSignIn,
      { challenge, sent, label }: { challenge: string | null; sent: unknown; label: string | null },
    ): Promise<VerifiedAttestation> {
      const isLast = challenge !== null && pending.webauthnChallenge === challenge;
      if (!isLast || (await pendingSignIns.takeWebauthnChallenge(pending.id)) !== challenge) {
        throw new DomainError('mfa.enrollment_expired');
      }
      return webauthn.verifyEnrollment({ challenge, sent, label });
    },

    /** Lets the same answer be accepted once more: for lack of capacity nothing was enrolled by it. */
    async giveBack(pending: OpenSignIn, challenge: string | null): Promise<void> {
      if (challenge !== null) await pendingSignIns.setWebauthnChallenge(pending.id, challenge);
    },
  };
}

export type WebauthnEnrollments = ReturnType<typeof createWebauthnEnrollments>;
