import { IsNull } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLogout } from '../../../entities/sso-logout.js';
import { SsoSession } from '../../../entities/sso-session.js';
import { after, type Clock } from '../../platform/clock.js';
import { equalInConstantTime, hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { SsoRefused } from '../sso-protocols/assertion.js';
import type { OidcProtocol } from '../sso-protocols/oidc/oidc.js';
import type { SamlProtocol } from '../sso-protocols/saml/protocol.js';
import { requestLife } from './lifetimes.js';
import type { ProviderSessions } from './provider-sessions.js';

/** Where to send a person who signs out; checked with the request, and independent of what any provider sends. */
export interface Onward {
  /** A registered URI with its state; null for our own page. */
  redirectUri: string | null;
  /** The site to which our page links, and the client whose branding it has. */
  homeUrl: string | null;
  clientId: string | null;
  uiLocales: string | null;
}

/** The browser's next step: to a provider, or to where the person was going. */
export type SignOutStep =
  | { url: string; browser: string; expiresAt: Date; onward: Onward }
  /** `isConfirmed`: every provider that was asked has confirmed that the person is signed out there. */
  | { onward: Onward; isConfirmed: boolean };

export interface SsoLeavingDeps {
  db: Db;
  sessions: Pick<ProviderSessions, 'handleOf'>;
  protocols: { oidc: Pick<OidcProtocol, 'leave'>; saml: Pick<SamlProtocol, 'leave'> };
  now: Clock;
}

// Only the latest session at each provider: a browser has one session there, and a second question would be about one
// that is over.
const leaveableText = `
select id from (
  select distinct on (s.connection_id) s.id, s.created_at
  from sso_sessions s cross join lateral (select * from sso_connections where id = s.connection_id offset 0) c
  where s.id = any ($1) and s.expires_at > $2 and s.ended_at is null and c.single_logout_enabled and c.status = 'active'
    and (c.type = 'oidc' or c.saml_slo_url is not null)
  order by s.connection_id, s.created_at desc, s.id desc
) latest
order by created_at desc`;
const columns = `id, sso_session_ids as "ssoSessionIds", onward, answered_at as "answeredAt", refusal, expires_at as "expiresAt"`;
const claimStatement = {
  name: 'claim_sso_logout',
  text: `update sso_logouts set browser_hash = $2 where link_hash = $1 and browser_hash is null and expires_at > $3 returning ${columns}`,
};
const repeatStatement = {
  name: 'repeat_sso_logout',
  text: 'select id from sso_logouts where link_hash = $1 and browser_hash = $2 and expires_at > $3',
};
const findStatement = {
  name: 'find_sso_logout',
  text: `select ${columns}, browser_hash as "browserHash" from sso_logouts where id = $1 and browser_hash is not null and expires_at > $2`,
};
const stateStatement = {
  name: 'sso_logout_by_state',
  text: 'select id from sso_logouts where state_hash = $1 and connection_id = $2 and expires_at > $3',
};
const takeText = `
update sso_logouts set sso_session_ids = array_remove(sso_session_ids, $2)
where id = $1 and $2 = any (sso_session_ids)`;
// The first answer counts.
const answerStatement = {
  name: 'answer_sso_logout',
  text: `update sso_logouts set answered_at = $2, refusal = coalesce(refusal, $3) where id = $1 and answered_at is null`,
};

type Row = Pick<SsoLogout, 'id' | 'ssoSessionIds' | 'answeredAt' | 'refusal' | 'expiresAt'> & { onward: Onward };

/**
 * Signs people out at the providers by which their sessions here had begun. Those sessions have ended before the person
 * is sent to a provider, so that nothing that a provider does, or fails to do, keeps a person signed in here.
 */
export function createProviderSignOut({ db, sessions, protocols, now }: SsoLeavingDeps) {
  /**
   * Removes a provider's session from the list, so that nobody is sent to end it twice; from here on its response is
   * expected.
   * @returns null if it is over already; 'elsewhere' if the browser has come twice and continues with its other visit
   */
  const taken = (row: Row, id: string, state: string) =>
    db.transaction('system', async (tx) => {
      const [, taken] = await tx.query<[unknown, number]>(takeText, [row.id, id]); // one of two visits takes it
      if (taken === 0) return 'elsewhere';
      const lock = { mode: 'pessimistic_write' } as const;
      const session = await tx.findOne(SsoSession, { where: { id, endedAt: IsNull() }, lock });
      const connection = session && (await tx.findOneBy(SsoConnection, { id: session.connectionId }));
      await tx.delete(SsoSession, { id });
      if (!session || !connection) return null;
      const asked = { connectionId: connection.id, stateHash: hashSecret(state), answeredAt: null };
      await tx.update(SsoLogout, { id: row.id }, asked);
      return { session, connection };
    });

  async function urlOf(row: Row, session: SsoSession, connection: SsoConnection, state: string) {
    const handle = sessions.handleOf(session);
    return handle.protocol === 'saml'
      ? protocols.saml.leave(connection, { logoutId: row.id, state, handle })
      : protocols.oidc.leave(connection, { state, idToken: handle.idToken });
  }

  /** Continues with the next provider, skipping those that cannot be asked. */
  async function next(row: Row, browser: string): Promise<SignOutStep> {
    let { refusal } = row;
    for (const id of row.ssoSessionIds) {
      const state = newSecret();
      const found = await taken(row, id, state);
      if (found === 'elsewhere') return { onward: row.onward, isConfirmed: false };
      if (!found) continue;
      try {
        const url = await urlOf(row, found.session, found.connection, state);
        if (url === null) continue;
        return { url, browser, expiresAt: row.expiresAt, onward: row.onward };
      } catch (error) {
        if (!(error instanceof SsoRefused)) throw error;
        refusal ??= error.code;
      }
    }
    await db.statement(answerStatement, [row.id, now(), refusal]);
    return { onward: row.onward, isConfirmed: refusal === null };
  }

  /** The next step of a browser that comes from a provider; null for any browser but the one that was sent there. */
  async function goOn(id: string, browser: string | null): Promise<SignOutStep | null> {
    const [row] = await db.statement<Row & { browserHash: Buffer }>(findStatement, [id, now()]);
    if (!row || browser === null || !equalInConstantTime(row.browserHash, hashSecret(browser))) return null;
    return row.answeredAt === null ? { onward: row.onward, isConfirmed: false } : next(row, browser);
  }

  return {
    goOn,

    /**
     * Begins signing out at the providers of sessions that have ended here.
     * @param ssoSessionIds by which they had begun
     * @returns the token of the link for the browser, good for ten minutes; null if there is no provider to sign out at
     */
    begin: (ssoSessionIds: readonly string[], onward: Onward): Promise<string | null> =>
      ssoSessionIds.length === 0
        ? Promise.resolve(null)
        : db.transaction('system', async (tx) => {
            const at = now();
            const found = await tx.query<{ id: string }[]>(leaveableText, [ssoSessionIds, at]);
            if (found.length === 0) return null;
            const token = newSecret();
            await tx.insert(SsoLogout, {
              id: uuidv7(),
              linkHash: hashSecret(token),
              ssoSessionIds: found.map(({ id }) => id),
              onward: { ...onward } as never,
              createdAt: at,
              expiresAt: after(at, requestLife),
            });
            return token;
          }),

    /**
     * Uses the link, once, for the browser that comes first. If the same browser comes again, it is sent to its final
     * destination.
     * @param cookie of the browser, if it has one already: tabs share it
     * @returns null for an unknown link, and for another browser
     */
    async leave(token: string, cookie: string | null): Promise<SignOutStep | null> {
      const browser = cookie ?? newSecret();
      const values = [hashSecret(token), hashSecret(browser), now()];
      const [row] = await db.statement<Row>(claimStatement, values);
      if (row) return next(row, browser);
      const [again] = await db.statement<{ id: string }>(repeatStatement, values);
      return again ? goOn(again.id, browser) : null;
    },

    /**
     * Records a provider's response to the sign-out that a state names. `check` gets the id of the sign-out, and
     * refuses what is no response to it.
     * @returns how the browser continues, also if the response is refused; null for an unknown state
     */
    async answered(
      { state, connectionId }: { state: string; connectionId: string },
      check: (logoutId: string) => Promise<void>,
    ): Promise<{ logoutId: string; refusal: string | null } | null> {
      const [row] = await db.statement<{ id: string }>(stateStatement, [hashSecret(state), connectionId, now()]);
      if (!row) return null;
      let refusal: string | null = null;
      try {
        await check(row.id);
      } catch (error) {
        if (!(error instanceof SsoRefused)) throw error;
        refusal = error.code;
      }
      await db.statement(answerStatement, [row.id, now(), refusal]);
      return { logoutId: row.id, refusal };
    },
  };
}

export type ProviderSignOut = ReturnType<typeof createProviderSignOut>;
