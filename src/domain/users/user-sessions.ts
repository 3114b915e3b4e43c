import { type EntityManager, IsNull, MoreThan } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { UserSession } from '../../../entities/user-session.js';
import { after, type Clock, days } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { leavesAccountsOut } from '../admin-mfa/other-sign-in.js';
import { type ProvedAsOf, provedAsOf } from '../admin-mfa/proved-as-of.js';
import type { SignedInAdmin } from '../admin-mfa/signed-in-admin.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import type { RefreshTokens } from '../oidc/tokens/refresh-tokens.js';
import type { Acr } from '../sessions/first-factor.js';
import { openAtProvider } from '../sessions/provider-session-end.js';
import type { AccessToken, AdminSubject, AdminTokens } from './admin-tokens.js';
import { needsOwnProvider } from './own-provider.js';
import { reaches } from './reachable.js';

/** A browser has to sign in again after this time without use, and after the longest life at the latest. */
const idleLife = days(30);
const maxLife = days(90);

export interface NewSession {
  /** Set if only one session may start with it: the primary key refuses a second one. */
  id?: string;
  userId: string;
  accountId: string | null;
  applicationId: string | null;
  amr: string[];
  acr: Acr;
  /** When they signed in. */
  authenticatedAt: Date;
  /** When they proved who they are at an identity provider, if they did. */
  authTime?: Date | null;
  /** The SSO connection through which the session begins, if any. */
  ssoConnectionId?: string | null;
  ssoSessionId?: string | null;
  ipAddress: string | null;
  userAgent: string | null;
  /**
   * What proved the user. It is checked again under a lock, so that no session outlives a change of the password or the
   * address, or a reset of the second factors.
   */
  proof: SessionProof;
}

/** Either what the user's proof (by a factor, or by a link) is as of, or a session that is alive. */
export type SessionProof = ProvedAsOf | { sessionId: string };

/** The access token and the refresh token of a browser. */
export interface SessionTokens extends AccessToken {
  sessionId: string;
  refreshToken: string;
  /** Seconds. */
  refreshExpiresIn: number;
}

export interface UserSessions {
  /**
   * @throws DomainError auth.invalid_credentials if what proved the user is not valid any more, or the time is over that
   *   their provider allows
   */
  start(session: NewSession): Promise<SessionTokens>;
  /** @throws DomainError auth.invalid_credentials if the token or its session is not alive */
  refresh(refreshToken: string): Promise<SessionTokens>;
  /** Whether a refresh token is unused and its session alive. */
  isUnused(refreshToken: string): Promise<boolean>;
  /** Returns the user's live sessions; if the caller's own speaks for one Account only, those its providers began. */
  list(subject: AdminSubject, page: PageRequest<keyof typeof columns>): Promise<Page<UserSession>>;
  /**
   * @throws DomainError session.not_found unless `list` shows the session; auth.invalid_credentials for the caller's own
   *   that has just ended, as for any request after its end
   */
  revoke(subject: AdminSubject, sessionId: string): Promise<void>;
  /**
   * Signs out. It is no error if there is nothing to end.
   * @returns the session at an identity provider (`sso_sessions`) through which it began, if any
   */
  end(session: { refreshToken: string } | AdminSubject): Promise<string | null>;
}

export interface UserSessionsDeps {
  db: Db;
  refreshTokens: Pick<RefreshTokens, 'issue' | 'rotate'>;
  tokens: Pick<AdminTokens, 'issue'>;
  now: Clock;
}

const isClosed = needsOwnProvider('m', 'a', 's.sso_connection_id');

// The next token does not name an Account or Application that the user has lost since, or that is closed to the
// session; the session itself continues.
const useStatement = {
  name: 'use_user_session_with_sso',
  text: `update user_sessions s set last_used_at = $2 where id = $1 and revoked_at is null and expires_at > $2
returning user_id as "userId", authenticated_at as "authenticatedAt", auth_time as "authTime", amr, acr,
  (select a.id from accounts a join memberships m on m.account_id = a.id and m.user_id = s.user_id
   where a.id = s.account_id and not ${isClosed}) as "accountId",
  (select p.id from applications p join accounts a on a.id = p.account_id
     join memberships m on m.account_id = a.id and m.user_id = s.user_id
   where p.id = s.application_id and not ${isClosed} and ${reaches('m', 'p')}) as "applicationId"`,
};
const unusedStatement = {
  name: 'unused_admin_refresh_token',
  text: `select from refresh_tokens t join user_sessions s on s.id = t.family_id
where t.token_hash = $1 and t.kind = 'user_session' and t.spent_at is null and t.expires_at > $2
  and s.revoked_at is null and s.expires_at > $2`,
};
const columns = {
  last_used_at: ['session.lastUsedAt', 'session.id'],
  created_at: ['session.createdAt', 'session.id'],
};

/**
 * SQL: whether the session `by` of a user may see another one of theirs. A session that an Account's provider began
 * rests on that provider's word alone, so it must not reveal where else the person works.
 */
const isShownTo = (session: string, by: string) => `exists (
  select from user_sessions own where own.id = ${by} and (own.id = ${session}.id or not ${leavesAccountsOut('own')} or exists (
    select from sso_connections o join sso_connections c on c.account_id = o.account_id
    where o.id = own.sso_connection_id and c.id = ${session}.sso_connection_id)))`;

/** Manages the sessions of platform admins. */
export function createUserSessions({ db, refreshTokens, tokens, now }: UserSessionsDeps): UserSessions {
  /** Returns null if there was nothing to end. */
  async function revokeOne({ sessionId, userId }: SignedInAdmin, event: RevocationEvent, by = sessionId) {
    return db.transaction('system', async (tx) => {
      const [rows] = await tx.query<[RevokedRow[], number]>(
        `update user_sessions set revoked_at = $3 where id = $1 and user_id = $2 and revoked_at is null and expires_at > $3
           and ${isShownTo('user_sessions', '$4')}
         returning account_id, sso_session_id`,
        [sessionId, userId, now(), by],
      );
      const [revoked] = rows;
      if (!revoked) return null;
      const actor = { type: 'platform_admin', id: userId } as const;
      await recordEvent(tx, event, { accountId: revoked.account_id, resourceId: sessionId, actor });
      return revoked;
    });
  }

  return {
    async start({ id = uuidv7(), proof, ...session }) {
      const { userId, accountId } = session;
      const at = now();
      const refreshToken = await db.transaction('system', async (tx) => {
        const trustedUntil = await assertTrusted(tx, session, proof);
        const provedUntil = await assertProved(tx, { userId, proof, at });
        const expiresAt = earliest(after(at, maxLife), trustedUntil, provedUntil);
        // The provider's session may have ended while the person looked for the second factor, or chose.
        if (expiresAt <= at) throw new DomainError('auth.invalid_credentials');
        await tx.insert(UserSession, {
          ...session,
          id,
          userAgent: session.userAgent?.slice(0, 500) ?? null,
          createdAt: at,
          lastUsedAt: at,
          expiresAt,
        });
        await recordEvent(tx, 'auth.admin_signed_in', {
          accountId,
          resourceId: userId,
          metadata: { session_id: id, amr: session.amr, ...byConnection(session) },
          actor: { type: 'platform_admin', id: userId },
        });
        return refreshTokens.issue(tx, { kind: 'user_session', familyId: id, expiresAt: after(at, idleLife) });
      });
      const access = await tokens.issue({ ...session, sessionId: id });
      return { ...access, sessionId: id, refreshToken, refreshExpiresIn: idleLife / 1000 };
    },

    async refresh(presented) {
      const at = now();
      const rotated = await refreshTokens.rotate(presented);
      const [session] = rotated
        ? await db.statement<UserSession & { acr: Acr }>(useStatement, [rotated.familyId, at])
        : [];
      if (!rotated || !session) throw new DomainError('auth.invalid_credentials');
      const access = await tokens.issue({ ...session, sessionId: rotated.familyId });
      return {
        ...access,
        sessionId: rotated.familyId,
        refreshToken: rotated.token,
        refreshExpiresIn: Math.round((rotated.expiresAt.getTime() - at.getTime()) / 1000),
      };
    },

    isUnused: async (refreshToken) =>
      (await db.statement(unusedStatement, [hashSecret(refreshToken), now()])).length > 0,

    list: ({ userId, sessionId }, page) =>
      db.transaction('system', (tx) => {
        const at = now();
        const query = tx
          .createQueryBuilder(UserSession, 'session')
          .where({ userId, revokedAt: IsNull(), expiresAt: MoreThan(at), lastUsedAt: MoreThan(after(at, -idleLife)) });
        query.andWhere(isShownTo('session', ':shownTo'), { shownTo: sessionId });
        if (page.q) {
          const pattern = containing(page.q);
          query.andWhere('(session.userAgent ilike :pattern or session.ipAddress ilike :pattern)', { pattern });
        }
        return readPage(query, page, columns[page.sortBy]);
      }),

    async revoke({ userId, sessionId: by }, sessionId) {
      if (await revokeOne({ sessionId, userId }, 'auth.admin_session_revoked', by)) return;
      throw new DomainError(sessionId === by ? 'auth.invalid_credentials' : 'session.not_found');
    },

    async end(session) {
      const found = 'refreshToken' in session ? await ownerOf(db, session.refreshToken) : session;
      const ended = found && (await revokeOne(found, 'auth.admin_signed_out'));
      return ended ? ended.sso_session_id : null;
    },
  };
}

const byConnection = ({ ssoConnectionId }: Pick<NewSession, 'ssoConnectionId'>) =>
  ssoConnectionId ? { connection_id: ssoConnectionId } : {};

/**
 * Locks the connection through which a session begins until the session is committed: disabling or deleting a
 * connection locks it too, and ends the sessions that exist then. What a connection said before it switched itself off
 * stays valid. Also locks the session at the provider, unless one of our sessions proves the user.
 * @returns when the session at the provider ends, if the provider says so
 */
async function assertTrusted(
  tx: EntityManager,
  { ssoConnectionId = null, ssoSessionId = null }: Pick<NewSession, 'ssoConnectionId' | 'ssoSessionId'>,
  proof: SessionProof,
): Promise<Date | null> {
  if (ssoConnectionId === null) return null;
  const [held, values] =
    ssoSessionId === null || 'sessionId' in proof
      ? [heldConnection, [ssoConnectionId, ssoSessionId]]
      : [openAtProvider('$1'), [ssoSessionId]];
  const [found] = await tx.query<{ not_on_or_after: Date | null }[]>(held, values);
  if (!found) throw new DomainError('auth.invalid_credentials');
  return found.not_on_or_after;
}

const heldConnection = `select (select not_on_or_after from sso_sessions where id = $2) as not_on_or_after
from sso_connections where id = $1 and status <> 'disabled' for key share`;
const earliest = (first: Date, ...others: (Date | null)[]): Date =>
  others.reduce<Date>((one, other) => (other !== null && other < one ? other : one), first);

/**
 * Locks the user's row until the session is committed. A change of the password locks it too (`lockForPassword`), and
 * so does a reset of second factors or a change of the address: either it waits for the session and ends it, or it came
 * first and the session is refused.
 * @returns when the session that proves the user expires: one that begins without a new proof lasts no longer
 */
async function assertProved(
  tx: EntityManager,
  { userId, proof, at }: { userId: string; proof: SessionProof; at: Date },
): Promise<Date | null> {
  const [user] = await tx.query<ProvedAsOf[]>(`select ${provedAsOf} from users where id = $1 for share`, [userId]);
  if ('sessionId' in proof) {
    const [alive] = await tx.query<{ expires_at: Date }[]>(aliveSession, [proof.sessionId, userId, at]);
    if (!user || !alive) throw new DomainError('auth.invalid_credentials');
    return alive.expires_at;
  }
  const isUnchanged =
    isSame(user?.passwordChangedAt, proof.passwordChangedAt) &&
    isSame(user?.mfaResetAt, proof.mfaResetAt) &&
    isSame(user?.emailChangedAt, proof.emailChangedAt);
  if (!user || !isUnchanged) throw new DomainError('auth.invalid_credentials');
  return null;
}
const isSame = (one: Date | null | undefined, other: Date | null) => one?.getTime() === other?.getTime();
const aliveSession =
  'select expires_at from user_sessions where id = $1 and user_id = $2 and revoked_at is null and expires_at > $3';

interface RevokedRow {
  account_id: string | null;
  sso_session_id: string | null;
}
type RevocationEvent = 'auth.admin_session_revoked' | 'auth.admin_signed_out';

const ownerStatement = {
  name: 'owner_of_admin_refresh_token',
  text: `select s.id as "sessionId", s.user_id as "userId" from refresh_tokens t join user_sessions s on s.id = t.family_id
where t.token_hash = $1 and t.kind = 'user_session'`,
};

/** Accepts a spent token too: the response with its successor may have been lost. */
async function ownerOf(db: Pick<Db, 'statement'>, refreshToken: string) {
  const [owner] = await db.statement<{ sessionId: string; userId: string }>(ownerStatement, [hashSecret(refreshToken)]);
  return owner;
}
