import { ArrayContains, ArrayOverlap, type EntityManager, type FindOptionsWhere, In, IsNull } from 'typeorm';
import { PendingSignIn } from '../../../entities/pending-sign-in.js';
import { PendingUserSignIn } from '../../../entities/pending-user-sign-in.js';
import { Session } from '../../../entities/session.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import { SsoSession } from '../../../entities/sso-session.js';
import { systemActor } from '../../platform/context.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import { applicationOf } from '../application-of.js';
import { recordEvent } from '../events/record.js';
import { endSessions } from '../sessions/end-sessions.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import type { SsoRequests } from './requests.js';

/** The sessions at a provider that have ended, and their person. */
export interface EndedAtProvider {
  /** Null: the person with the named sessions. */
  subject: string | null;
  /** SAML's `SessionIndex`, or OpenID Connect's `sid`; an empty list means all of the person's. */
  sessionIndexes: readonly string[];
  /**
   * What ends if none of these is known: all of the person's sessions, or only those without a name, since the provider
   * has named all others. That of an answer that waits for its browser is known.
   */
  ifUnknown: 'all' | 'unnamed';
}

/**
 * Ends the sessions that a person has begun by a connection, or gone on with for a while, since their provider says
 * that theirs is over; and what would become one: an answer that its browser has not come for yet, and a sign-in that
 * waits for a second factor or is just making its session. In a transaction of the system.
 */
export async function endProviderSessions(
  tx: EntityManager,
  connection: SsoConnection,
  ended: EndedAtProvider,
  { requests, now }: { requests: Pick<SsoRequests, 'withdraw'>; now: Date },
): Promise<void> {
  const { id: connectionId, accountId } = connection;
  const { subject, sessionIndexes, ifUnknown } = ended;
  const withdraw = (which: EndedAtProvider) =>
    requests.withdraw(tx, connection, (assertion) => isMeant(assertion, which));
  // Done first: it waits for sign-ins that are being completed, whose sessions are then found below.
  const withdrawn = await withdraw(ended);
  const known = (where: FindOptionsWhere<SsoSession>) =>
    tx.find(SsoSession, { where: { connectionId, ...where }, select: { id: true, linkId: true } });
  const named = { indexHash: In(sessionIndexes.map(hashSecret)) };
  if (subject === null) {
    const meant = await known(named);
    const links = await tx.findBy(SsoLink, { accountId, connectionId, id: In(meant.map(({ linkId }) => linkId)) });
    for (const link of links) {
      const ids = idsOf(meant.filter(({ linkId }) => linkId === link.id));
      await endOf(tx, connection, link, { ids, at: now });
    }
    return;
  }
  const link = await tx.findOneBy(SsoLink, { accountId, connectionId, subject });
  const found = link && sessionIndexes.length > 0 ? await known({ linkId: link.id, ...named }) : [];
  const isKnown = found.length > 0 || withdrawn.some((assertion) => isNamed(assertion, ended));
  const isAll = sessionIndexes.length === 0 || (!isKnown && ifUnknown === 'all');
  if (isAll && sessionIndexes.length > 0) await withdraw({ ...ended, sessionIndexes: [] });
  if (!link) return;
  const meant = isAll ? null : isKnown ? found : await known({ linkId: link.id, indexHash: IsNull() });
  await endOf(tx, connection, link, { ids: meant && idsOf(meant), at: now });
}

const isNamed = ({ sessionIndex }: Assertion, { sessionIndexes }: EndedAtProvider): boolean =>
  sessionIndex !== null && sessionIndexes.includes(sessionIndex);

/** Whether an answer is about one of the ended sessions; an answer without a session name is, if it is the person's. */
function isMeant(assertion: Assertion, ended: EndedAtProvider): boolean {
  const { subject, sessionIndexes } = ended;
  if (subject !== null && assertion.subject !== subject) return false;
  if (assertion.sessionIndex === null) return subject !== null;
  return isNamed(assertion, ended) || (subject !== null && sessionIndexes.length === 0);
}

const idsOf = (rows: readonly SsoSession[]): string[] => rows.map(({ id }) => id);

async function endOf(
  tx: EntityManager,
  connection: SsoConnection,
  { id: linkId, identityId, userId }: SsoLink,
  ending: Ending,
) {
  // Before the sessions here: a sign-in that starts one locks these until it can be found (`openAtProvider`).
  const open = { linkId, endedAt: IsNull(), ...(ending.ids && { id: In(ending.ids) }) };
  await tx.update(SsoSession, open, { endedAt: ending.at });
  if (identityId) await endOfIdentity(tx, connection, { identityId, ...ending });
  if (userId) await endOfUser(tx, connection, { userId, ...ending });
}

interface Ending {
  /** The ids of rows of `sso_sessions`; null: all. */
  ids: string[] | null;
  at: Date;
}

async function endOfIdentity(
  tx: EntityManager,
  { id: ssoConnectionId, accountId, environmentId }: SsoConnection,
  { identityId, ids, at }: Ending & { identityId: string },
) {
  const applicationId = await applicationOf(tx, environmentId);
  if (!environmentId || !applicationId) return;
  const open = { accountId, environmentId, identityId, revokedAt: IsNull() };
  // A session that has gone on in another way since also holds what it was given by the provider.
  const where = ids
    ? [
        { ...open, ssoConnectionId, ssoSessionId: In(ids) },
        { ...open, formerSsoSessionIds: ArrayOverlap(ids) },
      ]
    : [
        { ...open, ssoConnectionId },
        { ...open, formerSsoConnectionIds: ArrayContains([ssoConnectionId]) },
      ];
  const sessions = await tx.find(Session, { where, select: { id: true } });
  const scope = { accountId, applicationId, environmentId };
  await tx.delete(PendingSignIn, {
    accountId,
    environmentId,
    identityId,
    ssoConnectionId,
    ...(ids && { ssoSessionId: In(ids) }),
  });
  for (const { id: only } of sessions) {
    await endSessions(tx, scope, identityId, { only, reason: 'provider_logout', at, by: systemActor });
  }
}

async function endOfUser(
  tx: EntityManager,
  { id, accountId }: SsoConnection,
  { userId, ids, at }: Ending & { userId: string },
) {
  await tx.delete(PendingUserSignIn, { userId, ssoConnectionId: id, ...(ids && { ssoSessionId: In(ids) }) });
  const [ended] = await tx.query<[{ id: string }[], number]>(
    `update user_sessions set revoked_at = $3
     where user_id = $1 and sso_connection_id = $2 and revoked_at is null and expires_at > $3
       and ($4::uuid[] is null or sso_session_id = any ($4)) returning id`,
    [userId, id, at, ids],
  );
  for (const session of ended) {
    await recordEvent(tx, 'auth.admin_session_revoked', { accountId, resourceId: session.id, actor: systemActor });
  }
}
