import { type EntityManager, In, IsNull } from 'typeorm';
import { Session } from '../../../entities/session.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import { SsoSession } from '../../../entities/sso-session.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import { recordEvent } from '../events.js';
import { endSessions } from '../sessions/own-sessions.js';
import { applicationOf } from '../sso-connections/events.js';

const by = { type: 'system', id: null } as const;

/** Whose sessions at a provider have ended, and which: none named are all, and so is none that is known here. */
export interface EndedAtProvider {
  subject: string;
  /** SAML's `SessionIndex`, or OpenID Connect's `sid`. */
  sessionIndexes: readonly string[];
}

/**
 * Ends the sessions that a person has begun by a connection, since their provider says that theirs is over. Where nobody
 * knows which those are, all of them: too much signed out is the safe side. In a transaction of the system.
 */
export async function endProviderSessions(
  tx: EntityManager,
  connection: SsoConnection,
  { subject, sessionIndexes }: EndedAtProvider,
  now: Date,
): Promise<void> {
  const { id: connectionId, accountId } = connection;
  const link = await tx.findOneBy(SsoLink, { accountId, connectionId, subject });
  if (!link) return;
  const indexHash = In(sessionIndexes.map(hashSecret));
  const meant =
    sessionIndexes.length === 0
      ? []
      : await tx.find(SsoSession, { where: { connectionId, linkId: link.id, indexHash }, select: { id: true } });
  const ids = meant.length === 0 ? null : meant.map(({ id }) => id);
  if (link.identityId) await endOfIdentity(tx, connection, { identityId: link.identityId, ids, at: now });
  if (link.userId) await endOfUser(tx, connection, { userId: link.userId, ids, at: now });
}

interface Ending {
  /** Of `sso_sessions`; null: whichever. */
  ids: string[] | null;
  at: Date;
}

async function endOfIdentity(
  tx: EntityManager,
  { id: ssoConnectionId, accountId, environmentId }: SsoConnection,
  { identityId, ids, at }: Ending & { identityId: string },
) {
  const applicationId = environmentId && (await applicationOf(tx, environmentId));
  if (!environmentId || !applicationId) return;
  const open = { accountId, environmentId, identityId, ssoConnectionId, revokedAt: IsNull() };
  const where = ids ? { ...open, ssoSessionId: In(ids) } : open;
  const sessions = await tx.find(Session, { where, select: { id: true } });
  const scope = { accountId, applicationId, environmentId };
  for (const { id: only } of sessions) {
    await endSessions(tx, scope, identityId, { only, reason: 'provider_logout', at, by });
  }
}

async function endOfUser(
  tx: EntityManager,
  { id, accountId }: SsoConnection,
  { userId, ids, at }: Ending & { userId: string },
) {
  const [ended] = await tx.query<[{ id: string }[], number]>(
    `update user_sessions set revoked_at = $3
     where user_id = $1 and sso_connection_id = $2 and revoked_at is null and expires_at > $3
       and ($4::uuid[] is null or sso_session_id = any ($4)) returning id`,
    [userId, id, at, ids],
  );
  for (const session of ended) {
    await recordEvent(tx, 'auth.admin_session_revoked', { accountId, resourceId: session.id, actor: by });
  }
}
