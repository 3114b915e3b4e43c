import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { after, type Clock, minutes } from '../../../platform/clock.js';
import { openSealedJson } from '../../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../../platform/crypto/sealing.js';
import type { Db } from '../../../platform/database/db.js';
import { spend } from '../../one-time/spent-tokens.js';

/** A browser may offer passkeys for as long as its sign-in page is open; after that it asks for a new challenge. */
const life = minutes(30);

export interface PasskeyChallenge {
  options: PublicKeyCredentialRequestOptionsJSON;
  /**
   * Identifies the challenge when the answer comes. It is sealed, so that nothing is stored for everyone who opens the
   * page.
   */
  token: string;
}

interface SealedChallenge {
  challenge: string;
  request: string;
  expiresAt: number;
}

export interface PasskeyChallengesDeps {
  db: Pick<Db, 'statement'>;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  /** Whose challenges they are: a token of end users is none of administrators. */
  context: string;
  now: Clock;
}

/** The challenges of sign-ins with a passkey alone, for end users and administrators. */
export function createPasskeyChallenges({ db, sealing, context, now }: PasskeyChallengesDeps) {
  return {
    /** @param request a digest of what the sign-in is for; the challenge is not valid for anything else */
    begin(options: PublicKeyCredentialRequestOptionsJSON, request: string): PasskeyChallenge {
      const content: SealedChallenge = {
        challenge: options.challenge,
        request,
        expiresAt: after(now(), life).getTime(),
      };
      return { options, token: sealing.seal(JSON.stringify(content), context) };
    },

    /**
     * Returns the challenge of a token, and spends it before its answer is checked: one challenge, one answer. Null if
     * it is too old, was used, or was for something else.
     */
    async take(token: string, request: string): Promise<string | null> {
      const content = openSealedJson<SealedChallenge>(sealing, token, context);
      if (!content || content.expiresAt <= now().getTime() || content.request !== request) return null;
      return (await spend(db, content.challenge, new Date(content.expiresAt))) ? content.challenge : null;
    },
  };
}
