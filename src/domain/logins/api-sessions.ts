import type { Session } from '../../../entities/session.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import { type Db, within } from '../../platform/database/db.js';
import { DomainError } from '../errors.js';
import { containing, type Page, type PageRequest } from '../lists/paging.js';
import { columnsOf, readPageByTotal } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import type { Client } from '../oidc/clients/clients.js';
import { endSessions } from '../sessions/end-sessions.js';
import { providerSessionsOf } from '../sessions/former-providers.js';
import { idleSecondsOf, openUntil } from '../sessions/idle.js';
import { livingGrant } from '../sessions/living-grant.js';
import type { SignedInPerson } from '../sessions/signed-in-person.js';

export type SessionSort = 'authenticated_at' | 'created_at';
const columns: Record<SessionSort, string[]> = {
  authenticated_at: ['session.authenticated_at', 'session.id'],
  created_at: ['session.created_at', 'session.id'],
};

const shown = ['id', 'authenticatedAt', 'createdAt', 'expiresAt', 'ipAddress', 'userAgent'] as const;
export type ShownSession = Pick<Session, (typeof shown)[number]>;

function listedOf({ identityId }: SignedInPerson, q: string | undefined, at: Date) {
  const where = (put: Bind) => {
    const moment = `${put(at)}::timestamptz`;
    const conditions = [
      'session.account_id = $1 and session.environment_id = $2',
      `session.identity_id = ${put(identityId)} and session.revoked_at is null`,
      `(${openUntil('session', idleSecondsOf('$2'))} > ${moment}
        or exists (select from grants g where g.session_id = session.id and ${livingGrant(moment)}))`,
    ];
    if (q) conditions.push(matching(put(containing(q))));
    return conditions.join(' and ');
  };
  return {
    from: 'sessions session',
    where,
    key: 'session.id',
    shownBy: 'sessions session on session.id = found.key',
    select: () => columnsOf('session', shown),
    total: (put: Bind) => `(select count(*) from sessions session where ${where(put)})`,
  };
}

const matching = (pattern: string) => `(session.user_agent ilike ${pattern} or session.ip_address ilike ${pattern})`;

const ownerStatement = {
  name: 'owner_of_own_api_refresh_token',
  text: `
select g.account_id as "accountId", c.application_id as "applicationId", g.environment_id as "environmentId",
  g.identity_id as "identityId", g.session_id as "sessionId"
from refresh_tokens t
  cross join lateral (select * from grants where id = t.family_id offset 0) g
  cross join lateral (select application_id, consent_required from oauth_clients where id = g.oauth_client_id offset 0) c
where t.token_hash = $1 and t.kind = 'grant' and g.oauth_client_id = $2 and (g.revoked_at is null or not c.consent_required)`,
};

const providersStatement = {
  name: 'sso_sessions_of_ended',
  text: `select unnest(${providerSessionsOf('sessions')}) as id from sessions where id = any ($1)`,
};

/** The signed-in person's sessions in this Environment, however they were started. */
export function createApiSessions({ db, now }: { db: Db; now: Clock }) {
  const end = (subject: SignedInPerson, only: string, reason: string) =>
    db.transaction(within(subject), (tx) => {
      const { identityId, sessionId: _, ...scope } = subject;
      return endSessions(tx, scope, identityId, { only, reason, at: now() });
    });

  /**
   * Ends a session with all its grants. One that has ended is no error.
   * @returns the sessions at identity providers (`sso_sessions`) by which it began or went on
   */
  async function signOut(subject: SignedInPerson): Promise<string[]> {
    const ended = await end(subject, subject.sessionId, 'logout');
    if (ended.length === 0) return [];
    const rows = await db.statement<{ id: string }>(providersStatement, [ended]);
    return rows.map(({ id }) => id);
  }

  /**
   * In the system's scope, since the refresh tokens that keep a grant alive belong to no tenant; so the filters have to
   * suffice.
   */
  const inSystem: Pick<Db, 'statementIn'> = {
    statementIn: (_tenant, statement, values) => db.statement(statement, values),
  };

  return {
    /** Open sessions, and ended ones whose grants a client still uses. */
    list: (subject: SignedInPerson, page: PageRequest<SessionSort>): Promise<Page<ShownSession>> =>
      readPageByTotal(inSystem, subject, listedOf(subject, page.q, now()), page, columns[page.sortBy]),

    /**
     * @throws DomainError session.not_found, also for a session of somebody else or of another Environment;
     *   auth.invalid_credentials for their own that has just ended, as for any request after its end
     */
    async revoke(subject: SignedInPerson, sessionId: string): Promise<void> {
      const ended = await end(subject, sessionId, 'ended_by_person');
      if (ended.length > 0) return;
      throw new DomainError(sessionId === subject.sessionId ? 'auth.invalid_credentials' : 'session.not_found');
    },

    signOut,

    /**
     * Signs out by a refresh token of the client. A spent one works as well, since the answer with its successor may
     * have been lost; so does one whose grant was ended, as by a replay. Not for third-party applications after the
     * person has withdrawn their consent: then the session does not concern them.
     */
    async signOutBy(client: Pick<Client, 'id'>, refreshToken: string): Promise<string[]> {
      const [owner] = await db.statement<SignedInPerson>(ownerStatement, [hashSecret(refreshToken), client.id]);
      return owner ? signOut(owner) : [];
    },
  };
}

export type ApiSessions = ReturnType<typeof createApiSessions>;
