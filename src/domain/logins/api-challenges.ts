import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import type { Locale } from '../../platform/mail/texts.js';
import { DomainError } from '../errors.js';
import type { SecondFactor } from '../mfa/challenges.js';
import type { Trusted } from '../mfa/trusted-devices.js';
import type { Client, Clients } from '../oidc/clients/clients.js';
import { allowedScopes } from '../oidc/scopes.js';
import type { ApiLogin, ApiSignIn, ApiVisit } from './api-sign-in.js';
import type { Logins } from './logins.js';
import { type OpenSignIn, provedIn } from './pending-sign-ins.js';

export interface ApiAnswer extends Pick<ApiVisit, 'device' | 'ipAddress' | 'userAgent'> {
  /** The `challenge_token`. */
  token: string;
  proof: SecondFactor;
  /** Whether the browser is to be trusted afterwards, if the Environment allows that. */
  remember: boolean;
}

export interface AnsweredApiChallenge {
  /** Null unless the browser is trusted from now on. */
  trusted: Trusted | null;
  /** To the end of the sign-in. @throws DomainError as `ApiSignIn.proved` */
  goOn(): Promise<ApiLogin>;
}

export interface ApiChallengesDeps {
  db: Pick<Db, 'statement'>;
  logins: Pick<Logins, 'pendingSignIns' | 'mfaChallenges'>;
  clients: Clients;
  signIn: Pick<ApiSignIn, 'proved'>;
}

/** Also finds those that have ended, so that their client's scripts may read that they have. */
const clientStatement = {
  name: 'client_of_api_challenge',
  text: `select c.client_id as "clientId" from pending_sign_ins p join oauth_clients c on c.id = p.oauth_client_id
where p.token_hash = $1 and p.channel = 'api'`,
};

/** The second half of a sign-in by the API, for the `challenge_token` that the first half answered. */
export function createApiChallenges({ db, logins, clients, signIn }: ApiChallengesDeps) {
  const { pendingSignIns, mfaChallenges } = logins;

  /** @throws DomainError mfa.challenge_invalid for one that is unknown, over, complete, or of the hosted pages */
  async function open(token: string): Promise<{ pending: OpenSignIn; client: Client }> {
    const pending = await pendingSignIns.find(token, 'api');
    const client = pending && (await clients.find(pending.parameters.client_id ?? ''));
    // The client may have been deleted since, and another one may have its name.
    if (pending?.purpose !== 'challenge' || client?.id !== pending.oauthClientId) {
      throw new DomainError('mfa.challenge_invalid');
    }
    return { pending, client };
  }

  return {
    async clientOf(token: string): Promise<Client | null> {
      const [found] = await db.statement<{ clientId: string }>(clientStatement, [hashSecret(token)]);
      return found ? clients.find(found.clientId) : null;
    },

    /**
     * Checks a second factor; the token works once. A browser that is trusted by it needs its new cookie even if going
     * on is refused: the old one is void.
     * @throws DomainError mfa.challenge_invalid, mfa.code_invalid, mfa.challenge_locked
     */
    async answer({ token, proof, remember, ...browser }: ApiAnswer): Promise<AnsweredApiChallenge> {
      const { pending, client } = await open(token);
      const { requiresAal2 } = pending;
      const days = client.settings.mfaTrustedDeviceDays;
      const { device, userAgent } = browser;
      const isTrusting = remember && days > 0;
      const { proved, trusted } = await mfaChallenges.answer(
        pending,
        proof,
        isTrusting ? { days, device, userAgent } : null,
      );
      const visit = { client, scope: allowedScopes(pending.parameters.scope, client.scopes), requiresAal2, ...browser };
      return {
        trusted,
        goOn: () => signIn.proved(visit, { ...provedIn(pending), ...proved }, { hasProvedFactor: true }),
      };
    },

    /**
     * Mails a code.
     * @param localeFor the mail's language, by the Environment's
     * @throws DomainError mfa.challenge_invalid, mfa.email_unavailable, rate_limit.exceeded
     */
    async sendEmailCode(token: string, localeFor: (ofEnvironment: Locale) => Locale): Promise<void> {
      const { pending, client } = await open(token);
      await mfaChallenges.sendEmailCode(pending, localeFor(client.settings.defaultLocale));
    },

    /** For `navigator.credentials.get`. @throws DomainError mfa.challenge_invalid, mfa.factor_not_allowed */
    async webauthnOptions(token: string) {
      const { pending } = await open(token);
      return mfaChallenges.webauthnOptions(pending);
    },
  };
}

export type ApiChallenges = ReturnType<typeof createApiChallenges>;
