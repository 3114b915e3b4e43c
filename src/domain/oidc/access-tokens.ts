import type { JWTPayload } from 'jose';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { environmentStands } from '../standing-environment.js';
import { type Subject, subjectColumns } from './claims.js';
import { isInvalidToken, type SigningKeys } from './keys.js';

/** An end user's access token that is alive: signed by us, not revoked, its grant, session and membership in force. */
export interface ProvenIdentity {
  identityId: string;
  accountId: string;
  applicationId: string;
  environmentId: string;
  sessionId: string;
  grantId: string;
  clientId: string;
  scope: string[];
}

export interface ProvenToken extends ProvenIdentity {
  claims: JWTPayload;
  subject: Subject;
}

export interface AccessTokens {
  /** @throws DomainError principal.wrong_type for a platform admin's token; null for what is not alive. */
  prove(token: string): Promise<ProvenToken | null>;
}

/**
 * The token's own claims are trusted for what cannot change; whether it still counts is asked of the database. Each
 * `offset 0` keeps the join in this order, one row to one row by key.
 */
const proveStatement = {
  name: 'prove_access_token',
  text: `
select c.client_id as "clientId", c.application_id as "applicationId", g.account_id as "accountId",
  g.environment_id as "environmentId", g.session_id as "sessionId", ${subjectColumns}
from grants g
  cross join lateral (select revoked_at from sessions where id = g.session_id offset 0) s
  cross join lateral (select client_id, application_id from oauth_clients where id = g.oauth_client_id offset 0) c
  cross join lateral (select is_active from environment_memberships
    where environment_id = g.environment_id and identity_id = g.identity_id offset 0) m
  cross join lateral (select * from identities where id = g.identity_id offset 0) i
where g.id = $1 and g.identity_id = $2 and g.expires_at > $3 and g.revoked_at is null and s.revoked_at is null and m.is_active and ${environmentStands('g')}
  and not exists (select from revoked_access_tokens r where r.jti = $4)`,
};

interface Row extends Subject {
  clientId: string;
  accountId: string;
  applicationId: string;
  environmentId: string;
  sessionId: string;
}

export function createAccessTokens({
  db,
  keys,
  baseUrl,
  now,
}: {
  db: Db;
  keys: SigningKeys;
  baseUrl: string;
  now: Clock;
}): AccessTokens {
  async function verified(token: string): Promise<JWTPayload | null> {
    try {
      return await keys.verify(token, { typ: 'at+jwt', audience: baseUrl });
    } catch (error) {
      if (isInvalidToken(error)) return null;
      throw error;
    }
  }

  return {
    async prove(token) {
      const claims = await verified(token);
      if (!claims) return null;
      if (claims.principal_type !== 'identity') throw new DomainError('principal.wrong_type');
      const { sub, jti, grant_id: grantId, scope } = claims;
      if (typeof grantId !== 'string' || !sub || !jti) return null;
      const [row] = await db.statement<Row>(proveStatement, [grantId, sub, now(), jti]);
      if (!row) return null;
      const { clientId, accountId, applicationId, environmentId, sessionId, ...subject } = row;
      return {
        identityId: subject.identityId,
        accountId,
        applicationId,
        environmentId,
        sessionId,
        grantId,
        clientId,
        scope: typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [],
        claims,
        subject,
      };
    },
  };
}
