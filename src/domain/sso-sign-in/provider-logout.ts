import { type EntityManager, IsNull } from 'typeorm';
import { Session } from '../../../entities/session.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import { recordEvent } from '../events.js';
import { endSessions } from '../sessions/own-sessions.js';
import { applicationOf } from '../sso-connections/events.js';

const by = { type: 'system', id: null } as const;

/**
 * Ends the sessions that a person has begun by a connection, since their provider says that theirs is over. All of them:
 * which of them began in which session of the provider is not kept. In a transaction of the system.
 */
export async function endProviderSessions(
  tx: EntityManager,
  connection: SsoConnection,
  subject: string,
  now: Date,
): Promise<void> {
  const { id: connectionId, accountId } = connection;
  const link = await tx.findOneBy(SsoLink, { accountId, connectionId, subject });
  if (link?.identityId) await endOfIdentity(tx, connection, link.identityId, now);
  if (link?.userId) await endOfUser(tx, connection, link.userId, now);
}

async function endOfIdentity(tx: EntityManager, connection: SsoConnection, identityId: string, at: Date) {
  const { id: ssoConnectionId, accountId, environmentId } = connection;
  const applicationId = environmentId && (await applicationOf(tx, environmentId));
  if (!environmentId || !applicationId) return;
  const open = { accountId, environmentId, identityId, ssoConnectionId, revokedAt: IsNull() };
  const sessions = await tx.find(Session, { where: open, select: { id: true } });
  const scope = { accountId, applicationId, environmentId };
  for (const { id: only } of sessions) {
    await endSessions(tx, scope, identityId, { only, reason: 'provider_logout', at, by });
  }
}

async function endOfUser(tx: EntityManager, { id, accountId }: SsoConnection, userId: string, now: Date) {
  const [ended] = await tx.query<[{ id: string }[], number]>(
    `update user_sessions set revoked_at = $3
     where user_id = $1 and sso_connection_id = $2 and revoked_at is null and expires_at > $3 returning id`,
    [userId, id, now],
  );
  for (const session of ended) {
    await recordEvent(tx, 'auth.admin_session_revoked', { accountId, resourceId: session.id, actor: by });
  }
}
