import { type Clock, epochSeconds } from '../../../platform/clock.js';
import { hashSecret } from '../../../platform/crypto/one-time-secret.js';
import type { Db } from '../../../platform/database/db.js';
import { nullIf } from '../../errors.js';
import type { Client } from '../clients/clients.js';
import { isInvalidToken, type SigningKeys } from '../keys.js';
import { OAuthError } from '../oauth-error.js';
import type { AccessTokens } from './access-tokens.js';
import { type Grants, policyOfGrant } from './grants.js';

const findStatement = {
  name: 'find_refresh_token',
  text: `
select g.id as "grantId", g.oauth_client_id as "oauthClientId", g.environment_id as "environmentId", c.client_id as "clientId",
  g.identity_id as "identityId", g.session_id as "sessionId", g.scope, t.created_at as "createdAt", t.expires_at as "expiresAt",
  t.spent_at is null and t.expires_at > $2::timestamptz and g.revoked_at is null and s.revoked_at is null
    and policy.ends_at > $2 and policy.belongs
    and coalesce(m.is_active, false) as "isAlive"
from refresh_tokens t
  cross join lateral (select * from grants where id = t.family_id offset 0) g
  cross join lateral (select revoked_at from sessions where id = g.session_id offset 0) s
  cross join lateral (select client_id from oauth_clients where id = g.oauth_client_id offset 0) c
  cross join ${policyOfGrant}
  left join lateral (select is_active from environment_memberships
    where environment_id = g.environment_id and identity_id = g.identity_id offset 0) m on true
where t.token_hash = $1 and t.kind = 'grant'`,
};

interface FoundRefreshToken {
  grantId: string;
  oauthClientId: string;
  environmentId: string;
  clientId: string;
  identityId: string;
  sessionId: string;
  scope: string[];
  createdAt: Date;
  expiresAt: Date;
  isAlive: boolean;
}

const denyStatement = {
  name: 'revoke_access_token',
  text: `insert into revoked_access_tokens (jti, expires_at) values ($1, $2) on conflict do nothing`,
};

export interface PresentedTokensDeps {
  db: Db;
  keys: SigningKeys;
  accessTokens: AccessTokens;
  grants: Grants;
  baseUrl: string;
  now: Clock;
}

/** What a client may do with a token that it holds: revoke it (RFC 7009), or introspect it (RFC 7662). */
export function createPresentedTokens({ db, keys, accessTokens, grants, baseUrl, now }: PresentedTokensDeps) {
  /** Refresh tokens contain no dot, and every JWT has two. */
  const findRefreshToken = async (token: string) =>
    token.includes('.')
      ? undefined
      : (await db.statement<FoundRefreshToken>(findStatement, [hashSecret(token), now()]))[0];

  return {
    /**
     * Revoking a refresh token ends its whole grant; revoking an access token ends only that one. An unknown token
     * counts as revoked already (RFC 7009 §2.2).
     * @throws OAuthError invalid_grant for another client's (§2.1)
     */
    async revoke(client: Client, token: string): Promise<void> {
      const found = await findRefreshToken(token);
      if (found) {
        if (found.oauthClientId !== client.id) throw ofAnotherClient();
        return grants.revoke(found.grantId, 'client_request');
      }
      const claims = await keys.verify(token, { typ: 'at+jwt', audience: baseUrl }).catch((error) => {
        if (isInvalidToken(error)) return null;
        throw error;
      });
      if (!claims?.jti || !claims.exp) return;
      if (claims.client_id !== client.clientId) throw ofAnotherClient();
      await db.statement(denyStatement, [claims.jti, new Date(claims.exp * 1000)]);
    },

    /** A token that a client may not know is inactive, like an unknown one (RFC 7662 §4). */
    async introspect(client: Client, token: string): Promise<Record<string, unknown>> {
      const found = await findRefreshToken(token);
      if (found) {
        if (!found.isAlive || !mayKnow(client, found)) return { active: false };
        return {
          active: true,
          token_type: 'refresh_token',
          iss: baseUrl,
          sub: found.identityId,
          client_id: found.clientId,
          scope: found.scope.join(' '),
          sid: found.sessionId,
          iat: epochSeconds(found.createdAt),
          exp: epochSeconds(found.expiresAt),
        };
      }
      const proven = await accessTokens.prove(token).catch(nullIf('principal.wrong_type'));
      if (!proven) return { active: false };
      const { environmentId, claims } = proven;
      if (!mayKnow(client, { environmentId, clientId: claims.client_id })) return { active: false };
      return { active: true, token_type: 'Bearer', ...claims };
    },
  };
}

/**
 * A client may introspect tokens of its Environment; a third-party application only its own, since it may learn of
 * people only what they have allowed it.
 */
const mayKnow = (client: Client, token: { environmentId: string; clientId: unknown }): boolean =>
  token.environmentId === client.environmentId && (!client.consentRequired || token.clientId === client.clientId);

const ofAnotherClient = () => new OAuthError('invalid_grant', 'the token was issued to another client');

export type PresentedTokens = ReturnType<typeof createPresentedTokens>;
