import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { Clock } from '../../platform/clock.js';
import type { Db, Scope } from '../../platform/database/db.js';
import { announceCredentials, type CachesCredentials } from '../cached-credentials.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import { endAllThrough, removeConnection } from './ending.js';
import { recordConnectionEvent } from './events.js';
import { type ConnectionAt, type ConnectionDetail, lockConnection, lockRequests } from './find.js';
import { assertMayEnd } from './required.js';
import { assertComplete } from './settings.js';

/**
 * Changes the status, `configuring → active ⇄ disabled`, and deletes connections. Disabling or deleting one ends the
 * sessions that began by it, or continued by it for a while, and what was issued to applications in them: an
 * administrator who disables a connection does not trust what it said.
 */
export function createStatusChanges({
  db,
  detail,
  now,
  ...caches
}: CachesCredentials & {
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
      // Not for an organization's connection, which is never the default: a change of the organization's policy locks
      // the organization before the settings.
      if (at.scope.environmentId && !('organizationId' in at)) await lockSettings(tx, at.scope.environmentId);
      return work(tx, await lockConnection(tx, at, caller));
    });

  return {
    /** Leaves an active connection as it is. @throws DomainError as `lockConnection`; sso_connection.incomplete */
    activate: (at: ConnectionAt, caller: Caller): Promise<ConnectionDetail> =>
      change(at, caller, async (tx, connection) => {
        if (connection.status === 'active') return detail(tx, connection);
        assertComplete(connection);
        const activated = { status: 'active', consecutiveFailures: 0, autoDisabledAt: null, updatedAt: now() } as const;
        await tx.update(SsoConnection, { id: connection.id }, activated);
        await announceCredentials(tx, caches);
        const metadata = { previous_status: connection.status };
        await recordConnectionEvent(tx, 'sso_connection.activated', connection, metadata);
        return detail(tx, { ...connection, ...activated });
      }),

    /**
     * Leaves a disabled connection as it is.
     * @throws DomainError as `lockConnection`; sso_connection.not_active, sso_connection.required
     */
    disable: (at: ConnectionAt, caller: Caller): Promise<ConnectionDetail> =>
      change(at, caller, async (tx, connection) => {
        const { id, status } = connection;
        if (status === 'disabled') return detail(tx, connection);
        if (status === 'configuring') throw new DomainError('sso_connection.not_active');
        await assertMayEnd(tx, connection, { caller, as: 'disabled' });
        const disabled = { status: 'disabled', updatedAt: now() } as const;
        await tx.update(SsoConnection, { id }, disabled);
        await announceCredentials(tx, caches);
        await recordConnectionEvent(tx, 'sso_connection.disabled', connection, { previous_status: status });
        await endAllThrough(tx, connection, 'sso_connection_disabled', now());
        return detail(tx, { ...connection, ...disabled });
      }),

    /** @throws DomainError as `lockConnection`; sso_connection.required */
    remove: (at: ConnectionAt, caller: Caller): Promise<void> =>
      change(at, caller, async (tx, connection) => {
        await assertMayEnd(tx, connection, { caller, as: 'deleted' });
        await removeConnection(tx, connection, now());
        await announceCredentials(tx, caches);
      }),
  };
}

/** Only the system's scope sees sessions of administrators; the connection is still looked up within its Account. */
const scopeToEnd = ({ scope }: ConnectionAt): Scope => (scope.environmentId === undefined ? 'system' : scope);

/** Locks the settings before the connection, in the order of a change of the default connection. */
async function lockSettings(tx: EntityManager, environmentId: string): Promise<void> {
  await tx.query('select from environment_settings where environment_id = $1 for no key update', [environmentId]);
}
