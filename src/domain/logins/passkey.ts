import { createHash } from 'node:crypto';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { after, type Clock, minutes } from '../../platform/clock.js';
import { openSealedJson } from '../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';
import type { Webauthn } from '../mfa/webauthn.js';
import { spend } from '../spent-tokens.js';

/** A browser may offer passkeys for as long as its sign-in page is open; after that it asks for a new challenge. */
const passkeyLife = minutes(30);
const context = 'passkey-login';

/** The authorization request that a challenge is for; it is not valid for another. */
export interface PasskeyRequest {
  /** `id` of the client's row. */
  oauthClientId: string;
  parameters: Readonly<Record<string, string>>;
}

export interface PasskeyChallenge {
  options: PublicKeyCredentialRequestOptionsJSON;
  /**
   * Identifies the challenge when the answer comes. It is sealed, so that nothing is stored for everyone who opens the
   * page.
   */
  token: string;
}

export type PasskeyResult =
  | { outcome: 'accepted'; identityId: string; amr: string[] }
  /**
   * The passkey is unknown, of another Environment or an inactive person, or wrong: an outsider does not learn which.
   */
  | { outcome: 'refused' }
  /** The challenge is too old, was used, or was for another request. */
  | { outcome: 'expired' };

interface Held {
  challenge: string;
  request: string;
  expiresAt: number;
}

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
  const open = (token: string) => openSealedJson<Held>(sealing, token, context);

  return {
    async begin(request: PasskeyRequest): Promise<PasskeyChallenge> {
      const options = await webauthn.passkeyOptions();
      const held: Held = {
        challenge: options.challenge,
        request: digestOf(request),
        expiresAt: after(now(), passkeyLife).getTime(),
      };
      return { options, token: sealing.seal(JSON.stringify(held), context) };
    },

    /** @param sent what the browser sent, unparsed */
    async signIn(
      scope: EnvironmentScope,
      request: PasskeyRequest,
      { token, sent }: { token: string; sent: unknown },
    ): Promise<PasskeyResult> {
      const held = open(token);
      if (!held || held.expiresAt <= now().getTime() || held.request !== digestOf(request)) {
        return { outcome: 'expired' };
      }
      // The challenge is spent before the answer is checked: one challenge, one answer.
      if (!(await spend(db, held.challenge, new Date(held.expiresAt)))) return { outcome: 'expired' };
      const { identityId, verified } = await webauthn.verifyPasskey(scope, { challenge: held.challenge, sent });
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
