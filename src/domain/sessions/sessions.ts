import { v7 as uuidv7 } from 'uuid';
import { after, type Clock, seconds } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { countEvent } from '../event-counts.js';
import { eventInsert, eventRow, recordEvent } from '../events.js';
import { endedByPolicy } from '../organizations/belonging.js';
import { codeInsert } from './code-insert.js';
import { lastUse, openUntil, usesKeptEvery } from './idle.js';
import { standingAtProvider } from './provider-standing.js';

/** An Identity signed in with this browser (contract §2, `hosted_session`). */
export interface HostedSession {
  id: string;
  identityId: string;
  email: string;
  authenticatedAt: Date;
  amr: string[];
  acr: string;
  /** When a second factor was last proved in it, or a trusted device stood in for one. */
  secondFactorAt: Date | null;
  /** The SSO connection that it began by. */
  ssoConnectionId: string | null;
  /** The session at that provider, where it has one. */
  ssoSessionId: string | null;
}

export interface SignIn {
  scope: EnvironmentScope;
  identityId: string;
  amr: string[];
  acr: string;
  /** When the first factor was proved; now, unless a second one was asked for in between. */
  authenticatedAt?: Date;
  secondFactorAt?: Date | null;
  /** By which the first factor was proved, if by one. */
  ssoConnectionId?: string | null;
  ssoSessionId?: string | null;
  /** Of a password that was just proved: when it was set, as it was read together with it. */
  passwordChangedAt?: Date | null;
  lifeSeconds: number;
  /** The row of the authorization code that the sign-in ends in (`codes.prepare`), if in one. */
  code?: string | null;
  /** The value of the cookie that came with the request, if any. */
  browser: string | null;
  ipAddress: string;
  userAgent: string | null;
}

export interface SignedIn {
  session: Pick<HostedSession, 'id' | 'authenticatedAt' | 'amr' | 'acr'>;
  /** The cookie's new value, and how long any session of this browser lasts. */
  browser: string;
  expiresAt: Date;
}

const findStatement = {
  name: 'find_hosted_session',
  text: `
select s.id, s.identity_id as "identityId", i.email, s.authenticated_at as "authenticatedAt", s.amr, s.acr,
  s.second_factor_at as "secondFactorAt", s.sso_connection_id as "ssoConnectionId", s.sso_session_id as "ssoSessionId",
  ${lastUse('s')} as "usedAt"
from sessions s
  cross join lateral (select is_active from environment_memberships
    where environment_id = s.environment_id and identity_id = s.identity_id offset 0) m
  cross join lateral (select email from identities where id = s.identity_id offset 0) i
where s.browser_hash = $1 and s.environment_id = $2 and ${openUntil('s', '$4::integer')} > $3 and s.revoked_at is null
  and m.is_active
  and ${endedByPolicy('s.expires_at', 's.authenticated_at', 's.environment_id', 's.identity_id')} > $3`,
};

const useStatement = {
  name: 'use_hosted_session',
  text: 'update sessions set used_at = $2 where id = $1 and revoked_at is null and (used_at is null or used_at < $2)',
};

/**
 * All sessions of a browser move to its new cookie, so that a value from before the sign-in is worth nothing. In this
 * Environment the same Identity goes on in its session; another one's ends. Sessions that have expired stay behind with the
 * old value: their refresh tokens are good until they are revoked.
 *
 * A new password locks the Identity and ends the sessions of the old one: either it finds this session, or it is found here,
 * and no session begins. One that goes on needs no such look: had it ended, it would not be found. The same holds for the session
 * at an identity provider by which somebody comes.
 */
const signInStatement = {
  name: 'sign_in_with_browser',
  text: `
with life as materialized (
  select ${endedByPolicy('$9::timestamptz', '$15::timestamptz', '$5::uuid', '$6::uuid')} as expires_at
),
person as materialized (
  select case
      when $17::boolean then date_trunc('milliseconds', password_changed_at) is not distinct from $18::timestamptz
      else password_changed_at is null or password_changed_at <= $15::timestamptz or not 'pwd' = any ($7::text[])
    end as unchanged
  from identities where id = $6 and (account_id = $4) is true for share
),
provider as materialized (
  ${standingAtProvider('$20::uuid and exists (select from person)')}
),
trusted as materialized (
  select from person where $20::uuid is null or exists (select from provider) or exists (
    select from sessions where browser_hash = $1 and environment_id = $5 and identity_id = $6 and revoked_at is null
      and sso_session_id = $20)
),
moved as (
  update sessions set browser_hash = $2,
    authenticated_at = case when environment_id = $5 and identity_id = $6 then $15 else authenticated_at end,
    second_factor_at = case when environment_id = $5 and identity_id = $6 then $16 else second_factor_at end,
    amr = case when environment_id = $5 and identity_id = $6 then $7 else amr end,
    acr = case when environment_id = $5 and identity_id = $6 then $8 else acr end,
    sso_connection_id = case when environment_id = $5 and identity_id = $6 then $19::uuid else sso_connection_id end,
    sso_session_id = case when environment_id = $5 and identity_id = $6 then $20::uuid else sso_session_id end,
    expires_at = case when environment_id = $5 and identity_id = $6 then (select expires_at from life) else expires_at end,
    used_at = case when environment_id = $5 and identity_id = $6 then $3 else used_at end,
    ip_address = case when environment_id = $5 and identity_id = $6 then $10 else ip_address end,
    user_agent = case when environment_id = $5 and identity_id = $6 then $11 else user_agent end,
    revoked_at = case when environment_id = $5 and identity_id <> $6 then $3 end
  where browser_hash = $1 and expires_at > $3::timestamptz and revoked_at is null
    and exists (select from trusted) -- locked before the sessions, as by whoever changes the password, or ends them
  returning id, environment_id, identity_id, expires_at, revoked_at
),
kept as (
  select id from moved where environment_id = $5 and revoked_at is null
),
created as (
  insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, second_factor_at, amr, acr,
    ip_address, user_agent, created_at, used_at, expires_at, sso_connection_id, sso_session_id)
  select $12::uuid, $4::uuid, $5::uuid, $6::uuid, $2::bytea, $15::timestamptz, $16::timestamptz, $7::text[], $8::text, $10::text, $11::text, $3, $3, (select expires_at from life), $19::uuid, $20::uuid
  where not exists (select from kept) and (select unchanged from person) and exists (select from trusted)
  returning id
),
going_on as (
  select id from kept union all select id from created
),
issued as (${codeInsert('$21', { sessionId: 'going_on.id', from: ' cross join going_on' })}),
signed_in as (${eventInsert('$13', {
    metadata: `e.metadata || jsonb_build_object('session_id', going_on.id)`,
    from: ' cross join going_on',
  })}),
signed_out as (${eventInsert('$14', {
    resourceId: 'moved.id::text',
    actorId: 'moved.identity_id::text',
    from: ' join moved on moved.revoked_at is not null',
  })})
select id, greatest((select expires_at from life), (select max(expires_at) from moved where revoked_at is null)) as "expiresAt",
  (select count(*)::int from moved where revoked_at is not null) as replaced
from going_on`,
};

/** Sessions of the hosted login: one cookie a browser, one session an Environment. */
export function createSessions({ db, now }: { db: Db; now: Clock }) {
  return {
    /**
     * The browser's session, which is used by that.
     * @param idleSeconds how long it may have been unused; null: it is found, and not used, however long that is
     */
    async find(
      browser: string | null,
      environmentId: string,
      idleSeconds: number | null,
    ): Promise<HostedSession | null> {
      if (browser === null) return null;
      const at = now();
      const values = [hashSecret(browser), environmentId, at, idleSeconds];
      const [found] = await db.statement<HostedSession & { usedAt: Date }>(findStatement, values);
      if (!found) return null;
      const { usedAt, ...session } = found;
      const isDue = idleSeconds !== null && at.getTime() - usedAt.getTime() >= usesKeptEvery;
      if (isDue) await db.statement(useStatement, [session.id, at]);
      return session;
    },

    /**
     * Starts or renews the session of a person who has just proved who they are.
     * @throws DomainError auth.invalid_credentials, when the password was changed meanwhile, the person deleted, or their session
     *   at the provider ended
     */
    async signIn({
      scope,
      identityId,
      amr,
      acr,
      authenticatedAt,
      secondFactorAt = null,
      ssoConnectionId = null,
      ssoSessionId = null,
      passwordChangedAt,
      lifeSeconds,
      code = null,
      browser,
      ipAddress,
      userAgent,
    }: SignIn): Promise<SignedIn> {
      const at = now();
      const next = newSecret();
      const values = [
        // Without a cookie nothing is moved: no session has this hash.
        hashSecret(browser ?? newSecret()),
        hashSecret(next),
        at,
        scope.accountId,
        scope.environmentId,
        identityId,
        amr,
        acr,
        after(at, seconds(lifeSeconds)),
        ipAddress,
        userAgent?.slice(0, 500) ?? null,
        uuidv7(),
      ];
      const how = ssoConnectionId === null ? { amr } : { amr, connection_id: ssoConnectionId };
      const [row] = await db.statement<SignInRow>(signInStatement, [
        ...values,
        ...eventsOf(scope, identityId, how),
        authenticatedAt ?? at,
        secondFactorAt,
        passwordChangedAt !== undefined,
        passwordChangedAt ?? null,
        ssoConnectionId,
        ssoSessionId,
        code,
      ]);
      if (!row) throw new DomainError('auth.invalid_credentials');
      countEvent('identity.signed_in', how);
      for (let i = 0; i < row.replaced; i++) countEvent('auth.identity_signed_out', wasReplaced);
      return {
        session: { id: row.id, authenticatedAt: authenticatedAt ?? at, amr, acr },
        browser: next,
        expiresAt: row.expiresAt,
      };
    },

    /**
     * Ends the browser's session in an Environment, or in all of them, with every grant that it gave.
     * @returns also by which sessions at identity providers (`sso_sessions`) they began
     */
    async end(
      browser: string,
      environmentId: string | null,
    ): Promise<{ othersLeft: boolean; ssoSessionIds: string[] }> {
      const at = now();
      return db.transaction('system', async (tx) => {
        const [ended] = await tx.query<[EndedRow[], number]>(
          `update sessions set revoked_at = $2
           where browser_hash = $1 and revoked_at is null and ($3::uuid is null or environment_id = $3)
           returning id, identity_id as "identityId", sso_session_id as "ssoSessionId", account_id as "accountId", environment_id as "environmentId",
             (select application_id from environments where environments.id = environment_id) as "applicationId"`,
          [hashSecret(browser), at, environmentId],
        );
        await tx.query(
          `update grants set revoked_at = $2, revoked_reason = 'logout' where session_id = any($1) and revoked_at is null`,
          [ended.map(({ id }) => id), at],
        );
        for (const { id, identityId, ssoSessionId: _, ...scope } of ended) {
          const actor = { type: 'identity', id: identityId } as const;
          await recordEvent(tx, 'auth.identity_signed_out', { ...scope, resourceId: id, actor });
        }
        const [left] = await tx.query<{ any: boolean }[]>(
          `select exists (select from sessions where browser_hash = $1 and revoked_at is null and expires_at > $2) as any`,
          [hashSecret(browser), at],
        );
        const ssoSessionIds = ended.flatMap(({ ssoSessionId }) => ssoSessionId ?? []);
        return { othersLeft: left?.any ?? false, ssoSessionIds };
      });
    },
  };
}

const wasReplaced = { reason: 'replaced' };

/** The rows of a sign-in's two events: that somebody signed in, and that another session ended by it. */
function eventsOf(scope: EnvironmentScope, identityId: string, metadata: Record<string, unknown>) {
  return [
    eventRow('identity.signed_in', {
      ...scope,
      resourceId: identityId,
      metadata,
      actor: { type: 'identity', id: identityId },
    }),
    // Whose session it was is found by the statement.
    eventRow('auth.identity_signed_out', {
      ...scope,
      resourceId: null,
      metadata: wasReplaced,
      actor: { type: 'identity', id: null },
    }),
  ];
}

export type Sessions = ReturnType<typeof createSessions>;

interface SignInRow {
  id: string;
  expiresAt: Date;
  /** Sessions of other people that ended with it. */
  replaced: number;
}
interface EndedRow extends EnvironmentScope {
  id: string;
  identityId: string;
  ssoSessionId: string | null;
}
