import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';
import { createPasskeyChallenges, type PasskeyChallenge } from '../mfa/webauthn/passkey-challenges.js';
import type { Webauthn } from '../mfa/webauthn/webauthn.js';

/** The authorization request that a challenge is for; it is not valid for another. */
export interface PasskeyRequest {
  /** `id` of the client's row. */
  oauthClientId: string;
  parameters: Readonly<Record<string, string>>;
}

export type PasskeyResult =
  | { outcome: 'accepted'; identityId: string; amr: string[] }
  /**
   * The passkey is unknown, of another Environment or an inactive person, or wrong: an outsider does not learn which.
   */
  | { outcome: 'refused' }
  /** The challenge is too old, was used, or was for another request. */
  | { outcome: 'expired' };

export interface PasskeyLoginDeps {
  db: Db;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  webauthn: Pick<Webauthn, 'passkeyOptions' | 'verifyPasskey'>;
  now: Clock;
}

/**
 * Sign-in with a passkey alone. It identifies the person, and counts as two factors, since it has verified its user.
 */
export function createPasskeyLogin({ db, sealing, webauthn, now }: PasskeyLoginDeps) {
  const challenges = createPasskeyChallenges({ db, sealing, context: 'passkey-login', now });

  return {
    begin: async (request: PasskeyRequest): Promise<PasskeyChallenge> =>
      challenges.begin(await webauthn.passkeyOptions(), digestOf(request)),

    /** @param sent what the browser sent, unparsed */
    async signIn(
      scope: EnvironmentScope,
      request: PasskeyRequest,
      { token, sent }: { token: string; sent: unknown },
    ): Promise<PasskeyResult> {
      const challenge = await challenges.take(token, digestOf(request));
      if (challenge === null) return { outcome: 'expired' };
      const { identityId, verified } = await webauthn.verifyPasskey(scope, { challenge, sent });
      if (identityId !== null && verified) return { outcome: 'accepted', identityId, amr: [...verified.amr, 'mfa'] };
      await db.transaction(scope, (tx) =>
        recordEvent(tx, 'auth.identity_sign_in_failed', {
          ...scope,
          resourceId: identityId,
          outcome: 'failure',
          metadata: { method: 'passkey' },
        }),
      );
      return { outcome: 'refused' };
    },
  };
}

export type PasskeyLogin = ReturnType<typeof createPasskeyLogin>;

const digestOf = ({ oauthClientId, parameters }: PasskeyRequest) =>
  createHash('sha256')
    .update(JSON.stringify([oauthClientId, Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1))]))
    .digest('base64url');
