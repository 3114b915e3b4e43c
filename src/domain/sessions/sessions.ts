import { v7 as uuidv7 } from 'uuid';
import { after, type Clock, seconds } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { measureEvent } from '../events/metrics.js';
import { eventRow, recordEvent } from '../events/record.js';
import { endedByPolicy } from '../organizations/belonging.js';
import { providerSessionsOf } from './former-providers.js';
import { lastUse, maxLastUseAgeMs, openUntil } from './idle.js';
import { type SignInRow, signInStatement } from './sign-in-statement.js';
import { recordSignedOut } from './signed-out.js';

/** A session of an Identity in this browser (contract §2, `hosted_session`). */
export interface HostedSession {
  id: string;
  identityId: string;
  email: string;
  authenticatedAt: Date;
  /** As `FirstFactor` has it. */
  authTime: Date | null;
  amr: string[];
  acr: string;
  /** When a second factor was last proved in it, or a trusted device stood in for one. */
  secondFactorAt: Date | null;
  /** As `FirstFactor` has it. */
  ownFactorAt: Date | null;
  /** The SSO connection by which it began. */
  ssoConnectionId: string | null;
  /** The session at that provider, if it has one. */
  ssoSessionId: string | null;
}

export interface SignIn {
  scope: EnvironmentScope;
  identityId: string;
  amr: string[];
  acr: string;
  /** When the person proved the first factor; by default now, for a sign-in without a second one in between. */
  authenticatedAt?: Date;
  /** When the identity provider asked the person, if it was proved there. */
  authTime?: Date | null;
  secondFactorAt?: Date | null;
  ownFactorAt?: Date | null;
  /** The SSO connection by which the first factor was proved, if any. */
  ssoConnectionId?: string | null;
  ssoSessionId?: string | null;
  /** As `FirstFactor` has them. */
  passwordChangedAt?: Date | null;
  email?: string | null;
  lifeSeconds: number;
  /** Whether it only makes the person's earlier session stronger; if the browser no longer has one, none begins. */
  goesOn?: boolean;
  /** The row of the authorization code in which the sign-in ends (`codes.prepare`), if any. */
  code?: string | null;
  /** The cookie's value in the request, if any. */
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

/** What a sign-out has ended in a browser. */
export interface Ended {
  /** Whether the cookie is still needed, in other Environments. */
  othersLeft: boolean;
  /** The sessions at identity providers (`sso_sessions`) by which the ended ones had begun or gone on. */
  ssoSessionIds: string[];
}

/** A session that an application wants to end. */
export interface NamedSession extends Pick<HostedSession, 'id' | 'identityId'> {
  /** The cookie's value, even if nothing else ends by it: it tells whether the session was in that browser. */
  askedIn: string | null;
}

const findStatement = {
  name: 'find_hosted_session',
  text: `
select s.id, s.identity_id as "identityId", i.email, s.authenticated_at as "authenticatedAt",
  s.auth_time as "authTime", s.amr, s.acr,
  s.second_factor_at as "secondFactorAt", s.own_factor_at as "ownFactorAt", s.sso_connection_id as "ssoConnectionId",
  s.sso_session_id as "ssoSessionId",
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

function measureReplaced(sessions: number): void {
  for (let i = 0; i < sessions; i++) {
    measureEvent('auth.identity_signed_out', wasReplaced);
    measureEvent('identity.signed_out', {});
  }
}

/** Sessions of the hosted login: one cookie for each browser, one session for each Environment. */
export function createSessions({ db, now }: { db: Db; now: Clock }) {
  return {
    /**
     * Returns the browser's session, and counts that as a use.
     * @param idleSeconds how long it may have been unused; null: for any time, and the look-up does not count as a use
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
      const isDue = idleSeconds !== null && at.getTime() - usedAt.getTime() >= maxLastUseAgeMs;
      if (isDue) await db.statement(useStatement, [session.id, at]);
      return session;
    },

    /**
     * Starts or renews the session of a person who has just proved who they are.
     * @throws DomainError auth.invalid_credentials if meanwhile the password or the address was changed, the person
     *   deleted, or their session at the provider, or the one to be continued, ended; or if the time is over that their
     *   provider or an organization allows
     */
    async signIn({
      scope,
      identityId,
      amr,
      acr,
      authenticatedAt,
      authTime = null,
      secondFactorAt = null,
      ownFactorAt = null,
      ssoConnectionId = null,
      ssoSessionId = null,
      passwordChangedAt,
      email = null,
      goesOn = false,
      lifeSeconds,
      code = null,
      browser,
      ipAddress,
      userAgent,
    }: SignIn): Promise<SignedIn> {
      const at = now();
      const next = newSecret();
      const how = ssoConnectionId === null ? { amr } : { amr, connection_id: ssoConnectionId };
      const comesWith = { provider: ssoSessionId !== null, cookie: browser !== null };
      const [row] = await db.statement<SignInRow>(signInStatement(comesWith), [
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
        signedInRow(scope, identityId, how),
        authenticatedAt ?? at,
        secondFactorAt,
        passwordChangedAt !== undefined,
        passwordChangedAt ?? null,
        ssoConnectionId,
        ssoSessionId,
        code,
        goesOn,
        authTime,
        ownFactorAt,
        email,
        ...(browser === null ? [] : [hashSecret(browser), ...replacedRows(scope)]),
      ]);
      if (!row) throw new DomainError('auth.invalid_credentials');
      measureEvent('identity.signed_in', how);
      measureReplaced(row.replaced);
      return {
        session: { id: row.id, authenticatedAt: authenticatedAt ?? at, amr, acr },
        browser: next,
        expiresAt: row.expiresAt,
      };
    },

    /**
     * Ends the browser's session in an Environment, or in all of them, with every grant; and the session that an
     * application names, which may no longer be the browser's, while the application's access continues
     * (docs/decisions/0006).
     * @param browser the cookie's value; null: only the named one
     * @param named in `environmentId`; if it is another person's, nothing of it ends
     */
    async end(browser: string | null, environmentId: string | null, named: NamedSession | null = null): Promise<Ended> {
      const at = now();
      const browserHash = hashOf(browser);
      return db.transaction('system', async (tx) => {
        const [ended] = await tx.query<[EndedRow[], number]>(
          `update sessions set revoked_at = $2
           where revoked_at is null and (browser_hash = $1 and ($3::uuid is null or environment_id = $3)
             or id = $4 and identity_id = $5 and environment_id = $3)
           returning id, identity_id as "identityId", account_id as "accountId", environment_id as "environmentId",
             ${providerSessionsOf('sessions')} as "ssoSessionIds", (browser_hash = coalesce($1, $6)) is true as "wasHere",
             (select application_id from environments where environments.id = environment_id) as "applicationId"`,
          [
            browserHash,
            at,
            environmentId,
            named?.id ?? null,
            named?.identityId ?? null,
            hashOf(named?.askedIn ?? null),
          ],
        );
        await tx.query(
          `update grants set revoked_at = $2, revoked_reason = 'logout' where session_id = any($1) and revoked_at is null`,
          [ended.map(({ id }) => id), at],
        );
        for (const { id, identityId, ssoSessionIds: _, wasHere: __, ...scope } of ended) {
          const actor = { type: 'identity', id: identityId } as const;
          await recordEvent(tx, 'auth.identity_signed_out', { ...scope, resourceId: id, actor });
          await recordSignedOut(tx, scope, identityId, id);
        }
        const [left] = await tx.query<{ any: boolean }[]>(
          `select exists (select from sessions where browser_hash = $1 and revoked_at is null and expires_at > $2) as any`,
          [browserHash, at],
        );
        return {
          othersLeft: left?.any ?? false,
          ssoSessionIds: ended.flatMap(({ wasHere, ssoSessionIds }) => (wasHere ? ssoSessionIds : [])),
        };
      });
    },
  };
}

const hashOf = (cookie: string | null) => (cookie === null ? null : hashSecret(cookie));

const wasReplaced = { reason: 'replaced' };

/** The event of a sign-in. */
const signedInRow = (scope: EnvironmentScope, identityId: string, metadata: Record<string, unknown>) =>
  eventRow('identity.signed_in', {
    ...scope,
    resourceId: identityId,
    metadata,
    actor: { type: 'identity', id: identityId },
  });

/**
 * The events for another person's session that ended by the sign-in, for the audit log and for webhooks
 * (`recordSignedOut`); the statement fills in whose it was.
 */
const replacedRows = (scope: EnvironmentScope): string[] =>
  (
    [
      ['auth.identity_signed_out', wasReplaced],
      ['identity.signed_out', {}],
    ] as const
  ).map(([action, metadata]) =>
    eventRow(action, { ...scope, resourceId: null, metadata, actor: { type: 'identity', id: null } }),
  );

export type Sessions = ReturnType<typeof createSessions>;

interface EndedRow extends EnvironmentScope {
  id: string;
  identityId: string;
  ssoSessionIds: string[];
  wasHere: boolean;
}
