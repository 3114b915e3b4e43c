import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Actor } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { recordEvents } from '../events/record.js';
import { mostListed } from '../own-account.js';
import { idleSecondsOf, openUntil } from './idle.js';
import { recordSignedOut } from './signed-out.js';
import { inParts, youngest } from './told-in-parts.js';

/** A browser or device in which a person is signed in to an Environment, as shown to that person. */
export interface OwnSession {
  id: string;
  userAgent: string | null;
  /** When it began, and when they last proved who they are in it. */
  createdAt: Date;
  authenticatedAt: Date;
  /**
   * Whether it still signs in to applications without asking; otherwise only the applications that were opened with it
   * continue.
   */
  isOpen: boolean;
}

export interface OwnSessions {
  /** The latest 50: open sessions, and ended ones that an application still uses. */
  list(scope: EnvironmentScope, identityId: string): Promise<OwnSession[]>;
  /** Ends a session with everything that applications were given in it. @throws DomainError session.not_found */
  end(scope: EnvironmentScope, identityId: string, sessionId: string): Promise<void>;
  /** Notes that a factor was proved in the session. */
  strengthen(scope: EnvironmentScope, sessionId: string, proved: ProvedInSession): Promise<void>;
  /** Ends all sessions but one; returns how many. */
  endOthers(scope: EnvironmentScope, identityId: string, keepSessionId: string): Promise<number>;
}

export interface ProvedInSession {
  amr: string[];
  acr: string;
  secondFactorAt: Date | null;
  ownFactorAt: Date;
}

/**
 * SQL: a grant that is alive: its client exists, and one of its tokens is still valid. Refresh tokens expire before
 * their grant if nobody uses them. The statement itself checks whether its session was revoked, since the sign-in of
 * another person revokes a session and leaves its grants as they are. Only for the `system` scope: no tenant's
 * transaction sees refresh tokens.
 */
export const livingGrant = (now: string) => `g.revoked_at is null and g.expires_at > ${now}
    and exists (select from oauth_clients where id = g.oauth_client_id) and exists (
    select from refresh_tokens t
    where t.family_id = g.id and t.kind = 'grant' and t.spent_at is null and t.expires_at > ${now})`;

const isOpen = `${openUntil('s', idleSecondsOf('$2'))} > $4`;

const listStatement = {
  name: 'own_sessions',
  text: `
select s.id, s.user_agent as "userAgent", s.created_at as "createdAt", s.authenticated_at as "authenticatedAt",
  ${isOpen} as "isOpen"
from sessions s
where s.account_id = $1 and s.environment_id = $2 and s.identity_id = $3 and s.revoked_at is null
  and (${isOpen} or exists (select from grants g where g.session_id = s.id and ${livingGrant('$4')}))
order by s.authenticated_at desc, s.id desc limit ${mostListed}`,
};

const strengthenStatement = {
  name: 'strengthen_session',
  text: `
update sessions set amr = $4, acr = $5, second_factor_at = coalesce($6, second_factor_at), own_factor_at = $7
where account_id = $1 and environment_id = $2 and id = $3 and revoked_at is null`,
};

/** A person's sessions in an Environment, which they can see and end: a lost phone must not stay signed in. */
export function createOwnSessions({ db, now }: { db: Db; now: Clock }): OwnSessions {
  const end = (scope: EnvironmentScope, identityId: string, which: { only: string } | { keep: string }) =>
    db.transaction(scope, async (tx) => {
      const ended = await endSessions(tx, scope, identityId, { ...which, reason: 'ended_by_person', at: now() });
      if ('only' in which && ended.length === 0) throw new DomainError('session.not_found');
      return ended.length;
    });

  return {
    list: ({ accountId, environmentId }, identityId) =>
      db.statement<OwnSession>(listStatement, [accountId, environmentId, identityId, now()]),
    end: async (scope, identityId, only) => void (await end(scope, identityId, { only })),
    endOthers: (scope, identityId, keep) => end(scope, identityId, { keep }),
    async strengthen({ accountId, environmentId }, sessionId, { amr, acr, secondFactorAt, ownFactorAt }) {
      const values = [accountId, environmentId, sessionId, amr, acr, secondFactorAt, ownFactorAt];
      await db.statement(strengthenStatement, values);
    },
  };
}

interface Ending {
  only?: string;
  keep?: string;
  reason: string;
  at: Date;
  /** The actor; by default the person. */
  by?: Actor;
}

/** Unfinished sign-ins would become sessions; those that are to make a session stronger end with it. */
const endUnfinished = `
update pending_sign_ins set completed_at = $4
where account_id = $1 and environment_id = $2 and identity_id = $3 and completed_at is null and method <> 'session'`;

/**
 * Ends sessions of an Identity with their grants, and so every token: in the caller's transaction, in the Environment
 * of `scope`. Unless a single one is named, sign-ins that wait for a second factor end as well. Returns the ids.
 */
export async function endSessions(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  { only, keep, reason, at, by }: Ending,
): Promise<string[]> {
  const { accountId, environmentId } = scope;
  const [rows] = await tx.query<[{ id: string }[], number]>(
    `update sessions set revoked_at = $4
     where account_id = $1 and environment_id = $2 and identity_id = $3 and revoked_at is null
       and ($5::uuid is null or id = $5) and ($6::uuid is null or id <> $6)
     returning id`,
    [accountId, environmentId, identityId, at, only ?? null, keep ?? null],
  );
  if (only === undefined) await tx.query(endUnfinished, [accountId, environmentId, identityId, at]);
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return ids;
  await tx.query(
    `update grants set revoked_at = $3, revoked_reason = $4
     where account_id = $1 and session_id = any($2) and revoked_at is null`,
    [accountId, ids, at, reason],
  );
  const actor = by ?? { type: 'identity', id: identityId };
  const signedOut = youngest(ids).map((id) => ({ ...scope, resourceId: id, actor, metadata: { reason } }));
  await recordEvents(tx, 'auth.identity_signed_out', signedOut);
  if (reason === 'logout') {
    for (const id of ids) await recordSignedOut(tx, scope, identityId, id);
    return ids;
  }
  const about = { ...scope, resourceId: identityId, actor };
  const revoked = inParts(ids).map((part) => ({ ...about, metadata: { reason, session_ids: part } }));
  await recordEvents(tx, 'identity.sessions_revoked', revoked);
  return ids;
}
