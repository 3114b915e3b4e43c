import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { methodsOf } from '../environments/login-methods.js';
import { recordEvent } from '../events/record.js';
import { createPasskeyChallenges, type PasskeyChallenge } from '../mfa/webauthn/passkey-challenges.js';
import type { Webauthn } from '../mfa/webauthn/webauthn.js';
import type { Client } from '../oidc/clients/clients.js';
import { allowedOf } from '../organizations/barred.js';
import { recordSignInRefusal } from './refusals.js';
import type { TermsOf } from './sign-in-terms.js';

/** The authorization request that a challenge is for; it is not valid for another. */
export interface PasskeyRequest {
  /** `id` of the client's row. */
  oauthClientId: string;
  parameters: Readonly<Record<string, string>>;
}

/** The client with which a person signs in; its Environment says which other ways there are. */
type PasskeyClient = Pick<Client, 'accountId' | 'applicationId' | 'environmentId' | 'settings'>;

export type PasskeyResult =
  /** If another password was set since `passwordChangedAt`, no session begins. */
  | { outcome: 'accepted'; identityId: string; amr: string[]; passwordChangedAt: Date | null }
  /** The passkey is right, but it has not been used after the person's new password, and there is another way in. */
  | { outcome: 'second_factor_only' }
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
  termsOf: TermsOf;
  now: Clock;
}

/**
 * Sign-in with a passkey alone. It identifies the person, and counts as two factors, since it has verified its user.
 */
export function createPasskeyLogin({ db, sealing, webauthn, termsOf, now }: PasskeyLoginDeps) {
  const challenges = createPasskeyChallenges({ db, sealing, context: 'passkey-login', now });

  /**
   * Whether the person could come in with a password, which a mailed link sets, or with a mailed code. Otherwise the
   * key is all that they have here, and a new password elsewhere must not lock them out (docs/decisions/0097).
   */
  async function hasOtherMethod(client: PasskeyClient, identityId: string): Promise<boolean> {
    const { policy } = await termsOf(client, { identityId, organizationId: null, ssoConnectionId: null });
    return allowedOf(methodsOf(client.settings), policy).some((method) => method !== 'passkey');
  }

  return {
    begin: async (request: PasskeyRequest): Promise<PasskeyChallenge> =>
      challenges.begin(await webauthn.passkeyOptions(), digestOf(request)),

    /** @param sent what the browser sent, unparsed */
    async signIn(
      client: PasskeyClient,
      request: PasskeyRequest,
      { token, sent }: { token: string; sent: unknown },
    ): Promise<PasskeyResult> {
      const challenge = await challenges.take(token, digestOf(request));
      if (challenge === null) return { outcome: 'expired' };
      const scope = environmentScopeOf(client);
      const { key, amr } = await webauthn.verifyPasskey(scope, { challenge, sent });
      const identityId = key?.ownerId ?? null;
      if (key && amr) {
        const { ownerId, signsIn, passwordChangedAt } = key;
        if (signsIn || !(await hasOtherMethod(client, ownerId)))
          return { outcome: 'accepted', identityId: ownerId, amr: [...amr, 'mfa'], passwordChangedAt };
        const reason = 'mfa.second_factor_only';
        await recordSignInRefusal(db, client, { identityId: ownerId, method: 'passkey', reason });
        return { outcome: 'second_factor_only' };
      }
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
