import { v7 as uuidv7 } from 'uuid';
import { after, type Clock, seconds } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import type { Client } from '../oidc/clients/clients.js';
import type { ScopeName } from '../oidc/scopes.js';
import { authTimeIn, type Granted, subjectColumns } from '../oidc/tokens/claims.js';
import { endedByPolicy } from '../organizations/belonging.js';
import { asProved } from '../sessions/as-proved.js';
import type { Proof } from '../sessions/first-factor.js';

export interface IssuedGrant {
  granted: Granted;
  refreshToken: string;
}

const endStatement = {
  name: 'end_session_without_grant',
  text: 'update sessions set revoked_at = coalesce(revoked_at, $2) where id = $1',
};

const unchanged = asProved({
  isTimeKnown: '$10',
  passwordChangedAt: '$11',
  provedAt: 's.authenticated_at',
  amr: 's.amr',
  email: '$12',
});
/**
 * Like the redemption of a code (`domain/oidc/tokens/redemption.ts`), for a session that was started a moment ago: its end
 * waits for the grant, or is seen here. A new password locks the Identity and ends the sessions of the old one: either it
 * finds this session, or it is found here. So the person is locked before the session here, too.
 */
const grantStatement = {
  name: 'grant_without_code',
  text: `
with proved as materialized (
  select id as identity_id, password_changed_at, email from identities
  where id = (select identity_id from sessions where id = $1) for share
),
live as (
  select s.*,
    least(${endedByPolicy('$6::timestamptz', 's.authenticated_at', 's.environment_id', 's.identity_id')}, s.not_on_or_after) as ends_at
  from proved p
    cross join lateral (select * from sessions where id = $1 and (identity_id = p.identity_id) is true offset 0 for share) s
    cross join lateral (select is_active from environment_memberships
      where environment_id = s.environment_id and identity_id = s.identity_id offset 0) m
  where m.is_active and s.revoked_at is null and s.environment_id = $9 and ${unchanged}
),
granted as (
  insert into grants (id, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, amr, acr,
    created_at, expires_at)
  select $2::uuid, account_id, environment_id, $3::uuid, identity_id, id, $4::text[], authenticated_at, amr, acr,
    $5::timestamptz, ends_at
  from live
),
refreshable as (
  insert into refresh_tokens (token_hash, kind, family_id, created_at, expires_at)
  select $7::bytea, 'grant', $2, $5, least($8::timestamptz, ends_at) from live
)
select live.id as "sessionId", ${authTimeIn('live')}, live.amr, live.acr, ${subjectColumns}
from live cross join lateral (select * from identities where id = live.identity_id offset 0) i`,
};

/** What a client gets from a sign-in by the API: a grant with its first refresh token, without a code in between. */
export function createApiGrants({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  return {
    /**
     * Null if the person was deactivated, or their password or address changed, during the sign-in; then the session is
     * ended, too.
     * @param proof what the sign-in has proved
     */
    async issue(
      client: Client,
      sessionId: string,
      scope: ScopeName[],
      { passwordChangedAt, email = null }: Pick<Proof, 'passwordChangedAt' | 'email'> = {},
    ): Promise<IssuedGrant | null> {
      const at = now();
      const grantId = uuidv7();
      const refreshToken = newSecret();
      const { refreshTokenTtlSeconds, refreshTokenMaxTtlSeconds } = client.settings;
      const [row] = await db.statement<Omit<Granted, 'grantId' | 'scope' | 'organizationId'>>(grantStatement, [
        sessionId,
        grantId,
        client.id,
        scope,
        at,
        after(at, seconds(refreshTokenMaxTtlSeconds)),
        hashSecret(refreshToken),
        after(at, seconds(refreshTokenTtlSeconds)),
        client.environmentId,
        passwordChangedAt !== undefined,
        passwordChangedAt ?? null,
        email,
      ]);
      if (!row) await db.statement(endStatement, [sessionId, at]);
      return row ? { granted: { ...row, grantId, scope, organizationId: null }, refreshToken } : null;
    },
  };
}

export type ApiGrants = ReturnType<typeof createApiGrants>;
