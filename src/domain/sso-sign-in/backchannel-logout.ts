import { after, type Clock, hours } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import { type Db, inTransaction } from '../../platform/database/db.js';
import { spend } from '../one-time/spent-tokens.js';
import { endedAtProvider } from '../sessions/provider-session-end.js';
import { readAnyConnection } from '../sso-connections/read.js';
import type { OidcProtocol } from '../sso-protocols/oidc/oidc.js';
import { endProviderSessions } from './provider-logout.js';
import { acceptOnce } from './replay.js';
import type { SsoRequests } from './requests.js';

export interface BackchannelLogoutDeps {
  db: Db;
  protocol: Pick<OidcProtocol, 'verifyLogout'>;
  requests: Pick<SsoRequests, 'withdraw'>;
  now: Clock;
}

/** Longer than a sign-in by an answer may wait for its second factor. */
const remembered = hours(1);

/**
 * Handles what an OpenID provider says of its own sessions, from server to server (OpenID Connect Back-Channel Logout
 * 1.0).
 */
export function createBackchannelLogout({ db, protocol, requests, now }: BackchannelLogoutDeps) {
  /**
   * Ends what began in the provider's session that is over. The token is used up in the same transaction, so that the
   * provider can send it again if that fails. If it failed only to hear so, the token has the same answer and no
   * effect.
   * @returns false if there is no such connection
   * @throws SsoRefused
   */
  return async (connectionId: string, logoutToken: string): Promise<boolean> => {
    const connection = await readAnyConnection(db, connectionId);
    if (connection?.type !== 'oidc') return false;
    const { subject, sessionId, once } = await protocol.verifyLogout(connection, logoutToken);
    const sessionIndexes = sessionId === null ? [] : [sessionId];
    // Committed before the search: a sign-in that is not found below finds this mark.
    if (sessionId !== null)
      await spend(db, endedAtProvider(connection.id, hashSecret(sessionId)), after(now(), remembered));
    await db.transaction('system', async (tx) => {
      if (!(await acceptOnce({ statement: inTransaction(tx) }, connection, once))) return;
      const ended = { subject, sessionIndexes, ifUnknown: 'unnamed' } as const;
      await endProviderSessions(tx, connection, ended, { requests, now: now() });
    });
    return true;
  };
}

export type BackchannelLogout = ReturnType<typeof createBackchannelLogout>;
