import { after, type Clock, days, seconds } from '../../../platform/clock.js';
import { hashSecret } from '../../../platform/crypto/one-time-secret.js';
import { byPosition, createBatcher } from '../../../platform/database/batching.js';
import type { Db } from '../../../platform/database/db.js';
import { uuidArray } from '../../../platform/database/uuid-array.js';
import type { EventAction } from '../../events/catalogue.js';
import { recordEvent } from '../../events/record.js';
import { environmentExists } from '../../existing-environment.js';
import { belongingOfSignIn } from '../../organizations/belonging.js';
import type { Client } from '../clients/clients.js';
import { OAuthError } from '../oauth-error.js';
import { allowedScopes } from '../scopes.js';
import { type Granted, grantColumns, subjectColumns } from './claims.js';
import {
  presentedLocked,
  type RefreshTokens,
  repeatWindow,
  rotation,
  type Successor,
  slidTo,
  status,
  type TokenStatus,
} from './refresh-tokens.js';

/** Why a grant ends, and what is recorded of it. */
const revocations = {
  code_reuse: 'session.code_reuse_detected',
  client_request: 'auth.grant_revoked',
  consent_missing: 'auth.grant_revoked',
} as const satisfies Record<string, EventAction>;

export type RevocationReason = keyof typeof revocations;

export interface Refreshed {
  granted: Granted;
  /** The scope that the client wants this time, within the grant. */
  scope: readonly string[];
  refreshToken: string;
}

export interface Grants {
  /**
   * @param requestedScope as the client sent it; undefined for everything that was granted.
   *   Scopes that an authorization request ignores are ignored here, too: libraries repeat at each refresh what they
   *   are configured to ask for
   * @throws OAuthError invalid_grant, invalid_scope
   */
  refresh(client: Client, token: string, requestedScope?: string): Promise<Refreshed>;
  /** Ends a grant with all its tokens, with an event; once. */
  revoke(grantId: string, reason: RevocationReason): Promise<void>;
}

/**
 * The end of a refresh token that does not rotate moves with each use. It is only written once it has moved by this
 * much, of a life of `ttlSeconds`: a day at most, so that a refresh is mostly a read; and a thirtieth of the life,
 * since a short one never moves by a day.
 */
const slidesAfter = (ttlSeconds: number): number => Math.min(days(1), seconds(ttlSeconds) / 30);

/** SQL to be joined: what organizations require of grant `g`. */
export const policyOfGrant = `${belongingOfSignIn({
  end: 'g.expires_at',
  authenticatedAt: 'g.authenticated_at',
  environment: 'g.environment_id',
  identity: 'g.identity_id',
  organization: 'g.organization_id',
})} policy`;

/**
 * SQL: the tokens of a table `presented`, as `p`, for which everything is still in force: grant `g`, explicit end of
 * the session, membership, and how long an organization of the person lets a sign-in last now; and membership in the
 * organization that the sign-in was for. Each `offset 0` keeps the join in this order, one row to one row by key,
 * whatever the planner believes of the tables.
 */
const alive = (presented: string, oauthClientId: string) => `
  from ${presented} p
    cross join lateral (select * from grants where id = p.family_id offset 0) g
    cross join lateral (select revoked_at from sessions where id = g.session_id offset 0) s
    cross join lateral (select is_active from environment_memberships
      where environment_id = g.environment_id and identity_id = g.identity_id offset 0) m
    cross join lateral (select * from identities where id = g.identity_id offset 0) i
    cross join ${policyOfGrant}
  where g.oauth_client_id = ${oauthClientId} and p.expires_at > $2::timestamptz and policy.ends_at > $2
    and g.revoked_at is null and s.revoked_at is null and m.is_active and ${environmentExists('g')}
    and policy.belongs`;
const columns = `${grantColumns}, ${subjectColumns}`;

/**
 * SQL: a client with a grant of no scope may repeat its request, and gets no scope; for other grants, a token without a
 * scope would be useless.
 */
const isWithin = (requestedScope: string) =>
  `${requestedScope} <@ g.scope and (${requestedScope} <> '{}' or g.scope = '{}')`;

/**
 * A request for more than was granted, or for none of it, is refused and does not use up the token (RFC 6749 §6). With
 * a token that was used up too long ago to be forgiven, it is a reuse like any other.
 */
const statusWithin = (since: string, requestedScope: string) =>
  `case when (spent_at is null or spent_at >= ${since}) and not coalesce(${isWithin(`string_to_array(${requestedScope}, ' ')`)}, true)
    then 'exceeding' else ${status(since)} end`;

const rotateStatement = {
  name: 'refresh_grants_rotating',
  text: `
with ${presentedLocked('grant', { values: ', $7::uuid[], $8::text[]', columns: ', oauth_client_id, asked_scope' })},
alive as (
  select p.position, ${columns}, ${statusWithin('$5::timestamptz', 'p.asked_scope')} as status,
    least(${slidTo}, policy.ends_at) as successor_expires_at
  ${alive('presented', 'p.oauth_client_id')}
), ${rotation('grant')}
select * from alive`,
};
const slidingStatement = {
  name: 'refresh_grants_sliding',
  text: `
with presented as (
  select asked.*, t.family_id, t.created_at, t.expires_at, t.spent_at
  from unnest($1::bytea[], $4::integer[], $5::uuid[], $6::text[])
      with ordinality as asked (token_hash, lasts_seconds, oauth_client_id, asked_scope, position)
    cross join lateral (
      select * from refresh_tokens where token_hash = asked.token_hash and kind = 'grant' offset 0
    ) t
)
select p.position, ${columns}, ${statusWithin('$3::timestamptz', 'p.asked_scope')} as status,
  least(${slidTo}, policy.ends_at) as "slidTo", p.expires_at as "expiresAt"
${alive('presented', 'p.oauth_client_id')}`,
};
const slideStatement = {
  name: 'slide_refresh_token',
  text: 'update refresh_tokens set expires_at = $2 where token_hash = $1 and spent_at is null',
};

type Row = Granted & { status: TokenStatus | 'exceeding' };

/** A token that a client presents. */
interface PresentedToken {
  client: Client;
  token: string;
  /** The wanted scope, in the form of the parameter; null for everything that was granted. */
  requestedScope: string | null;
}

type SlidingRow = Row & { position: string; slidTo: Date; expiresAt: Date };

/**
 * Lists of values for both statements: for how many seconds a token lasts, whose it has to be, and the wanted scope.
 */
const valuesOf = (shown: readonly PresentedToken[]) => [
  shown.map(({ client }) => client.settings.refreshTokenTtlSeconds),
  uuidArray(shown.map(({ client }) => client.id)),
  shown.map(({ requestedScope }) => requestedScope),
];

/** Grants of clients: refreshed, and ended (contract §2). */
export function createGrants({ db, refreshTokens, now }: { db: Db; refreshTokens: RefreshTokens; now: Clock }): Grants {
  const rotateTogether = createBatcher<PresentedToken & { next: Successor }, Row | undefined>(
    async (_environmentId, shown) => {
      const at = now();
      const rows = await db.statement<Row & { position: string }>(
        rotateStatement,
        [
          shown.map(({ token }) => hashSecret(token)),
          at,
          shown.map(({ next }) => next.hash),
          shown[0]?.next.keyId,
          after(at, -repeatWindow),
          ...valuesOf(shown),
        ],
        shown[0]?.client.accountId,
      );
      return byPosition(shown, rows);
    },
  );

  async function rotate(shown: PresentedToken) {
    const next = refreshTokens.successorOf(shown.token);
    const [row] = await rotateTogether(shown.client.environmentId, [{ ...shown, next }]);
    return { row, next: next.token };
  }

  const lookTogether = createBatcher<PresentedToken, SlidingRow | undefined>(async (_environmentId, shown) => {
    const at = now();
    const rows = await db.statement<SlidingRow>(slidingStatement, [
      shown.map(({ token }) => hashSecret(token)),
      at,
      after(at, -repeatWindow),
      ...valuesOf(shown),
    ]);
    return byPosition(shown, rows);
  });

  async function slide(shown: PresentedToken) {
    const { client, token } = shown;
    const { refreshTokenTtlSeconds } = client.settings;
    const [row] = await lookTogether(client.environmentId, [shown]);
    if (
      row?.status === 'fresh' &&
      row.slidTo.getTime() - row.expiresAt.getTime() > slidesAfter(refreshTokenTtlSeconds)
    ) {
      await db.statement(slideStatement, [hashSecret(token), row.slidTo]);
    }
    return { row, next: token };
  }

  return {
    async refresh(client, token, requestedScope) {
      const rotates = client.clientType === 'public' || client.rotateRefreshTokens;
      const wanted = requestedScope === undefined ? null : allowedScopes(requestedScope, client.scopes);
      const { row, next } = await (rotates ? rotate : slide)({
        client,
        token,
        requestedScope: wanted?.join(' ') ?? null,
      });
      if (row?.status === 'reused') await refreshTokens.revokeFamily('grant', row.grantId);
      if (!row || row.status === 'reused') throw new OAuthError('invalid_grant', 'the refresh token is not valid');
      if (row.status === 'exceeding') throw new OAuthError('invalid_scope', 'the scope exceeds what was granted');
      return {
        granted: row,
        scope: wanted ? row.scope.filter((name) => (wanted as string[]).includes(name)) : row.scope,
        refreshToken: row.status === 'repeated' ? await refreshTokens.unspentAfter(token) : next,
      };
    },

    async revoke(grantId, reason) {
      await db.transaction('system', async (tx) => {
        const [rows] = await tx.query<
          [{ accountId: string; environmentId: string; applicationId: string; identityId: string }[], number]
        >(
          `update grants set revoked_at = $2, revoked_reason = $3 where id = $1 and revoked_at is null
           returning account_id as "accountId", environment_id as "environmentId", identity_id as "identityId",
             (select application_id from environments where id = environment_id) as "applicationId"`,
          [grantId, now(), reason],
        );
        for (const { identityId, ...where } of rows) {
          await recordEvent(tx, revocations[reason], {
            ...where,
            resourceId: grantId,
            actor: { type: 'identity', id: identityId },
            outcome: reason === 'code_reuse' ? 'denied' : 'success',
          });
        }
      });
    },
  };
}
