import { v7 as uuidv7 } from 'uuid';
import { type Clock, epochSeconds, minutes } from '../../platform/clock.js';
import { DomainError } from '../errors.js';
import { isInvalidToken, type SigningKeys } from '../oidc/keys.js';
import { type Acr, authTimeOf, type FirstFactor } from '../sessions/first-factor.js';

/** The `client_id` in admin tokens; no OAuth client has this id. */
const portalClientId = 'gatehouse-portal';
const lifetimeMs = minutes(15);

/** The subject of a platform admin's access token. */
export interface AdminSubject {
  userId: string;
  sessionId: string;
  accountId: string | null;
  applicationId: string | null;
}

export interface AccessToken {
  accessToken: string;
  expiresIn: number;
}

type ProvedWhen = Pick<FirstFactor, 'authenticatedAt' | 'authTime'>;

export interface AdminTokens {
  issue(subject: AdminSubject & ProvedWhen & { amr: readonly string[]; acr: Acr }): Promise<AccessToken>;
  /**
   * Returns the subject of a token that we issued and that has not expired. Only the database knows whether its session
   * is alive.
   * @throws DomainError principal.wrong_type for a valid token of another type of principal
   */
  read(token: string): Promise<AdminSubject | null>;
}

export interface AdminTokensDeps {
  keys: Pick<SigningKeys, 'sign' | 'verify'>;
  baseUrl: string;
  now: Clock;
}

/** Issues and reads the access tokens of platform admins (contract §2). */
export function createAdminTokens({ keys, baseUrl, now }: AdminTokensDeps): AdminTokens {
  return {
    async issue({ userId, sessionId, accountId, applicationId, amr, acr, ...times }) {
      const iat = epochSeconds(now());
      const expiresIn = lifetimeMs / 1000;
      const accessToken = await keys.sign(
        {
          sub: userId,
          aud: baseUrl,
          client_id: portalClientId,
          iat,
          exp: iat + expiresIn,
          jti: uuidv7(),
          scope: 'portal',
          sid: sessionId,
          auth_time: epochSeconds(authTimeOf(times)),
          acr,
          amr: [...amr],
          principal_type: 'platform_admin',
          ...(accountId && { account_id: accountId }),
          ...(applicationId && { application_id: applicationId }),
        },
        { typ: 'at+jwt' },
      );
      return { accessToken, expiresIn };
    },
    async read(token) {
      const claims = await keys.verify(token, { typ: 'at+jwt', audience: baseUrl }).catch((error: unknown) => {
        if (isInvalidToken(error)) return null;
        throw error;
      });
      if (!claims) return null;
      if (claims.principal_type !== 'platform_admin') throw new DomainError('principal.wrong_type');
      const { sub, sid, account_id, application_id } = claims as Record<string, string | undefined>;
      if (!sub || !sid) return null;
      return { userId: sub, sessionId: sid, accountId: account_id ?? null, applicationId: application_id ?? null };
    },
  };
}
