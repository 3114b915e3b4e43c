import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { after, type Clock } from '../../../platform/clock.js';
import { openSealedJson } from '../../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../../platform/crypto/sealing.js';
import type { Db } from '../../../platform/database/db.js';
import { DomainError } from '../../errors.js';
import { spend, unspend } from '../../one-time/spent-tokens.js';
import { type EnrollmentAnswer, enrollmentChallengeLife, type VerifiedAttestation } from './ceremonies.js';
import type { WebauthnPerson } from './webauthn.js';

/** The session that it was given to. */
const context = (sessionId: string) => `own-webauthn-enrollment/${sessionId}`;

interface SealedChallenge {
  challenge: string;
  expiresAt: number;
}

export interface OwnAttestation {
  sessionId: string;
  /** What `begin` answered, and what the browser sent. */
  token: string;
  sent: unknown;
  label: string | null;
}

export interface OwnWebauthnDeps<Person> {
  db: Pick<Db, 'statement'>;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  webauthn: {
    enrollmentOptions(person: Person): Promise<PublicKeyCredentialCreationOptionsJSON>;
    verifyEnrollment(answer: EnrollmentAnswer): Promise<VerifiedAttestation>;
  };
  now: Clock;
}

/** Adds passkeys and security keys for people who are signed in: the challenge is kept, sealed, in their page. */
export function createOwnWebauthn<Person>({ db, sealing, webauthn, now }: OwnWebauthnDeps<Person>) {
  return {
    async begin(
      sessionId: string,
      person: Person,
    ): Promise<{ options: PublicKeyCredentialCreationOptionsJSON; token: string }> {
      const options = await webauthn.enrollmentOptions(person);
      const content: SealedChallenge = {
        challenge: options.challenge,
        expiresAt: after(now(), enrollmentChallengeLife).getTime(),
      };
      return { options, token: sealing.seal(JSON.stringify(content), context(sessionId)) };
    },

    /**
     * The factor for an answer. The challenge is spent, even if the answer is refused.
     * @throws DomainError mfa.enrollment_expired for a challenge that was used, is too old or of another session;
     *   mfa.code_invalid
     */
    async verify({ sessionId, token, sent, label }: OwnAttestation): Promise<VerifiedAttestation> {
      const content = openSealedJson<SealedChallenge>(sealing, token, context(sessionId));
      if (!content || content.expiresAt <= now().getTime()) throw new DomainError('mfa.enrollment_expired');
      const { challenge, expiresAt } = content;
      if (!(await spend(db, challenge, new Date(expiresAt)))) throw new DomainError('mfa.enrollment_expired');
      return webauthn.verifyEnrollment({ challenge, sent, label });
    },

    /** Allows the same answer once more, where its factor could not be added for lack of capacity. */
    async giveBack({ sessionId, token }: Pick<OwnAttestation, 'sessionId' | 'token'>): Promise<void> {
      const content = openSealedJson<SealedChallenge>(sealing, token, context(sessionId));
      if (content) await unspend(db, content.challenge);
    },
  };
}

export type OwnWebauthn<Person = WebauthnPerson> = ReturnType<typeof createOwnWebauthn<Person>>;
