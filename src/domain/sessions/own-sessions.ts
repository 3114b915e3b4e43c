import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { accountPageLimit } from '../account-page-limit.js';
import { DomainError } from '../errors.js';
import { endSessions } from './end-sessions.js';
import { idleSecondsOf, openUntil } from './idle.js';
import { livingGrant } from './living-grant.js';

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

const isOpen = `${openUntil('s', idleSecondsOf('$2'))} > $4`;

const listStatement = {
  name: 'own_sessions',
  text: `
select s.id, s.user_agent as "userAgent", s.created_at as "createdAt", s.authenticated_at as "authenticatedAt",
  ${isOpen} as "isOpen"
from sessions s
where s.account_id = $1 and s.environment_id = $2 and s.identity_id = $3 and s.revoked_at is null
  and (${isOpen} or exists (select from grants g where g.session_id = s.id and ${livingGrant('$4')}))
order by s.authenticated_at desc, s.id desc limit ${accountPageLimit}`,
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
