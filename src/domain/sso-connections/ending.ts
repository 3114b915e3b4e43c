import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { PendingSignIn } from '../../../entities/pending-sign-in.js';
import { PendingUserSignIn } from '../../../entities/pending-user-sign-in.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { groupBy } from '../../platform/group-by.js';
import { announceCredentials } from '../cached-credentials.js';
import { recordEvent, recordEvents } from '../events/record.js';
import { inParts } from '../sessions/sessions-in-events.js';
import { recordConnectionEvent } from './events.js';

/** Deletes a connection that the caller has locked, alone or with its organization, and ends everything begun by it. */
export async function removeConnection(tx: EntityManager, connection: SsoConnection, at: Date): Promise<void> {
  await endAllThrough(tx, connection, 'sso_connection_deleted', at);
  await tx.delete(SsoConnection, { id: connection.id });
  await announceCredentials(tx);
  const metadata = { previous_status: connection.status };
  await recordConnectionEvent(tx, 'sso_connection.deleted', connection, metadata);
}

/** Removes a connection as the default of its Environment, and signs out everybody who signed in by it. */
export async function endAllThrough(
  tx: EntityManager,
  connection: SsoConnection,
  reason: 'sso_connection_disabled' | 'sso_connection_deleted',
  at: Date,
): Promise<void> {
  if (connection.environmentId) {
    await tx.delete(PendingSignIn, { ssoConnectionId: connection.id });
    await forgetDefault(tx, connection, at);
    await endSessionsOfIdentities(tx, connection, reason, at);
  } else {
    await tx.delete(PendingUserSignIn, { ssoConnectionId: connection.id });
    await endSessionsOfAdministrators(tx, connection, at);
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
    resourceId: environmentId,
    metadata: { changed: ['default_sso_connection_id'], became: { default_sso_connection_id: null }, version },
  });
}

interface Ended {
  id: string;
  identityId: string;
}

async function endSessionsOfIdentities(
  tx: EntityManager,
  connection: SsoConnection,
  reason: string,
  at: Date,
): Promise<void> {
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
  const place = { accountId, environmentId };
  const signedOut = ended.map((session) => ({ ...place, resourceId: session.id, metadata: { reason } }));
  await recordEvents(tx, 'auth.identity_signed_out', signedOut);
  const revoked = [...groupBy(ended, ({ identityId }) => identityId)].flatMap(([identityId, sessions]) =>
    inParts(sessions.map((session) => session.id)).map((part) => ({
      ...place,
      resourceId: identityId,
      metadata: { reason, session_ids: part },
    })),
  );
  await recordEvents(tx, 'identity.sessions_revoked', revoked);
}

async function endSessionsOfAdministrators(
  tx: EntityManager,
  { id, accountId }: SsoConnection,
  at: Date,
): Promise<void> {
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
