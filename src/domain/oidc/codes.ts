import { v7 as uuidv7 } from 'uuid';
import { after, type Clock, seconds } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/db.js';
import type { Consents } from '../consents/consents.js';
import { standingInOrganizations } from '../organizations/belonging.js';
import { codeInsert } from '../sessions/code-insert.js';
import type { AuthorizeRequest } from './authorize-request.js';
import { authTimeIn, type Granted, subjectColumns } from './claims.js';
import type { Client } from './clients.js';
import type { Grants } from './grants.js';
import { OAuthError } from './oauth-error.js';
import { challengeOf, isVerifier } from './pkce.js';

/** RFC 6749 §4.1.2 recommends ten minutes at most; a client redeems at once. */
const codeLife = seconds(60);

/** The sign-in that a code tells of. */
export interface CodeSession {
  id: string;
  authenticatedAt: Date;
  /** As `FirstFactor` has it. */
  authTime?: Date | null;
  amr: string[];
  acr: string;
  /** What the sign-in is for, if it is for one organization. */
  organizationId: string | null;
}

export interface Redemption {
  code: string;
  redirectUri: string | null;
  verifier: string | null;
}

export interface Redeemed {
  granted: Granted;
  nonce: string | null;
  refreshToken: string;
}

const issueStatement = { name: 'issue_authorization_code', text: codeInsert('$1') };

const ofCode = {
  end: '$7::timestamptz',
  authenticatedAt: 'presented.authenticated_at',
  environment: 'presented.environment_id',
  identity: 's.identity_id',
  organization: 'presented.organization_id',
};

/**
 * The lock makes parallel redemptions queue, and a waiting one then sees that the code is spent. A code of another client,
 * redirect URI or verifier is left as it was: whoever holds it rightly can still redeem it. The code is found by its key, whatever
 * the planner believes of the table: `is true` keeps the client's index out (docs/decisions/0025).
 */
const redeemStatement = {
  name: 'redeem_authorization_code',
  text: `
with presented as materialized (
  select * from authorization_codes where code_hash = $1 and (oauth_client_id = $2) is true for update
),
live as (
  select presented.*, s.identity_id, least(standing.ends_at, s.not_on_or_after) as ends_at
  from presented
    cross join lateral (select identity_id, revoked_at, not_on_or_after from sessions where id = session_id offset 0) s
    cross join lateral (select is_active from environment_memberships m
      where m.environment_id = presented.environment_id and m.identity_id = s.identity_id offset 0) m
    cross join ${standingInOrganizations(ofCode)} standing
  where grant_id is null and presented.expires_at > $3::timestamptz and redirect_uri = $4
    and code_challenge is not distinct from $5 and s.revoked_at is null and m.is_active and standing.belongs
),
granted as (
  insert into grants (id, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, auth_time, amr, acr,
    created_at, expires_at, organization_id)
  select $6::uuid, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, auth_time, amr, acr, $3,
    ends_at, organization_id
  from live
),
refreshable as (
  insert into refresh_tokens (token_hash, kind, family_id, created_at, expires_at)
  select $8::bytea, 'grant', $6, $3, least($9::timestamptz, ends_at) from live
),
spent as (
  update authorization_codes set grant_id = $6 from live where authorization_codes.code_hash = $1
)
select presented.grant_id as "spentFor", live.code_hash is not null as redeemed, live.nonce, live.session_id as "sessionId",
  live.scope, ${authTimeIn('live')}, live.amr, live.acr, live.organization_id as "organizationId", ${subjectColumns}
from presented left join live on true left join lateral (select * from identities where id = live.identity_id offset 0) i on true`,
};

export interface CodesDeps {
  db: Db;
  grants: Grants;
  consents: Pick<Consents, 'cover'>;
  now: Clock;
}

/** Authorization codes (contract §2): 256 bits, a minute, once, bound to client, redirect URI and challenge. */
export function createCodes({ db, grants, consents, now }: CodesDeps) {
  /** A code and its row, which the statement that makes its session inserts with it (`sessions.signIn`). */
  function prepare(client: Client, request: AuthorizeRequest, session: PreparedFor) {
    const code = newSecret();
    return { code, row: JSON.stringify(rowOf(code, client, request, session, now())) };
  }

  return {
    prepare,

    /** For a session that is there already. */
    async issue(client: Client, request: AuthorizeRequest, session: CodeSession): Promise<string> {
      const { code, row } = prepare(client, request, session);
      await db.statement(issueStatement, [row]);
      return code;
    },

    /** @throws OAuthError invalid_grant, one for every reason */
    async redeem(client: Client, { code, redirectUri, verifier }: Redemption): Promise<Redeemed> {
      if (verifier !== null && !isVerifier(verifier)) throw refused();
      const at = now();
      const grantId = uuidv7();
      const refreshToken = newSecret();
      const { refreshTokenTtlSeconds, refreshTokenMaxTtlSeconds } = client.settings;
      const [row] = await db.statement<{ spentFor: string | null; redeemed: boolean; nonce: string | null } & Granted>(
        redeemStatement,
        [
          hashSecret(code),
          client.id,
          at,
          redirectUri,
          verifier === null ? null : challengeOf(verifier),
          grantId,
          after(at, seconds(refreshTokenMaxTtlSeconds)),
          hashSecret(refreshToken),
          after(at, seconds(refreshTokenTtlSeconds)),
        ],
      );
      // RFC 6749 §4.1.2: a code used twice revokes its tokens, however much later that is.
      if (row?.spentFor) await grants.revoke(row.spentFor, 'code_reuse');
      if (!row?.redeemed) throw refused();
      const { spentFor: _, redeemed: __, nonce, ...granted } = row;
      // Taken back since the code was issued, or asked for only since then.
      if (client.consentRequired && !(await consents.cover(client, granted.identityId, granted.scope))) {
        await grants.revoke(grantId, 'consent_missing');
        throw refused();
      }
      return { granted: { ...granted, grantId }, nonce, refreshToken };
    },
  };
}

/** A session that may not be there yet. */
type PreparedFor = Omit<CodeSession, 'id'> & { id?: string };

const rowOf = (code: string, client: Client, request: AuthorizeRequest, session: PreparedFor, at: Date) => ({
  code_hash: `\\x${hashSecret(code).toString('hex')}`,
  account_id: client.accountId,
  environment_id: client.environmentId,
  oauth_client_id: client.id,
  session_id: session.id,
  redirect_uri: request.redirectUri,
  scope: request.scope,
  nonce: request.nonce,
  code_challenge: request.codeChallenge,
  authenticated_at: session.authenticatedAt,
  auth_time: session.authTime ?? null,
  amr: session.amr,
  acr: session.acr,
  created_at: at,
  expires_at: after(at, codeLife),
  organization_id: session.organizationId,
});

export type Codes = ReturnType<typeof createCodes>;

const refused = () => new OAuthError('invalid_grant', 'the code is unknown, expired, spent or was issued otherwise');
