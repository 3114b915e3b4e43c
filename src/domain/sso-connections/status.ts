import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { PendingSignIn } from '../../../entities/pending-sign-in.js';
import { PendingUserSignIn } from '../../../entities/pending-user-sign-in.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { Clock } from '../../platform/clock.js';
import type { Db, Scope } from '../../platform/db.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import { recordEvent, recordEvents } from '../events.js';
import { applicationOf, recordConnectionEvent } from './events.js';
import { type ConnectionAt, type ConnectionDetail, lockConnection, lockRequests } from './find.js';
import { assertComplete } from './settings.js';

/**
 * `configuring → active ⇄ disabled`, and what follows from it. With a connection that is disabled or deleted go the sessions
 * that began by it, or went on by it for a while, and what applications were given in them: whoever disables one no longer trusts
 * what it said.
 */
export function createStatusChanges({
  db,
  detail,
  now,
}: {
  db: Db;
  detail(tx: EntityManager, connection: SsoConnection): Promise<ConnectionDetail>;
  now: Clock;
}) {
  const change = <T>(
    at: ConnectionAt,
    caller: Caller,
    work: (tx: EntityManager, connection: SsoConnection) => Promise<T>,
  ): Promise<T> =>
    db.transaction(scopeToEnd(at), async (tx) => {
      await lockRequests(tx, at);
      if (at.scope.environmentId) await lockSettings(tx, at.scope.environmentId);
      return work(tx, await lockConnection(tx, at, caller));
    });

  return {
    /** What is active already stays so. @throws DomainError as `lockConnection`; sso_connection.incomplete */
    activate: (at: ConnectionAt, caller: Caller): Promise<ConnectionDetail> =>
      change(at, caller, async (tx, connection) => {
        if (connection.status === 'active') return detail(tx, connection);
        assertComplete(connection, now());
        const activated = { status: 'active', consecutiveFailures: 0, autoDisabledAt: null, updatedAt: now() } as const;
        await tx.update(SsoConnection, { id: connection.id }, activated);
        const metadata = { previous_status: connection.status };
        await recordConnectionEvent(tx, 'sso_connection.activated', connection, metadata);
        return detail(tx, { ...connection, ...activated });
      }),

    /** What is disabled already stays so. @throws DomainError as `lockConnection`; sso_connection.not_active */
    disable: (at: ConnectionAt, caller: Caller): Promise<ConnectionDetail> =>
      change(at, caller, async (tx, connection) => {
        const { id, status } = connection;
        if (status === 'disabled') return detail(tx, connection);
        if (status === 'configuring') throw new DomainError('sso_connection.not_active');
        const disabled = { status: 'disabled', updatedAt: now() } as const;
        await tx.update(SsoConnection, { id }, disabled);
        await recordConnectionEvent(tx, 'sso_connection.disabled', connection, { previous_status: status });
        await endAllThrough(tx, connection, 'sso_connection_disabled', now());
        return detail(tx, { ...connection, ...disabled });
      }),

    /** @throws DomainError as `lockConnection` */
    remove: (at: ConnectionAt, caller: Caller): Promise<void> =>
      change(at, caller, async (tx, connection) => {
        await endAllThrough(tx, connection, 'sso_connection_deleted', now());
        await tx.delete(SsoConnection, { id: connection.id });
        const metadata = { previous_status: connection.status };
        await recordConnectionEvent(tx, 'sso_connection.deleted', connection, metadata);
      }),
  };
}

/** Sessions of administrators are seen by the system alone; the connection is found within its Account all the same. */
const scopeToEnd = ({ scope }: ConnectionAt): Scope => (scope.environmentId === undefined ? 'system' : scope);

/** Before the connection, as whoever makes one the default takes them. */
async function lockSettings(tx: EntityManager, environmentId: string): Promise<void> {
  await tx.query('select from environment_settings where environment_id = $1 for no key update', [environmentId]);
}

/** Nobody is sent to it by default any more, and who is signed in by it is signed out. */
async function endAllThrough(
  tx: EntityManager,
  connection: SsoConnection,
  reason: 'sso_connection_disabled' | 'sso_connection_deleted',
  at: Date,
): Promise<void> {
  if (connection.environmentId) {
    await tx.delete(PendingSignIn, { ssoConnectionId: connection.id });
    await forgetDefault(tx, connection, at);
    await endSessions(tx, connection, reason, at);
  } else {
    await tx.delete(PendingUserSignIn, { ssoConnectionId: connection.id });
    await endUserSessions(tx, connection, at);
  }
}

async function forgetDefault(tx: EntityManager, { id, accountId, environmentId }: SsoConnection, at: Date) {
  const where = { accountId, environmentId: environmentId as string, defaultSsoConnectionId: id };
  const settings = await tx.findOneBy(EnvironmentSettings, where);
  if (!settings) return;
  const version = settings.version + 1;
  await tx.update(EnvironmentSettings, where, { defaultSsoConnectionId: null, version, updatedAt: at });
  await recordEvent(tx, 'environment.settings_updated', {
    accountId,
    environmentId,
    applicationId: await applicationOf(tx, environmentId),
    resourceId: environmentId,
    metadata: { changed: ['default_sso_connection_id'], version },
  });
}

interface Ended {
  id: string;
  identityId: string;
}

async function endSessions(tx: EntityManager, connection: SsoConnection, reason: string, at: Date): Promise<void> {
  const { id, accountId, environmentId } = connection;
  const [ended] = await tx.query<[Ended[], number]>(
    `update sessions set revoked_at = $4
     where id in (
       select id from sessions where sso_connection_id = $1
       union all -- no index takes what row-level security does not let it see: of the few of the Environment
       select id from sessions
         where environment_id = $3 and former_sso_connection_ids is not null and $1 = any (former_sso_connection_ids))
       and account_id = $2 and environment_id = $3 and revoked_at is null
     returning id, identity_id as "identityId"`,
    [id, accountId, environmentId, at],
  );
  if (ended.length === 0) return;
  await tx.query(
    `update grants set revoked_at = $3, revoked_reason = $4
     where account_id = $1 and session_id = any($2) and revoked_at is null`,
    [accountId, ended.map((session) => session.id), at, reason],
  );
  const place = { accountId, environmentId, applicationId: await applicationOf(tx, environmentId) };
  const signedOut = ended.map((session) => ({ ...place, resourceId: session.id, metadata: { reason } }));
  await recordEvents(tx, 'auth.identity_signed_out', signedOut);
  const byPerson = new Map<string, string[]>();
  for (const { id: sessionId, identityId } of ended)
    byPerson.set(identityId, [...(byPerson.get(identityId) ?? []), sessionId]);
  await recordEvents(
    tx,
    'identity.sessions_revoked',
    [...byPerson].map(([identityId, sessionIds]) => ({
      ...place,
      resourceId: identityId,
      metadata: { reason, session_ids: sessionIds },
    })),
  );
}

async function endUserSessions(tx: EntityManager, { id, accountId }: SsoConnection, at: Date): Promise<void> {
  const [ended] = await tx.query<[{ id: string }[], number]>(
    `update user_sessions set revoked_at = $2 where sso_connection_id = $1 and revoked_at is null returning id`,
    [id, at],
  );
  await recordEvents(
    tx,
    'auth.admin_session_revoked',
    ended.map((session) => ({ accountId, resourceId: session.id })),
  );
}
